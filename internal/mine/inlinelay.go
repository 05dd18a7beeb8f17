package mine

import (
	"bytes"
	"slices"
	"strings"
)

// span is a part of a file, in bytes; to is the first behind it.
type span struct{ from, to int }

// guard stands between an agent's work and the tests that are laid behind it:
// an attribute at the end of the work applies to it and not to the tests.
const guard = "const _: () = (); // ends what stands above\n"

// PartRust takes the change of a Rust file from old to merged apart by whole
// items: source is merged with the test items of old, tests are the test items
// of merged as LayRust wants them. why is empty, or says why they can't be
// told apart: then the change must be rejected as inline_tests_inseparable.
func PartRust(old, merged []byte) (source, tests []byte, why string) {
	was, wasNested := testItems(old)
	is, isNested := testItems(merged)
	if !slices.Equal(wasNested, isNested) {
		return nil, nil, "tests within other items changed"
	}
	source, tests = swapped(merged, is, texts(old, was)), joined(texts(merged, is))
	laid := LayRust(source, tests)
	after, nested := testItems(laid)
	if !slices.Equal(texts(laid, after), texts(merged, is)) || !slices.Equal(nested, isNested) ||
		!same(codeLines(cut(laid, after)), codeLines(cut(merged, is))) {
		return nil, nil, "source and tests laid together don't give the merged file"
	}
	return source, tests, ""
}

// LayRust puts tests, as PartRust gives them, in place of the test items at
// the top level of work, which keeps everything else. They come last: there a
// construct that work leaves open can't hide them, it makes work fail.
func LayRust(work, tests []byte) []byte {
	items, _ := testItems(work)
	out := cut(work, items)
	if len(tests) == 0 {
		return out
	}
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	return append(append(append(out, '\n'), guard...), tests...)
}

// testItems lists the test items of src at its top level, with all attributes
// before them, and the text of those that stand within other items.
func testItems(src []byte) (top []span, nested []string) {
	code := blankRust(src)
	depth, counted := 0, 0
	for at := 0; at < len(code); {
		i := bytes.Index(code[at:], []byte("#["))
		if i < 0 {
			break
		}
		at += i
		if !testAttr.Match(code[at:]) {
			at += 2
			continue
		}
		depth += balance(code[counted:at])
		end := withSemicolon(code, min(itemEnd(code, at)+1, len(code)))
		if depth == 0 {
			top = append(top, span{attributesBefore(code, at), end})
		} else {
			nested = append(nested, string(src[at:end]))
		}
		at, counted = end, end
	}
	return top, nested
}

func balance(code []byte) int {
	n := 0
	for _, c := range code {
		switch c {
		case '{', '(', '[':
			n++
		case '}', ')', ']':
			n--
		}
	}
	return n
}

// withSemicolon is the end of an item whose last brace is followed by one, as
// "use a::{b, c};" is.
func withSemicolon(code []byte, end int) int {
	for i := end; i < len(code); i++ {
		switch code[i] {
		case ' ', '\t', '\r', '\n':
		case ';':
			return i + 1
		default:
			return end
		}
	}
	return end
}

// attributesBefore is where the attributes begin that stand before at.
func attributesBefore(code []byte, at int) int {
	for {
		end := len(bytes.TrimRight(code[:at], " \t\r\n"))
		if end == 0 || code[end-1] != ']' {
			return at
		}
		open, depth := end-1, 1
		for depth > 0 && open > 0 {
			open--
			switch code[open] {
			case ']':
				depth++
			case '[':
				depth--
			}
		}
		if depth > 0 || open == 0 || code[open-1] != '#' {
			return at
		}
		at = open - 1
	}
}

func texts(src []byte, items []span) []string {
	out := make([]string, 0, len(items))
	for _, s := range items {
		out = append(out, string(src[s.from:s.to]))
	}
	return out
}

func joined(items []string) []byte {
	if len(items) == 0 {
		return nil
	}
	return []byte(strings.Join(items, "\n\n") + "\n")
}

// cut is src without some items, each with the rest of its last line.
func cut(src []byte, items []span) []byte {
	var out []byte
	at := 0
	for _, s := range items {
		out = append(out, src[at:max(at, s.from)]...)
		at = max(at, s.to)
		rest := bytes.TrimLeft(src[at:], " \t\r")
		if len(rest) > 0 && rest[0] == '\n' {
			at = len(src) - len(rest) + 1
		}
	}
	return append(out, src[at:]...)
}

// swapped is src with other texts in place of its items: one for one where
// there are as many, else all where the last item stood.
func swapped(src []byte, items []span, others []string) []byte {
	if len(items) == 0 {
		if len(others) == 0 {
			return src
		}
		return slices.Concat(src, []byte("\n"), joined(others))
	}
	var out []byte
	at := 0
	for i, s := range items {
		out = append(out, src[at:max(at, s.from)]...)
		at = max(at, s.to)
		switch {
		case len(items) == len(others):
			out = append(out, others[i]...)
		case i == len(items)-1 && len(others) > 0:
			out = append(out, strings.Join(others, "\n\n")...)
		}
	}
	return append(out, src[at:]...)
}

// codeLines are the lines of src that aren't blank, without the guard.
func codeLines(src []byte) []string {
	out := make([]string, 0, bytes.Count(src, []byte("\n"))+1)
	for l := range strings.Lines(string(src)) {
		if l = strings.TrimSpace(l); l != "" && l != strings.TrimSpace(guard) {
			out = append(out, l)
		}
	}
	return out
}
