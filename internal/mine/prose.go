package mine

import (
	"regexp"
	"strings"
)

// codeSpan is code within a line.
var codeSpan = regexp.MustCompile("(``.*?``|`[^`]*`)")

// Prose is the author's own words in a Markdown text: without HTML comments,
// code fences, code spans and quotes, line ends as "\n". The number of lines
// stays.
func Prose(text string) string { return strip(text, false) }

// strip takes HTML comments out of a Markdown text, but for those within code.
// Without all, code and quotes go too.
func strip(text string, all bool) string {
	rest := strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var out []string
	s := stripper{all: all}
	for more := true; more; {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		out = append(out, s.line(line, rest))
	}
	return strings.Join(out, "\n")
}

// stripper is the state between two lines: within a comment, or within the
// code fence that its mark opened.
type stripper struct {
	all     bool
	comment bool
	fence   string
}

func (s *stripper) line(line, rest string) string {
	if s.comment {
		_, after, ended := strings.Cut(line, "-->")
		s.comment = !ended
		return s.inline(after, rest)
	}
	mark := fenceOf(line)
	switch {
	case s.fence != "":
		if strings.HasPrefix(mark, s.fence) && strings.TrimSpace(line) == mark {
			s.fence = ""
		}
		return s.code(line)
	case mark != "":
		s.fence = mark
		return s.code(line)
	case !s.all && strings.HasPrefix(strings.TrimLeft(line, " "), ">"):
		return ""
	}
	return s.inline(line, rest)
}

func (s *stripper) code(text string) string {
	if s.all {
		return text
	}
	return ""
}

// inline goes through a line outside of fences. A comment that nothing ends
// hides all that follows if it begins its line, else it is plain text.
func (s *stripper) inline(line, rest string) string {
	var b strings.Builder
	for line != "" && !s.comment {
		span := codeSpan.FindStringIndex(line)
		open := strings.Index(line, "<!--")
		if span != nil && (open < 0 || span[0] < open) {
			b.WriteString(line[:span[0]])
			if s.all {
				b.WriteString(line[span[0]:span[1]])
			} else {
				b.WriteByte(' ')
			}
			line = line[span[1]:]
			continue
		}
		if open < 0 {
			break
		}
		before, after := line[:open], line[open+len("<!--"):]
		b.WriteString(before)
		if _, tail, ended := strings.Cut(after, "-->"); ended {
			b.WriteByte(' ')
			line = tail
			continue
		}
		if strings.Contains(rest, "-->") || strings.TrimSpace(b.String()) == "" {
			s.comment = true
			line = ""
			break
		}
		b.WriteString("<!--")
		line = after
	}
	b.WriteString(line)
	return b.String()
}

// fenceOf is the mark that opens or closes a code fence on line, "" if none
// does.
func fenceOf(line string) string {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 {
		return ""
	}
	for _, c := range []string{"`", "~"} {
		n := len(s) - len(strings.TrimLeft(s, c))
		if n >= 3 && (c == "~" || !strings.Contains(s[n:], "`")) {
			return s[:n]
		}
	}
	return ""
}
