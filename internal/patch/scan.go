package patch

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// section is what a patch says of one file. Paths are without the prefixes
// a/ and b/.
type section struct {
	old, new       string
	added, removed int
}

// scan reads the headers and counts the lines of a git patch. Content is
// skipped by the counts of the hunks, so that a line of a file is never taken
// for a header.
func scan(diff []byte) ([]section, error) {
	var out []section
	sc := scanner{rest: diff}
	for {
		line, ok := sc.line()
		if !ok {
			return out, nil
		}
		if head, is := strings.CutPrefix(line, "diff --git "); is {
			s, err := sectionOf(head)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
			continue
		}
		if len(out) == 0 {
			continue
		}
		if err := sc.body(line, &out[len(out)-1]); err != nil {
			return nil, err
		}
	}
}

type scanner struct{ rest []byte }

func (sc *scanner) line() (string, bool) {
	if len(sc.rest) == 0 {
		return "", false
	}
	line, rest, _ := bytes.Cut(sc.rest, []byte("\n"))
	sc.rest = rest
	return string(line), true
}

// body takes a line below a header: a hunk with its content, or a word on a
// rename.
func (sc *scanner) body(line string, s *section) error {
	switch {
	case strings.HasPrefix(line, "@@ "):
		return sc.hunk(line, s)
	case strings.HasPrefix(line, "rename from "), strings.HasPrefix(line, "copy from "):
		_, p, _ := strings.Cut(line, " from ")
		s.old = bare(p)
	case strings.HasPrefix(line, "rename to "), strings.HasPrefix(line, "copy to "):
		_, p, _ := strings.Cut(line, " to ")
		s.new = bare(p)
	}
	return nil
}

func (sc *scanner) hunk(line string, s *section) error {
	oldLines, newLines, err := hunkCounts(line)
	if err != nil {
		return err
	}
	for oldLines > 0 || newLines > 0 {
		l, ok := sc.line()
		if !ok {
			return fmt.Errorf("the patch ends within a hunk of %q", s.new)
		}
		switch {
		case l == "" || l[0] == ' ':
			oldLines--
			newLines--
		case l[0] == '+':
			newLines--
			s.added++
		case l[0] == '-':
			oldLines--
			s.removed++
		case l[0] == '\\':
		default:
			return fmt.Errorf("a hunk of %q has a line that begins with %q", s.new, l[0])
		}
	}
	return nil
}

// hunkCounts reads "@@ -1,2 +3,4 @@".
func hunkCounts(line string) (oldLines, newLines int, err error) {
	f := strings.Fields(line)
	if len(f) < 4 || !strings.HasPrefix(f[1], "-") || !strings.HasPrefix(f[2], "+") {
		return 0, 0, fmt.Errorf("%q is no hunk header", line)
	}
	if oldLines, err = count(f[1]); err != nil {
		return 0, 0, err
	}
	newLines, err = count(f[2])
	return oldLines, newLines, err
}

func count(span string) (int, error) {
	_, n, ok := strings.Cut(span, ",")
	if !ok {
		return 1, nil
	}
	c, err := strconv.Atoi(n)
	if err != nil || c < 0 {
		return 0, fmt.Errorf("%q is no span of lines", span)
	}
	return c, nil
}

// sectionOf reads the two names of a header. Without quotes the names are the
// same on both sides (those of a rename are told below), so that the middle
// of the text parts them, whatever spaces they hold.
func sectionOf(head string) (section, error) {
	if strings.HasPrefix(head, `"`) || strings.HasSuffix(head, `"`) {
		return quotedSection(head)
	}
	if n := len(head); n%2 == 1 && head[n/2] == ' ' && inside(head[:n/2]) == inside(head[n/2+1:]) {
		p := inside(head[:n/2])
		return section{old: p, new: p}, nil
	}
	before, after, ok := strings.Cut(head, " b/")
	if !ok {
		return section{}, fmt.Errorf("can't read the names in %q", "diff --git "+head)
	}
	return section{old: inside(before), new: after}, nil
}

func quotedSection(head string) (section, error) {
	first, rest := firstName(head)
	if first == "" || rest == "" {
		return section{}, fmt.Errorf("can't read the names in %q", "diff --git "+head)
	}
	return section{old: inside(bare(first)), new: inside(bare(rest))}, nil
}

// firstName parts the first of two names, of which one has quotes at least.
func firstName(head string) (first, rest string) {
	if head[0] != '"' {
		first, rest, _ = strings.Cut(head, ` "`)
		return first, `"` + rest
	}
	for i := 1; i < len(head); i++ {
		switch head[i] {
		case '\\':
			i++
		case '"':
			return head[:i+1], strings.TrimPrefix(head[i+1:], " ")
		}
	}
	return "", ""
}

// inside is a name without its prefix a/ or b/.
func inside(p string) string {
	_, rest, ok := strings.Cut(p, "/")
	if !ok {
		return p
	}
	return rest
}

// bare undoes git's C-style quotes.
func bare(p string) string {
	if len(p) < 2 || p[0] != '"' || p[len(p)-1] != '"' {
		return p
	}
	p = p[1 : len(p)-1]
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] != '\\' || i+1 == len(p) {
			b.WriteByte(p[i])
			continue
		}
		i++
		if octal(p[i:]) {
			v, _ := strconv.ParseUint(p[i:i+3], 8, 8)
			b.WriteByte(byte(v))
			i += 2
			continue
		}
		b.WriteByte(escaped(p[i]))
	}
	return b.String()
}

func octal(s string) bool {
	if len(s) < 3 {
		return false
	}
	_, err := strconv.ParseUint(s[:3], 8, 8)
	return err == nil
}

// escaped is the byte behind a one-letter escape.
func escaped(c byte) byte {
	switch c {
	case 'a':
		return '\a'
	case 'b':
		return '\b'
	case 't':
		return '\t'
	case 'n':
		return '\n'
	case 'v':
		return '\v'
	case 'f':
		return '\f'
	case 'r':
		return '\r'
	}
	return c
}

func touchedPaths(sections []section) map[string]bool {
	out := map[string]bool{}
	for _, s := range sections {
		out[s.old] = true
		out[s.new] = true
	}
	return out
}
