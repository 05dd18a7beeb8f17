package mine

import "bytes"

// blankRust is src of the same length and lines, with comments, strings and
// characters turned into blanks.
func blankRust(src []byte) []byte {
	out := bytes.Clone(src)
	for i := 0; i < len(src); {
		var n int
		switch {
		case bytes.HasPrefix(src[i:], []byte("//")):
			n = until(src, i, "\n")
		case bytes.HasPrefix(src[i:], []byte("/*")):
			n = blockComment(src, i)
		case src[i] == '"':
			n = quoted(src, i)
		case src[i] == 'r' && !wordBefore(src, i) && rawString(src, i) > 0:
			n = rawString(src, i)
		case src[i] == '\'':
			n = charLiteral(src, i)
		default:
			i++
			continue
		}
		for k := i; k < i+n; k++ {
			if src[k] != '\n' {
				out[k] = ' '
			}
		}
		i += n
	}
	return out
}

func until(src []byte, at int, mark string) int {
	if n := bytes.Index(src[at:], []byte(mark)); n >= 0 {
		return n
	}
	return len(src) - at
}

// blockComment is the length of a comment that may hold others.
func blockComment(src []byte, at int) int {
	depth := 0
	for i := at; i+1 < len(src); i++ {
		switch string(src[i : i+2]) {
		case "/*":
			depth++
			i++
		case "*/":
			i++
			if depth--; depth == 0 {
				return i + 1 - at
			}
		}
	}
	return len(src) - at
}

func quoted(src []byte, at int) int {
	for i := at + 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1 - at
		}
	}
	return len(src) - at
}

// rawString is the length of r"..." or r#"..."#, 0 for anything else.
func rawString(src []byte, at int) int {
	i := at + 1
	for i < len(src) && src[i] == '#' {
		i++
	}
	if i >= len(src) || src[i] != '"' {
		return 0
	}
	mark := "\"" + string(src[at+1:i])
	body := until(src, i+1, mark)
	return min(i+1+body+len(mark), len(src)) - at
}

// wordBefore tells whether the byte before at belongs to a name, so that an
// r there starts no raw string; br"..." and cr"..." do.
func wordBefore(src []byte, at int) bool {
	if at == 0 || (src[at-1] == 'b' || src[at-1] == 'c') && (at == 1 || !nameByte(src[at-2])) {
		return false
	}
	return nameByte(src[at-1])
}

func nameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// charLiteral is the length of 'x' or '\n'; 1 for the mark of a lifetime.
func charLiteral(src []byte, at int) int {
	if at+1 < len(src) && src[at+1] == '\\' {
		for i := at + 3; i < len(src) && src[i] != '\n'; i++ {
			if src[i] == '\'' {
				return i + 1 - at
			}
		}
		return 1
	}
	// One character takes at most four bytes.
	for i := at + 2; i < len(src) && i <= at+5; i++ {
		if src[i] == '\'' && (i == at+2 || src[at+1] >= 0x80) {
			return i + 1 - at
		}
	}
	return 1
}
