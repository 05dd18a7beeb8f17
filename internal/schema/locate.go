package schema

import (
	"bytes"
	"strconv"
	"strings"
)

// Lines knows on which line each value of a document stands, so that a fault
// found later ("check 2 names a missing file") can name it.
type Lines struct{ root *node }

// Index reads the lines of a JSON or YAML document. Of a document that can't
// be read, every line is 0.
func Index(data []byte) Lines {
	if looksJSON(data) {
		if n, ps := parseJSON("", data); len(ps) == 0 {
			return Lines{n}
		}
	}
	n, ps := parseYAML("", data)
	if len(ps) > 0 {
		return Lines{}
	}
	return Lines{n}
}

func looksJSON(data []byte) bool {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// Line is the line of the value at path; an element of a list is named by
// its index from 0 ("checks", "1", "paths"). Of a path that isn't there, it
// is the line of the nearest enclosing value that is.
func (l Lines) Line(path ...string) int {
	line, _ := l.walk(path)
	return line
}

// Has tells whether the document has a value at path.
func (l Lines) Has(path ...string) bool {
	_, all := l.walk(path)
	return all
}

func (l Lines) walk(path []string) (line int, all bool) {
	if l.root == nil {
		return 0, false
	}
	n, line := l.root, l.root.line
	for _, step := range path {
		switch i, err := strconv.Atoi(step); {
		case n.kind == object:
			m, ok := n.get(step)
			if !ok {
				return line, false
			}
			n, line = m.value, m.line
		case n.kind == array && err == nil && i >= 0 && i < len(n.items):
			n = n.items[i]
			line = n.line
		default:
			return line, false
		}
	}
	return line, true
}

// Locate is the line of one value of a document; for several, use Index.
func Locate(data []byte, path ...string) int { return Index(data).Line(path...) }

// At is Line for a path in one string: "checks.1.paths".
func (l Lines) At(path string) int { return l.Line(strings.Split(path, ".")...) }
