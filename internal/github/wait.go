package github

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// all is the key of limits that hold for every resource.
const all = ""

// ready waits until no known limit holds, and for a write's turn.
func (t *Transport) ready(ctx context.Context, a *attempt) error {
	name := resource(a.req.URL.Path)
	t.mu.Lock()
	until, primary := t.until[name], true
	if o := t.until[all]; o.After(until) {
		until, primary = o, false
	}
	t.mu.Unlock()
	if d := until.Sub(t.o.Now()); d > 0 {
		if err := t.wait(ctx, a.budget, "a rate limit that is known", limit{primary: primary, wait: d}); err != nil {
			return err
		}
	}
	if !a.write || t.o.WriteGap < 0 {
		return nil
	}
	t.mu.Lock()
	now := t.o.Now()
	turn := now
	if t.writes.After(now) {
		turn = t.writes
	}
	t.writes = turn.Add(t.o.WriteGap)
	t.mu.Unlock()
	if d := turn.Sub(now); d > 0 {
		return t.o.Sleep(ctx, d)
	}
	return nil
}

// note remembers a primary limit that this reply has used up.
func (t *Transport) note(a *attempt, resp *http.Response) {
	if resp.Header.Get("X-RateLimit-Remaining") != "0" {
		return
	}
	now := t.o.Now()
	left, ok := untilReset(resp.Header, now)
	if !ok || left == 0 {
		return
	}
	name := first(resp.Header.Get("X-RateLimit-Resource"), resource(a.req.URL.Path))
	t.hold(name, now.Add(left))
}

// hold keeps everybody from a resource until then.
func (t *Transport) hold(name string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until.After(t.until[name]) {
		t.until[name] = until
	}
}

// limited waits when a 403, 422 or 429 is a limit; other refusals are the
// caller's, with their body still to be read.
func (t *Transport) limited(ctx context.Context, a *attempt, resp *http.Response) (bool, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return t.broken(ctx, a, &sendError{err})
	}
	l, ok := findLimit(resp.StatusCode, resp.Header, body, t.o.Now())
	if !ok || l.bare && a.budget.limits >= maxBare {
		return false, nil
	}
	return true, t.pause(ctx, a.budget, l)
}

// pause waits for a limit that was met, and holds others back too.
func (t *Transport) pause(ctx context.Context, b *budget, l limit) error {
	if !l.primary {
		t.hold(all, t.o.Now().Add(limit{wait: l.wait}.length(b.limits, 0)))
	}
	why := "GitHub's secondary rate limit"
	if l.primary {
		why = "GitHub's primary rate limit"
	}
	err := t.wait(ctx, b, why, l)
	b.limits++
	return err
}

// wait sleeps, unless the call would wait longer than it may or than its
// deadline lets it.
func (t *Transport) wait(ctx context.Context, b *budget, why string, l limit) error {
	d, now := l.length(b.limits, t.o.Chance()), t.o.Now()
	e := &LimitError{Primary: l.primary, Until: now.Add(d), Wait: d}
	if b.waited+d > t.o.MaxWait {
		e.Max = t.o.MaxWait
		return e
	}
	if end, ok := ctx.Deadline(); ok && end.Before(e.Until) {
		return e
	}
	b.waited += d
	if t.o.Notify != nil {
		t.o.Notify(why, d)
	}
	return t.o.Sleep(ctx, d)
}
