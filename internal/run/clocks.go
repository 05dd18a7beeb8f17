package run

import (
	"context"
	"errors"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// clocks bound a program: until its first byte, between two bytes, in all,
// and after its terminal event. Zero means no bound.
type clocks struct{ first, idle, total, grace time.Duration }

func clocksOf(l assay.Limits, grace time.Duration) clocks {
	sec := func(n int) time.Duration { return time.Duration(n) * time.Second }
	if grace <= 0 {
		grace = defaultGrace
	}
	return clocks{first: sec(l.FirstEventSec), idle: sec(l.IdleSec), total: sec(l.TimeoutSec), grace: grace}
}

// defaultGrace is how long a program may live after its terminal event.
const defaultGrace = 10 * time.Second

// stopped is the cause of a context that a clock ended.
type stopped struct{ why string }

func (s stopped) Error() string { return "stopped by the clock: " + s.why }

// whyStopped reads the cause of a program's end: "" when no clock ended it.
func whyStopped(ctx context.Context) string {
	var s stopped
	if errors.As(context.Cause(ctx), &s) {
		return s.why
	}
	return ""
}

// next is when the first of the clocks runs out, and which.
func (c clocks) next(begun time.Time, s clockState, endedAt time.Time) (time.Time, string) {
	at, why := time.Time{}, ""
	offer := func(from time.Time, d time.Duration, name string) {
		if t := from.Add(d); d > 0 && (why == "" || t.Before(at)) {
			at, why = t, name
		}
	}
	switch {
	case s.ended: // the work is done: the grace alone counts
		offer(endedAt, c.grace, StoppedEnd)
		return at, why
	case s.first.IsZero():
		offer(begun, c.first, StoppedFirst)
	default:
		offer(s.last, c.idle, StoppedIdle)
	}
	offer(begun, c.total, StoppedTotal)
	return at, why
}

// watch stops the program when a clock runs out. It returns when ctx is done
// or after it called stop.
func (c clocks) watch(ctx context.Context, out *watched, stop func(why string)) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var endedAt time.Time
	for {
		s := out.state()
		if s.ended && endedAt.IsZero() {
			endedAt = time.Now()
		}
		at, why := c.next(out.begun, s, endedAt)
		if why != "" && !time.Now().Before(at) {
			stop(why)
			return
		}
		wait := time.Hour
		if why != "" {
			wait = time.Until(at)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-out.wake:
		case <-timer.C:
		}
	}
}
