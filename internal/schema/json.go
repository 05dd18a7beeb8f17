package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// DecodeJSON decodes one JSON document into the value that into points to
// and returns every fault: a syntax error (which ends the reading), unknown,
// duplicate and missing fields, values of the wrong type, an unknown schema
// number. Field names match exactly, letter case included. On faults, into
// holds what could be read.
func DecodeJSON(file string, data []byte, into any) assay.Problems {
	n, ps := parseJSON(file, data)
	if len(ps) > 0 {
		return ps
	}
	return bindRoot(file, n, into)
}

func parseJSON(file string, data []byte) (*node, assay.Problems) {
	data, ps := prepared(file, data, maxJSON)
	if len(ps) > 0 {
		return nil, ps
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		line, words := jsonFault(data, err)
		ps.Addf(file, line, "%s", words)
		return nil, ps
	}
	r := jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.dec.UseNumber()
	n, err := r.value(0)
	if err != nil {
		ps.Addf(file, r.line, "%s", err)
		return nil, ps
	}
	return n, nil
}

// jsonFault puts a syntax error in words. The offset of encoding/json is
// that of the byte after the offending one.
func jsonFault(data []byte, err error) (int, string) {
	var se *json.SyntaxError
	if !errors.As(err, &se) {
		return 0, "syntax error: " + err.Error()
	}
	line := lineAt(data, int(se.Offset)-1)
	msg := se.Error()
	switch {
	case strings.Contains(msg, "after top-level value"):
		return line, "there is more data after the end of the document"
	case strings.Contains(msg, "unexpected end"):
		return lineAt(data, len(bytes.TrimRight(data, " \t\r\n"))), "syntax error: the file ends in the middle of the document"
	case strings.Contains(msg, "exceeded max depth"):
		return line, errDeep.Error()
	case strings.Contains(msg, "after object key:value pair"), strings.Contains(msg, "after array element"):
		msg += "; is a comma missing?"
	case strings.Contains(msg, "looking for beginning of object key"), strings.HasPrefix(msg, "invalid character ']'"):
		msg += "; is there a comma too many?"
	}
	return line, "syntax error: " + msg
}

var errDeep = errors.New("the document is nested too deeply")

// jsonReader turns tokens into nodes and counts lines as it goes.
type jsonReader struct {
	data []byte
	dec  *json.Decoder
	seen int // bytes whose line breaks are counted
	line int
}

func (r *jsonReader) token() (json.Token, error) {
	t, err := r.dec.Token()
	end := int(r.dec.InputOffset())
	r.line += bytes.Count(r.data[r.seen:end], []byte("\n"))
	r.seen = end
	return t, err
}

func (r *jsonReader) value(depth int) (*node, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, errDeep
	}
	n := &node{line: r.line}
	switch v := t.(type) {
	case json.Delim:
		if v == '{' {
			return n, r.members(n, depth)
		}
		n.kind = array
		return n, r.elements(n, depth)
	case string:
		n.kind, n.text = text, v
	case json.Number:
		n.kind, n.text = number, v.String()
	case bool:
		n.kind, n.text = boolean, boolText(v)
	default:
		n.kind = null
	}
	return n, nil
}

func (r *jsonReader) members(n *node, depth int) error {
	for r.dec.More() {
		t, err := r.token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		line := r.line
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.fields = append(n.fields, member{name, line, v})
	}
	_, err := r.token()
	return err
}

func (r *jsonReader) elements(n *node, depth int) error {
	for r.dec.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, v)
	}
	_, err := r.token()
	return err
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
