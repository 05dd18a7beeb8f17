package gateway

import (
	"context"
	"net/http"
	"sync"
)

// maxLanes is how many calls at once a provider that complained once may
// climb back to before the bound is dropped.
const maxLanes = 64

// lanes bounds the calls at once that all sessions of a provider make. There
// is no bound until the provider says that it has too many; then it is half
// of those under way, and grows by one for each round of calls that go well.
type lanes struct {
	mu     sync.Mutex
	bound  int // 0 for none
	active int
	well   int           // calls that went well since the bound last changed
	round  int           // counts the times that the bound shrank
	freed  chan struct{} // closed when somebody may enter
}

// enter waits for a place, until ctx is over. The round goes back to leave.
func (l *lanes) enter(ctx context.Context) (round int, ok bool) {
	for {
		l.mu.Lock()
		if l.bound == 0 || l.active < l.bound {
			l.active++
			round = l.round
			l.mu.Unlock()
			return round, true
		}
		if l.freed == nil {
			l.freed = make(chan struct{})
		}
		freed := l.freed
		l.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return 0, false
		}
	}
}

// leave gives the place back. Of calls that were under way together only the
// first complaint counts.
func (l *lanes) leave(round, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case crowded(status):
		if round == l.round {
			l.bound, l.well = max(1, l.active/2), 0
			l.round++
		}
	case status != 0 && status < http.StatusBadRequest && l.bound > 0:
		l.grow()
	}
	l.active--
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

func (l *lanes) grow() {
	if l.well++; l.well < l.bound {
		return
	}
	l.bound, l.well = l.bound+1, 0
	if l.bound > maxLanes {
		l.bound = 0
	}
}

// crowded are the answers of a provider that has too much to do.
func crowded(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, 529:
		return true
	}
	return false
}
