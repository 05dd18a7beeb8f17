// Package plain makes text of anywhere (an agent's words, a task's title, a
// test's name) stand as it is, wherever it is shown: in Markdown on GitHub, on
// one line, in a log. It also cuts Markdown to a number of bytes.
//
// No mention, reference, link, image, markup, hidden comment or workflow
// command ever comes of what has passed it. It redacts no secrets: package
// redact does, before.
package plain

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// thin is a blank without width. It parts what GitHub would turn into a
// mention, a reference, a link or a command; an entity would not.
const thin = "\u200b"

// visible keeps line breaks and drops what can't be seen or turns text
// around: control, format, bidirectional and private characters.
func visible(r rune) rune {
	switch {
	case r == '\n':
		return r
	case r == '\t':
		return ' '
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != '\u200d', unicode.Is(unicode.Co, r):
		return -1
	}
	return r
}

// Text is s with line breaks as \n only, valid, and without characters that
// can't be seen.
func Text(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = breaks.Replace(s)
	return strings.Map(visible, s)
}

var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n")

// Line is Text on one line, without blanks around it, cut to n runes of which
// the last then is "…".
func Line(s string, n int) string {
	// What is cut off needn't be cleaned: a rune has at most four bytes, and
	// few characters vanish.
	if most := 16*n + 64; len(s) > most {
		s = s[:most]
	}
	s = strings.TrimSpace(strings.ReplaceAll(Text(s), "\n", " "))
	at := 0
	for i := range s {
		if at == n-1 && len([]rune(s[i:])) > 1 {
			return s[:i] + "…"
		}
		at++
	}
	return s
}

// The patterns of GitHub's links, images and commands.
var (
	reference = regexp.MustCompile(`(?i)(#|\bGH-)(\d)`)
	address   = regexp.MustCompile(`(?i)(https?|ftp|mailto|xmpp|www)([:.])`)
	emoji     = regexp.MustCompile(`:([\w+-]*[A-Za-z][\w+-]*):`)
	ordered   = regexp.MustCompile(`^(\d+)([.)])( |$)`)
)

var literal = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", `\`, `\\`,
	"`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`, "!", `\!`, "$", "&#36;", "@", "@"+thin)

// Inline is Line for a place within a line or cell of Markdown.
func Inline(s string, n int) string {
	s = Line(s, n)
	s = reference.ReplaceAllString(s, "${1}"+thin+"${2}")
	s = address.ReplaceAllString(s, "${1}"+thin+"${2}")
	s = emoji.ReplaceAllString(s, ":"+thin+"${1}:")
	s = literal.Replace(s)
	switch {
	case s == "":
		return s
	case strings.HasPrefix(s, "::"):
		return ":" + thin + s[1:]
	case strings.ContainsRune("#-+=", rune(s[0])):
		return `\` + s
	}
	return ordered.ReplaceAllString(s, `${1}\${2}${3}`)
}

// Code is Line as a code span. What a code span can't hold in every place
// becomes Inline.
func Code(s string, n int) string {
	s = Line(s, n)
	if s == "" || strings.ContainsAny(s, "`|") {
		return Inline(s, n)
	}
	return "`" + unmark(s) + "`"
}

// Fence is Text as a block of code of at most n bytes.
func Fence(s string, n int) string {
	s = strings.Trim(unmark(Text(s)), "\n")
	if len(s) > n {
		s = strings.ToValidUTF8(s[:max(n, 0)], "") + "…"
	}
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + s + "\n" + fence + "\n"
}

// unmark keeps text that isn't escaped from looking like a hidden comment to
// whoever searches for one, and like a command should it be printed to a log.
func unmark(s string) string { return marks.Replace(s) }

var marks = strings.NewReplacer("<!--", "<"+thin+"!--", "##[", "#"+thin+"#[")

// Log is Text for the log of a workflow step: no line of it is a command.
func Log(s string) string {
	lines := strings.Split(strings.ReplaceAll(Text(s), "##[", "#"+thin+"#["), "\n")
	for i, l := range lines {
		if t := strings.TrimSpace(l); strings.HasPrefix(t, "::") {
			lines[i] = ":" + thin + t[1:]
		}
	}
	return strings.Join(lines, "\n")
}

// Link is a link to a web address around text, which must be safe already;
// for any other address it is the text alone.
func Link(text, to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return text
	}
	to = unsafeInLinks.Replace(u.String())
	for _, r := range to {
		if r <= ' ' || r >= 0x7f {
			return text
		}
	}
	return "[" + text + "](" + to + ")"
}

var unsafeInLinks = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `\`, "%5C", `"`, "%22",
	"'", "%27", "|", "%7C", "`", "%60", "*", "%2A", "[", "%5B", "]", "%5D")
