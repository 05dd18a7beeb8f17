package agent

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// This file is a JSON reader for one purpose: to walk over lines of which
// most bytes are the output of tools, and to decode only what is kept. It
// finds the borders of values and checks no more than that; what is kept is
// decoded, and checked, by encoding/json.

// eachField calls f with the raw key (without quotes) and the raw value of
// every member of an object, until f is false. It is false when b is no
// object up to where it was read.
func eachField(b []byte, f func(key, val []byte) bool) bool {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return true
	}
	for i < len(b) && b[i] == '"' {
		end := skipString(b, i)
		if end < 0 {
			return false
		}
		key := b[i+1 : end-1]
		i = space(b, end)
		if i >= len(b) || b[i] != ':' {
			return false
		}
		i = space(b, i+1)
		if end = skipValue(b, i); end < 0 {
			return false
		}
		if !f(key, b[i:end]) {
			return true
		}
		i = space(b, end)
		if i >= len(b) || b[i] != ',' {
			break
		}
		i = space(b, i+1)
	}
	return i < len(b) && b[i] == '}'
}

// eachItem calls f with every raw item of a list, up to where it can be read.
func eachItem(b []byte, f func(val []byte)) {
	i := space(b, 0)
	if i >= len(b) || b[i] != '[' {
		return
	}
	i = space(b, i+1)
	for i < len(b) && b[i] != ']' {
		end := skipValue(b, i)
		if end < 0 {
			return
		}
		f(b[i:end])
		i = space(b, end)
		if i >= len(b) || b[i] != ',' {
			return
		}
		i = space(b, i+1)
	}
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString is the index behind the string that begins at b[i], -1 if it
// doesn't end.
func skipString(b []byte, i int) int {
	for j := i + 1; ; {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return -1
		}
		k += j
		if !escaped(b, i+1, k) {
			return k + 1
		}
		j = k + 1
	}
}

// escaped tells whether an odd number of backslashes, not before from, stands
// before b[k].
func escaped(b []byte, from, k int) bool {
	n := 0
	for k-1-n >= from && b[k-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// skipValue is the index behind the value that begins at b[i], -1 if there is
// none.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	j := i
	for j < len(b) && bytes.IndexByte([]byte(",]} \t\r\n:\""), b[j]) < 0 {
		j++
	}
	if j == i {
		return -1
	}
	return j
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// text decodes a raw string. Of one that is much longer than limit bytes only
// the beginning and the end are decoded. Anything but a string is "".
func text(raw []byte, limit int) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	body := raw[1 : len(raw)-1]
	if len(body) <= 2*limit {
		return unquote(body)
	}
	head, tail := border(body, limit/2), border(body, len(body)-limit/2)
	return unquote(body[:head]) + fmt.Sprintf("\n[... %d bytes left out ...]\n", tail-head) + unquote(body[tail:])
}

// unquote decodes the inside of a JSON string; what can't be decoded becomes
// U+FFFD.
func unquote(body []byte) string {
	i := bytes.IndexByte(body, '\\')
	if i < 0 {
		return valid(body)
	}
	out := make([]byte, 0, len(body))
	for i >= 0 && i+1 < len(body) {
		out = append(out, body[:i]...)
		var n int
		out, n = unescape(out, body[i:])
		body = body[i+n:]
		i = bytes.IndexByte(body, '\\')
	}
	return valid(append(out, body...))
}

func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b))) // each bad byte becomes U+FFFD, as in encoding/json
}

// unescape decodes the escape at the start of b, two bytes or more, and says
// how long it was.
func unescape(out, b []byte) ([]byte, int) {
	switch c := b[1]; c {
	case 'n':
		return append(out, '\n'), 2
	case 't':
		return append(out, '\t'), 2
	case 'r':
		return append(out, '\r'), 2
	case 'b':
		return append(out, '\b'), 2
	case 'f':
		return append(out, '\f'), 2
	case 'u':
		r := hex4(b)
		if r < 0 {
			return utf8.AppendRune(out, utf8.RuneError), 2
		}
		if pair := utf16.DecodeRune(r, hex4(b[6:])); pair != utf8.RuneError {
			return utf8.AppendRune(out, pair), 12
		}
		return utf8.AppendRune(out, r), 6
	default:
		return append(out, c), 2
	}
}

// hex4 is the number of an escape \uXXXX at the start of b, -1 if there is
// none.
func hex4(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// border is the first place from pos on where the inside of a JSON string can
// be cut: not within an escape, not within a rune.
func border(body []byte, pos int) int {
	for back := min(5, pos); back > 0; back-- { // \uXXXX that began before pos
		at := pos - back
		if body[at] == 'u' && escaped(body, 0, at) {
			pos = min(at+5, len(body))
			break
		}
	}
	if pos < len(body) && escaped(body, 0, pos) {
		if body[pos] == 'u' {
			pos += 4
		}
		pos = min(pos+1, len(body))
	}
	for pos < len(body) && !utf8.RuneStart(body[pos]) {
		pos++
	}
	return pos
}

// maxLine bounds a line that is read; a longer one stays in the raw
// transcript only.
const maxLine = 8 << 20

// lineReader cuts pieces of a stream into lines. Its memory is bounded.
type lineReader struct {
	part []byte
	skip int // bytes of an overlong line so far, 0 for none
}

// feed calls line for every whole line and long with the size of every
// overlong one.
func (l *lineReader) feed(p []byte, line func([]byte), long func(int)) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.keep(p)
			return
		}
		switch {
		case l.skip > 0 || len(l.part)+i > maxLine:
			long(l.skip + len(l.part) + i)
		case len(l.part) > 0:
			l.part = append(l.part, p[:i]...)
			line(l.part)
		default:
			line(p[:i])
		}
		l.reset()
		p = p[i+1:]
	}
}

func (l *lineReader) keep(p []byte) {
	if l.skip > 0 || len(l.part)+len(p) > maxLine {
		l.skip += len(l.part) + len(p)
		l.part = nil
		return
	}
	l.part = append(l.part, p...)
}

func (l *lineReader) reset() {
	l.skip = 0
	if cap(l.part) > 1<<20 {
		l.part = nil
	}
	l.part = l.part[:0]
}

// rest handles a last line without an end.
func (l *lineReader) rest(line func([]byte), long func(int)) {
	switch {
	case l.skip > 0:
		long(l.skip)
	case len(l.part) > 0:
		line(l.part)
	}
	l.reset()
}
