package inbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// errReset is the error of a stream that the other side gave up.
var errReset = errors.New("the other side gave the stream up")

// stream is one conversation of a session: bytes both ways, with a window
// each way, and at most one result from the side that was asked.
type stream struct {
	s  *session
	id uint32

	mu     sync.Mutex
	cond   *sync.Cond
	buf    []byte
	unread int // bytes read by us, not yet credited to the other side
	credit int
	ended  bool // nothing more comes
	closed bool // nothing more goes
	result []byte
	err    error
}

func newStream(s *session, id uint32) *stream {
	st := &stream{s: s, id: id, credit: window}
	st.cond = sync.NewCond(&st.mu)
	return st
}

// receive takes a frame from the session's read loop.
func (t *stream) receive(f frame) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.cond.Broadcast()
	switch f.kind {
	case frameData:
		return t.receiveData(f.payload)
	case frameWindow:
		return t.receiveWindow(f.payload)
	case frameResult:
		t.result = f.payload
		t.end()
	case frameEOF:
		t.end()
	case frameReset:
		if t.err == nil {
			t.err = errReset
		}
		t.s.forget(t.id)
	}
	return nil
}

func (t *stream) receiveData(p []byte) error {
	if t.ended || t.err != nil {
		return nil
	}
	if len(t.buf)+t.unread+len(p) > window {
		return fmt.Errorf("%w: more than the window on stream %d", errFrame, t.id)
	}
	t.buf = append(t.buf, p...)
	return nil
}

func (t *stream) receiveWindow(p []byte) error {
	if len(p) != 4 {
		return fmt.Errorf("%w: a window without a number", errFrame)
	}
	n := binary.BigEndian.Uint32(p)
	if n > math.MaxInt32 || t.credit+int(n) > window {
		return fmt.Errorf("%w: a window of %d bytes", errFrame, n)
	}
	t.credit += int(n)
	return nil
}

func (t *stream) end() {
	t.ended = true
	if t.closed {
		t.s.forget(t.id)
	}
}

func (t *stream) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	t.cond.Broadcast()
}

// Read reads what came; io.EOF after the other side ended its direction.
func (t *stream) Read(p []byte) (int, error) {
	t.mu.Lock()
	for len(t.buf) == 0 && !t.ended && t.err == nil {
		t.cond.Wait()
	}
	if len(t.buf) == 0 {
		defer t.mu.Unlock()
		if t.ended {
			return 0, io.EOF
		}
		return 0, t.err
	}
	n := copy(p, t.buf)
	t.buf = t.buf[n:]
	if len(t.buf) == 0 {
		t.buf = nil
	}
	t.unread += n
	credit := 0
	if t.unread >= window/2 && !t.ended {
		credit, t.unread = t.unread, 0
	}
	t.mu.Unlock()
	if credit > 0 {
		// A broken session shows at the next read.
		_ = t.s.sendWindow(t.id, credit)
	}
	return n, nil
}

// Write sends p in pieces, as far as the other side's window allows.
func (t *stream) Write(p []byte) (int, error) {
	sent := 0
	for sent < len(p) {
		n, err := t.reserve(len(p) - sent)
		if err == nil {
			err = t.s.send(frame{kind: frameData, id: t.id, payload: p[sent : sent+n]})
		}
		if err != nil {
			return sent, err
		}
		sent += n
	}
	return sent, nil
}

func (t *stream) reserve(want int) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.credit == 0 && t.err == nil && !t.closed {
		t.cond.Wait()
	}
	if t.err != nil {
		return 0, t.err
	}
	if t.closed {
		return 0, io.ErrClosedPipe
	}
	n := min(want, t.credit, maxData)
	t.credit -= n
	return n, nil
}

// closeWrite ends our direction.
func (t *stream) closeWrite() error { return t.finish(frame{kind: frameEOF, id: t.id}) }

// answer ends our direction with a result.
func (t *stream) answer(result []byte) error {
	return t.finish(frame{kind: frameResult, id: t.id, payload: result})
}

func (t *stream) finish(f frame) error {
	t.mu.Lock()
	if t.closed || t.err != nil {
		defer t.mu.Unlock()
		return t.err
	}
	t.closed = true
	t.cond.Broadcast()
	if t.ended {
		t.s.forget(t.id)
	}
	t.mu.Unlock()
	return t.s.send(f)
}

// reset gives the stream up, both ways.
func (t *stream) reset() {
	t.mu.Lock()
	over := t.err != nil || (t.ended && t.closed)
	if t.err == nil {
		t.err = errReset
	}
	t.closed = true
	t.cond.Broadcast()
	t.mu.Unlock()
	t.s.forget(t.id)
	if !over {
		_ = t.s.send(frame{kind: frameReset, id: t.id})
	}
}

// wait returns the result after everything else on the stream was read.
func (t *stream) wait() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.ended && t.err == nil {
		t.cond.Wait()
	}
	if t.ended && t.result != nil {
		return t.result, nil
	}
	if t.err != nil {
		return nil, t.err
	}
	return nil, fmt.Errorf("%w: an answer is missing", errFrame)
}

// answered tells whether the other side ended its direction.
func (t *stream) answered() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}
