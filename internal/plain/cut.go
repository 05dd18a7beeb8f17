package plain

import (
	"strings"
	"unicode/utf8"
)

// Notice is what Cut puts where it left something out.
const Notice = "\n_…cut here, the rest is too long for this place._\n"

// state is what is open at a point of a Markdown text.
type state struct {
	fence   string // the marks that opened a block of code, "" outside
	details int    // open <details>
}

// next is the state after a line. Only marks at the start of a line count:
// this project writes no others, and foreign text holds none.
func (s state) next(line string) state {
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 {
		return s
	}
	mark := fenceOf(t)
	switch {
	case s.fence == "" && mark != "":
		s.fence = mark
	case s.fence != "":
		if strings.HasPrefix(mark, s.fence) && strings.TrimSpace(t) == mark {
			s.fence = ""
		}
	case strings.HasPrefix(t, "<details"):
		s.details++
	}
	if s.fence == "" && mark == "" && strings.HasSuffix(strings.TrimSpace(t), "</details>") {
		s.details = max(s.details-1, 0)
	}
	return s
}

// fenceOf is the run of backticks or tildes that t begins with, if it is long
// enough for a fence.
func fenceOf(t string) string {
	for _, c := range []byte{'`', '~'} {
		n := 0
		for n < len(t) && t[n] == c {
			n++
		}
		if n >= 3 && (c == '~' || !strings.Contains(t[n:], "`")) {
			return t[:n]
		}
	}
	return ""
}

// closing is what ends all that is open.
func (s state) closing() string {
	out := ""
	if s.fence != "" {
		out += s.fence + "\n"
	}
	return out + Notice + strings.Repeat("\n</details>\n", s.details)
}

// Cut shortens a Markdown text to at most n bytes: at the end of a line where
// it can, never within a rune, with blocks of code and details closed and a
// notice. A text that fits is left alone. Where not even the notice fits,
// nothing is left.
func Cut(md string, n int) string {
	if len(md) <= n {
		return md
	}
	if len(Notice) > n {
		return ""
	}
	var s state
	best, at := Notice, 0
	for line := range strings.Lines(md) {
		if at += len(line); at > n {
			break
		}
		s = s.next(line)
		if c := s.closing(); at+len(c) <= n {
			best = md[:at] + c
		}
	}
	if best == Notice { // not even the first line
		return short(md, n-len(Notice)) + Notice
	}
	return best
}

// short is the start of one long line, without half a rune, entity, escape or
// tag. A line that opens something can't be halved.
func short(line string, n int) string {
	if first, _, ok := strings.Cut(line, "\n"); ok {
		line = first
	}
	if s := (state{}).next(line); s != (state{}) || n <= 0 {
		return ""
	}
	n = min(n, len(line))
	for n > 0 && n < len(line) && !utf8.RuneStart(line[n]) {
		n--
	}
	// What stands in a code span isn't escaped: none may be left open.
	out, _, _ := strings.Cut(line[:n], "`")
	for _, open := range []string{"&", "<", "[", `\`} {
		if i := strings.LastIndex(out, open); i >= 0 && len(out)-i < 400 {
			out = out[:i]
		}
	}
	return out
}
