package run

import (
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"
)

// Bounds of what is kept of a program's output, in bytes.
const (
	maxTranscript = 1 << 30
	maxStderr     = 10 << 20
	tailBytes     = 64 << 10
)

// capped passes the first left bytes on and drops the rest. It never fails
// towards the program: the first error of w is kept in err.
type capped struct {
	w    io.Writer
	left int64
	cut  bool
	err  error
}

func (c *capped) Write(p []byte) (int, error) {
	n := len(p)
	if int64(n) > c.left {
		p, c.cut = p[:c.left], true
	}
	if len(p) == 0 || c.err != nil {
		return n, nil
	}
	c.left -= int64(len(p))
	_, c.err = c.w.Write(p)
	return n, nil
}

// tail keeps the last bytes of what is written to it. It is safe for
// concurrent use.
type tail struct {
	mu   sync.Mutex
	max  int
	data []byte
	lost bool
}

func newTail(n int) *tail { return &tail{max: n} }

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if n > t.max {
		p, t.lost = p[n-t.max:], true
	}
	t.data = append(t.data, p...)
	if len(t.data) > 2*t.max {
		t.lost = true
		t.data = append(t.data[:0], t.data[len(t.data)-t.max:]...)
	}
	return n, nil
}

// bytes is a copy of the last bytes.
func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.data[max(0, len(t.data)-t.max):]...)
}

// watched is the program's standard output: raw bytes to the transcript,
// then to the parser, and every byte resets the idle clock. A parser that
// panics is not asked again.
type watched struct {
	mu     sync.Mutex
	raw    *capped
	parser Parser
	broken error
	count  int64
	begun  time.Time // of the program
	first  time.Time // of the first byte
	last   time.Time
	ended  bool
	wake   chan struct{} // capacity 1: something changed for the clocks
}

func newWatched(raw io.Writer, p Parser) *watched {
	now := time.Now()
	return &watched{raw: &capped{w: raw, left: maxTranscript}, parser: p, begun: now, last: now, wake: make(chan struct{}, 1)}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	w.last = time.Now()
	w.count += int64(len(p))
	_, _ = w.raw.Write(p)
	w.parse(p)
	if w.first.IsZero() {
		w.first = w.last
		w.signal()
	}
	if !w.ended && w.parser != nil && w.broken == nil && w.parser.Ended() {
		w.ended = true
		w.signal()
	}
	return len(p), nil
}

func (w *watched) parse(p []byte) {
	if w.parser == nil || w.broken != nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			w.broken = fmt.Errorf("reading the agent's stream: panic: %v\n%s", v, debug.Stack())
		}
	}()
	_, _ = w.parser.Write(p)
}

func (w *watched) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// clockState is what the clocks look at.
type clockState struct {
	first, last time.Time
	ended       bool
}

func (w *watched) state() clockState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return clockState{first: w.first, last: w.last, ended: w.ended}
}
