package gateway

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// maxPause bounds how long one "too many requests" holds all sessions of a
// provider back, whatever the answer asked for.
const maxPause = 30 * time.Second

// pause is the back-off that all sessions of a provider share: after a 429
// with a stated wait, nobody asks before it is over.
type pause struct {
	mu    sync.Mutex
	until time.Time
}

// told takes note of an answer's head.
func (p *pause) told(status int, h http.Header, now time.Time) {
	if status != http.StatusTooManyRequests {
		return
	}
	sec, err := strconv.ParseFloat(h.Get("Retry-After"), 64)
	if err != nil || sec <= 0 {
		return
	}
	wait := min(time.Duration(sec*float64(time.Second)), maxPause)
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := now.Add(wait); t.After(p.until) {
		p.until = t
	}
}

// wait returns when asking is allowed again or ctx is over.
func (p *pause) wait(ctx context.Context, now time.Time) {
	p.mu.Lock()
	d := p.until.Sub(now)
	p.mu.Unlock()
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
