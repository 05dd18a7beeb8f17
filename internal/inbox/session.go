package inbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// errClosed is the error of streams of a session that is over.
var errClosed = errors.New("the connection to the box is closed")

// session carries streams over one pair of byte streams. Its read loop never
// writes and never waits for a reader, so that two sessions can't block each
// other.
type session struct {
	bounds bounds
	// maxPeer bounds how many streams the other side may have open.
	maxPeer int
	// accept is called in the read loop for a stream that the other side
	// opened; it must not block.
	accept func(*stream, []byte)

	wmu sync.Mutex
	w   io.Writer
	out []byte

	mu      sync.Mutex
	streams map[uint32]*stream
	peers   int
	next    uint32
	err     error
	done    chan struct{}
}

// newSession makes a session whose own streams start at first: 1 on the
// host, 2 in the box.
func newSession(w io.Writer, first uint32, b bounds) *session {
	return &session{
		bounds: b, w: w, next: first, maxPeer: 1 << 16,
		accept:  func(s *stream, _ []byte) { go s.reset() },
		streams: map[uint32]*stream{}, done: make(chan struct{}),
	}
}

// serve reads frames until the stream ends, and then fails every stream.
func (s *session) serve(r io.Reader) error {
	for {
		f, err := readFrame(r, s.bounds)
		if err == nil {
			err = s.handle(f)
		}
		if errors.Is(err, io.EOF) {
			s.fail(errClosed)
			return nil
		}
		if err != nil {
			s.fail(err)
			return err
		}
	}
}

func (s *session) handle(f frame) error {
	if f.kind == frameOpen {
		return s.opened(f)
	}
	s.mu.Lock()
	st := s.streams[f.id]
	s.mu.Unlock()
	if st == nil {
		return nil
	}
	return st.receive(f)
}

func (s *session) opened(f frame) error {
	s.mu.Lock()
	if f.id%2 == s.next%2 || s.streams[f.id] != nil {
		s.mu.Unlock()
		return fmt.Errorf("%w: stream %d can't be opened", errFrame, f.id)
	}
	if s.peers >= s.maxPeer {
		s.mu.Unlock()
		return fmt.Errorf("%w: more than %d streams", errFrame, s.maxPeer)
	}
	st := newStream(s, f.id)
	s.streams[f.id] = st
	s.peers++
	s.mu.Unlock()
	s.accept(st, f.payload)
	return nil
}

// open makes a stream of our own; the request goes with it.
func (s *session) open(request []byte) (*stream, error) {
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return nil, s.err
	}
	st := newStream(s, s.next)
	s.streams[s.next] = st
	s.next += 2
	s.mu.Unlock()
	return st, s.send(frame{kind: frameOpen, id: st.id, payload: request})
}

func (s *session) send(f frame) error {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	s.out = appendFrame(s.out[:0], f)
	_, err := s.w.Write(s.out)
	if cap(s.out) > 4*maxData {
		s.out = nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errClosed, err)
	}
	return nil
}

func (s *session) sendWindow(id uint32, n int) error {
	return s.send(frame{kind: frameWindow, id: id, payload: binary.BigEndian.AppendUint32(nil, uint32(n))})
}

func (s *session) forget(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.streams[id]; !ok {
		return
	}
	delete(s.streams, id)
	if id%2 != s.next%2 {
		s.peers--
	}
}

// fail ends the session and every stream of it with err; the first one wins.
func (s *session) fail(err error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = err
	streams := s.streams
	s.streams = map[uint32]*stream{}
	close(s.done)
	s.mu.Unlock()
	for _, st := range streams {
		st.fail(err)
	}
}
