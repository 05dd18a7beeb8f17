package testlog

import (
	"bytes"
	"iter"
	"regexp"
	"strings"
	"unicode/utf8"
)

// ansi matches the escape sequences of terminals: colours, cursor, titles.
func ansi() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")
}

// maxLine is as much of a line as the text parsers look at, in bytes; no name
// with its verdict is longer.
const maxLine = 64 << 10

// lines yields the lines of data without ends, terminal escapes and bytes
// that aren't UTF-8. A line may have any length; its first 64 KiB count.
func lines(data []byte) iter.Seq[string] {
	escapes := ansi()
	return func(yield func(string) bool) {
		for len(data) > 0 {
			line, rest, _ := bytes.Cut(data, []byte{'\n'})
			data = rest
			line = line[:min(len(line), maxLine)]
			if bytes.IndexByte(line, 0x1b) >= 0 {
				line = escapes.ReplaceAll(line, nil)
			}
			s := strings.TrimRight(strings.ToValidUTF8(string(line), "\uFFFD"), "\r")
			if !yield(s) {
				return
			}
		}
	}
}

// clip cuts s to n bytes, on a rune's border, and makes it UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// timing matches the duration that text reports append to a name:
// "(12 ms)", "(0.01s)", "[1.2 s]".
func timing() *regexp.Regexp {
	return regexp.MustCompile(`\s+[(\[](?:\d+(?:\.\d+)?)\s?(?:ns|µs|us|ms|s|sec|m|min)[)\]]$`)
}
