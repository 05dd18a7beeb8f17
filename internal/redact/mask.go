package redact

import (
	"bytes"
	"io"
	"sort"
	"sync"
)

// maskByte stands for each byte of a masked value.
const maskByte = '*'

// Mask takes exact values out, in all the encodings that New knows, and
// leaves everything else and every length as it is: for streams that must
// flow, and for files whose form must hold. It is immutable and may be shared.
type Mask struct {
	forms [][]byte // longest first
	long  int
}

// NewMask makes a mask for values. Those shorter than MinExact are ignored;
// a mask without values changes nothing.
func NewMask(values ...string) *Mask {
	m := &Mask{}
	seen := map[string]bool{}
	for _, v := range values {
		if len(v) < MinExact {
			continue
		}
		for _, e := range encodings(v) {
			if len(e) >= MinExact && !seen[e] {
				seen[e] = true
				m.forms = append(m.forms, []byte(e))
				m.long = max(m.long, len(e))
			}
		}
	}
	sort.Slice(m.forms, func(a, b int) bool { return len(m.forms[a]) > len(m.forms[b]) })
	return m
}

// Bytes is b with every value masked; b itself where it holds none.
func (m *Mask) Bytes(b []byte) []byte {
	for _, f := range m.forms {
		if bytes.Contains(b, f) {
			b = bytes.ReplaceAll(b, f, bytes.Repeat([]byte{maskByte}, len(f)))
		}
	}
	return b
}

// Reader reads r, masked. It holds back only an end that a value may begin
// with, until more comes.
func (m *Mask) Reader(r io.Reader) io.Reader {
	if len(m.forms) == 0 {
		return r
	}
	return &maskReader{m: m, r: r}
}

type maskReader struct {
	m          *Mask
	r          io.Reader
	ready, end []byte
	buf        []byte
	err        error
}

func (r *maskReader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.buf == nil {
			r.buf = make([]byte, 32<<10)
		}
		n, err := r.r.Read(r.buf)
		r.err = err
		r.ready, r.end = r.m.split(append(r.end, r.buf[:n]...), err != nil)
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// Writer passes on to w what is written to it, masked. Close writes out an
// end that was held back; it doesn't close w.
func (m *Mask) Writer(w io.Writer) io.WriteCloser { return &maskWriter{m: m, w: w} }

type maskWriter struct {
	mu  sync.Mutex
	m   *Mask
	w   io.Writer
	end []byte
}

func (w *maskWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ready, end := w.m.split(append(w.end, p...), false)
	w.end = end
	if len(ready) > 0 {
		if _, err := w.w.Write(ready); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (w *maskWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	ready, _ := w.m.split(w.end, true)
	w.end = nil
	if len(ready) == 0 {
		return nil
	}
	_, err := w.w.Write(ready)
	return err
}

// split masks b and cuts off an end with which a value may begin. The end is
// a copy of its own.
func (m *Mask) split(b []byte, final bool) (ready, end []byte) {
	b = m.Bytes(b)
	n := 0
	if !final {
		n = m.begun(b)
	}
	return b[:len(b)-n], append([]byte(nil), b[len(b)-n:]...)
}

// begun is the length of the longest end of b that is the beginning of a
// value.
func (m *Mask) begun(b []byte) int {
	for n := min(len(b), m.long-1); n > 0; n-- {
		tail := b[len(b)-n:]
		for _, f := range m.forms {
			if len(f) <= n { // the forms that follow are shorter
				break
			}
			if f[0] == tail[0] && bytes.HasPrefix(f, tail) {
				return n
			}
		}
	}
	return 0
}
