package schema

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/assaybot/assay/internal/assay"
)

// DecodeYAML is DecodeJSON for one YAML document. Anchors, aliases, merge
// keys and tags are refused: a configuration says what it means where it
// says it.
func DecodeYAML(file string, data []byte, into any) assay.Problems {
	n, ps := parseYAML(file, data)
	if len(ps) > 0 {
		return ps
	}
	return bindRoot(file, n, into)
}

func parseYAML(file string, data []byte) (*node, assay.Problems) {
	data, ps := prepared(file, data, maxYAML)
	if len(ps) > 0 {
		return nil, ps
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if line := tooDeep(data); line > 0 {
		ps.Addf(file, line, "%s", errDeep)
		return nil, ps
	}
	f, err := parseBytes(data)
	if err != nil {
		line, words := yamlFault(err)
		ps.Addf(file, line, "syntax error: %s", words)
		return nil, ps
	}
	doc, err := onlyDocument(f)
	if err == nil {
		var n *node
		if n, err = yamlNode(doc, 0); err == nil {
			return n, nil
		}
	}
	line, words := yamlFault(err)
	ps.Addf(file, line, "%s", words)
	return nil, ps
}

// parseBytes shields from panics of the parser, which has had some on
// malformed input.
func parseBytes(data []byte) (f *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the document is malformed")
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// tooDeep is the line at which nesting goes over what the recursive parser
// may be given, 0 if it never does. It looks at bytes only and so counts
// brackets in texts too; the bound is far above what a person writes.
func tooDeep(data []byte) int {
	const most = 500
	depth := 0
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(line)-len(bytes.TrimLeft(line, " ")) > 2*most || compactRun(line) > most {
			return i + 1
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(depth-1, 0)
			}
			if depth > most {
				return i + 1
			}
		}
	}
	return 0
}

// compactRun counts the one-byte words of a line ("- - - x"), each of which
// can open a level, and the properties ("!a !b", "&a &b").
func compactRun(line []byte) int {
	n := 0
	for _, w := range bytes.Fields(line) {
		if len(w) == 1 || w[0] == '!' || w[0] == '&' || w[0] == '*' {
			n++
		}
	}
	return n
}

func onlyDocument(f *ast.File) (ast.Node, error) {
	var body ast.Node
	for _, d := range f.Docs {
		if d == nil || d.Body == nil {
			continue
		}
		if body != nil {
			return nil, at(d.Body, "there is a second document; the file must hold one")
		}
		body = d.Body
	}
	if body == nil {
		return nil, errors.New("the file is empty")
	}
	return body, nil
}

// yamlError is a fault with its line.
type yamlError struct {
	line  int
	words string
}

func (e *yamlError) Error() string { return e.words }

func at(n ast.Node, format string, args ...any) error {
	return &yamlError{yamlLine(n), fmt.Sprintf(format, args...)}
}

func yamlLine(n ast.Node) int {
	if n == nil {
		return 0
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

func yamlFault(err error) (int, string) {
	var own *yamlError
	if errors.As(err, &own) {
		return own.line, own.words
	}
	var lib interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &lib) {
		return 0, err.Error()
	}
	if t := lib.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line, lib.GetMessage()
	}
	return 0, lib.GetMessage()
}

func yamlNode(in ast.Node, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, at(in, "%s", errDeep)
	}
	n := &node{line: yamlLine(in)}
	switch v := in.(type) {
	case *ast.MappingNode:
		return n, yamlMembers(n, v.Values, depth)
	case *ast.MappingValueNode:
		return n, yamlMembers(n, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		n.kind = array
		return n, yamlItems(n, v.Values, depth)
	case *ast.StringNode:
		n.kind, n.text = text, v.Value
	case *ast.LiteralNode:
		n.kind, n.text = text, v.Value.Value
	case *ast.IntegerNode, *ast.FloatNode:
		n.kind, n.text = number, yamlNumber(in)
	case *ast.InfinityNode, *ast.NanNode:
		n.kind, n.text = number, in.GetToken().Value
	case *ast.BoolNode:
		n.kind, n.text = boolean, boolText(v.Value)
	case *ast.NullNode:
		n.kind = null
	case nil:
		n.kind = null
	default:
		return nil, at(in, "%s can't be used here; write the value out", yamlName(in))
	}
	return n, nil
}

// yamlNumber is a number in Go's spelling; octal, hexadecimal and "1_000"
// become decimal.
func yamlNumber(in ast.Node) string {
	switch v := in.(type) {
	case *ast.IntegerNode:
		return fmt.Sprint(v.Value)
	case *ast.FloatNode:
		if s := v.GetToken().Value; !strings.Contains(s, "_") {
			return s
		}
		return fmt.Sprint(v.Value)
	}
	return ""
}

func yamlName(in ast.Node) string {
	switch in.(type) {
	case *ast.AliasNode:
		return "an alias (*)"
	case *ast.AnchorNode:
		return "an anchor (&)"
	case *ast.TagNode:
		return "a tag (!)"
	case *ast.MergeKeyNode:
		return "a merge key (<<)"
	}
	return "this"
}

func yamlMembers(n *node, values []*ast.MappingValueNode, depth int) error {
	for _, v := range values {
		name, err := yamlKey(v.Key)
		if err != nil {
			return err
		}
		child, err := yamlNode(v.Value, depth+1)
		if err != nil {
			return err
		}
		line := yamlLine(v.Key)
		if len(n.fields) == 0 {
			n.line = line // the token of a mapping is its first colon
		}
		n.fields = append(n.fields, member{name, line, child})
	}
	return nil
}

func yamlKey(key ast.MapKeyNode) (string, error) {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return key.GetToken().Value, nil
	case nil:
		return "", errors.New("a key is missing")
	}
	return "", at(key, "%s can't be a key; write a plain name", yamlName(key))
}

func yamlItems(n *node, values []ast.Node, depth int) error {
	for _, v := range values {
		child, err := yamlNode(v, depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, child)
	}
	return nil
}
