package redact

import (
	"bytes"
	"io"
	"sort"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// MinExact is the length in bytes under which an exact value is ignored: a
// shorter one would take harmless text along.
const MinExact = 6

// window is how many bytes a decision may need to look ahead, at least; exact
// values that are longer make it larger.
const window = 128

// maxKey is how much of an unfinished private key block is swallowed before
// the text is trusted again.
const maxKey = 64 << 10

// Redactor knows what to take out. It is immutable and may be shared.
type Redactor struct {
	exact  [256][]string // by first byte, longest first
	starts [256]bool     // bytes that begin anything at all
	pairs  [1 << 16]bool // the same for the first two bytes
	look   int           // bytes that a decision needs
}

// New makes a redactor for the usual credentials and for exact values, each
// also in base64, hexadecimal, URL and JSON encoding. Values shorter than
// MinExact are ignored.
func New(exact ...string) *Redactor {
	r := &Redactor{look: window}
	seen := map[string]bool{}
	for _, v := range exact {
		if len(v) < MinExact {
			continue
		}
		for _, e := range encodings(v) {
			if len(e) >= MinExact && !seen[e] {
				seen[e] = true
				r.add(e)
			}
		}
	}
	for i := range r.exact {
		list := r.exact[i]
		sort.Slice(list, func(a, b int) bool { return len(list[a]) > len(list[b]) })
	}
	for _, p := range shapeStarts() {
		r.begin(p)
	}
	return r
}

func (r *Redactor) add(e string) {
	r.exact[e[0]] = append(r.exact[e[0]], e)
	r.begin(e)
	r.look = max(r.look, len(e))
}

func (r *Redactor) begin(s string) {
	r.starts[s[0]] = true
	r.pairs[pair(s[0], s[1])] = true
}

func pair(a, b byte) int { return int(a)<<8 | int(b) }

// String is s without secrets.
func (r *Redactor) String(s string) string {
	var b strings.Builder
	w := r.Writer(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

// Writer passes on to w what is written to it, without secrets, wherever the
// pieces are cut. It holds back the last few bytes (at most the longest
// secret) until more comes or Close is called. Close does not close w.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &writer{r: r, w: w} }

type writer struct {
	r    *Redactor
	w    io.Writer
	held []byte // not decided yet, at most r.look bytes between writes
	out  bytes.Buffer
	prev [2]byte // the two bytes before held
	err  error

	swallow charset // not nil: inside of a secret made of these
	inKey   int     // > 0: bytes swallowed of a private key block
}

func (w *writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.held = append(w.held, p...)
	w.scan(false)
	if err := w.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes out what was held back.
func (w *writer) Close() error {
	if w.err != nil {
		return w.err
	}
	w.scan(true)
	return w.flush()
}

func (w *writer) flush() error {
	if w.out.Len() > 0 {
		_, w.err = w.w.Write(w.out.Bytes())
		w.out.Reset()
	}
	return w.err
}

// scan decides as much of held as can be decided, all of it when final.
func (w *writer) scan(final bool) {
	i := 0
	for i < len(w.held) {
		n := w.step(i, final)
		if n == 0 {
			break
		}
		i += n
	}
	w.held = append(w.held[:0], w.held[i:]...)
}

// step handles what begins at held[i] and says how many bytes that took; 0
// means that more input is needed.
func (w *writer) step(i int, final bool) int {
	switch {
	case w.inKey > 0:
		return w.stepKey(i, final)
	case w.swallow != nil:
		return w.stepSwallow(i)
	}
	if plain := w.plain(i); plain > 0 {
		w.pass(w.held[i : i+plain])
		return plain
	}
	rest := w.held[i:]
	if len(rest) < w.r.look && !final {
		return 0
	}
	return w.match(rest)
}

// plain counts the bytes from i on at which nothing can begin.
func (w *writer) plain(i int) int {
	b := w.held[i:]
	for n := 0; n+1 < len(b); n++ {
		if w.r.pairs[pair(b[n], b[n+1])] {
			return n
		}
	}
	if w.r.starts[b[len(b)-1]] {
		return len(b) - 1
	}
	return len(b)
}

func (w *writer) pass(b []byte) {
	w.out.Write(b)
	w.remember(b)
}

func (w *writer) remember(b []byte) {
	if len(b) == 1 {
		w.prev = [2]byte{w.prev[1], b[0]}
		return
	}
	w.prev = [2]byte{b[len(b)-2], b[len(b)-1]}
}

func (w *writer) match(rest []byte) int {
	for _, e := range w.r.exact[rest[0]] {
		if len(rest) >= len(e) && string(rest[:len(e)]) == e {
			w.hide(rest[:len(e)])
			return len(e)
		}
	}
	if n := keyBlock(rest); n > 0 {
		w.hide(rest[:n])
		w.inKey = 1
		return n
	}
	if keep, n, set := shape(rest, w.prev); n > 0 {
		w.out.Write(rest[:keep])
		w.hide(rest[:n])
		w.swallow = set
		return n
	}
	w.pass(rest[:1])
	return 1
}

func (w *writer) hide(b []byte) {
	w.out.WriteString(Mark)
	w.remember(b)
}

func (w *writer) stepSwallow(i int) int {
	n := 0
	for i+n < len(w.held) && w.swallow.has(w.held[i+n]) {
		n++
	}
	if i+n < len(w.held) {
		w.swallow = nil
	}
	if n > 0 {
		w.remember(w.held[i : i+n])
		return n
	}
	return w.step(i, true)
}

// stepKey swallows a private key block: up to its last line, or maxKey bytes
// when there is none.
func (w *writer) stepKey(i int, final bool) int {
	rest := w.held[i:]
	budget := maxKey - w.inKey + 1
	if n := keyEnd(rest, budget); n > 0 {
		w.inKey = 0
		w.remember(rest[:n])
		return n
	}
	n := len(rest)
	if !final {
		n -= window // an end marker may be cut in two
	}
	n = min(n, budget)
	if n <= 0 {
		return 0
	}
	w.inKey += n
	if n == budget {
		w.inKey = 0
	}
	w.remember(rest[:n])
	return n
}
