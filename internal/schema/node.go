package schema

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/assaybot/assay/internal/assay"
)

// Bounds of an input. A file over them is refused before it is looked at, so
// that a broken or hostile one costs neither memory nor stack. That of YAML
// is low because its parser takes quadratic time on some inputs; people write
// YAML, programs write JSON.
const (
	maxJSON  = 64 << 20
	maxYAML  = 128 << 10
	maxDepth = 100
)

type kind int

const (
	object kind = iota
	array
	text
	number
	boolean
	null
)

func (k kind) String() string {
	return [...]string{"an object", "a list", "text", "a number", "true or false", "null"}[k]
}

// node is a value of either format with its line. text holds a string's
// value, a number as it is written, and "true" or "false".
type node struct {
	kind   kind
	line   int
	text   string
	fields []member
	items  []*node
}

type member struct {
	name  string
	line  int
	value *node
}

// get is the last member called name: encoding/json takes the last too.
func (n *node) get(name string) (member, bool) {
	for i := len(n.fields) - 1; i >= 0; i-- {
		if n.fields[i].name == name {
			return n.fields[i], true
		}
	}
	return member{}, false
}

// show is a scalar as a message quotes it.
func (n *node) show() string {
	switch n.kind {
	case text:
		return quote(n.text)
	case number, boolean:
		return n.text
	}
	return n.kind.String()
}

// quote puts s in quotes and cuts it to a readable length.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		cut := most
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "..."
	}
	return `"` + strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, `"`, `\"`).Replace(s) + `"`
}

// prepared strips a byte order mark and refuses what can't be text.
func prepared(file string, data []byte, most int) ([]byte, assay.Problems) {
	var ps assay.Problems
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch {
	case len(data) > most:
		ps.Addf(file, 0, "the file is larger than %d KiB", most>>10)
	case len(bytes.TrimSpace(data)) == 0:
		ps.Addf(file, 1, "the file is empty")
	case !utf8.Valid(data):
		ps.Addf(file, lineAt(data, badByte(data)), "the file is not valid UTF-8")
	}
	return data, ps
}

func badByte(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// lineAt is the line, from 1, of the byte at offset.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
}
