package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// node is an object of the graph: its type, the interfaces that the type
// has, and its fields. A field gives a scalar, a *node, a []any of these, a refusal or nil.
type node struct {
	kind   string
	is     []string
	fields map[string]func(args) any
}

// args are the arguments of a field.
type args map[string]any

func (a args) str(name string) string {
	s, _ := a[name].(string)
	return s
}

// integer reads a number, which is an int64 when it is written in the query
// and a float64 when it is a variable.
func (a args) integer(name string) (int, bool) {
	switch n := a[name].(type) {
	case int64:
		return int(n), true
	case float64:
		return int(n), true
	}
	return 0, false
}

// is gives a field that is a value.
func is(v any) func(args) any { return func(args) any { return v } }

// gqlError is one entry of "errors".
type gqlError struct {
	Type    string `json:"type,omitempty"`
	Path    []any  `json:"path,omitempty"`
	Message string `json:"message"`
}

// refusal is a field that can't be given: it is null, with an error.
type refusal struct{ kind, message string }

// tooLarge ends the whole request with a 502.
type tooLarge struct{}

// run is the execution of one operation.
type run struct {
	vars   map[string]any
	doc    *ast.QueryDocument
	errors []gqlError
	fatal  bool // an error of the query itself: there is no data
	big    bool
}

// graphql answers one GraphQL request, with 200 for nearly everything.
func (c *call) graphql(w http.ResponseWriter) {
	var in struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables"`
	}
	if err := json.Unmarshal(c.body, &in); err != nil {
		problem(w, http.StatusBadRequest, "Problems parsing JSON", "https://docs.github.com/graphql")
		return
	}
	doc, err := parser.ParseQuery(&ast.Source{Input: in.Query})
	if err != nil || len(doc.Operations) != 1 {
		write(w, http.StatusOK, object{"errors": []gqlError{{Message: fmt.Sprintf("Parse error: %v", err)}}})
		return
	}
	op := doc.Operations[0]
	root := c.query()
	if op.Operation == ast.Mutation {
		root = c.mutation()
	}
	x := &run{vars: in.Variables, doc: doc}
	data := x.object(root, op.SelectionSet, nil)
	c.reply(w, x, data)
}

func (c *call) reply(w http.ResponseWriter, x *run, data object) {
	switch {
	case x.big:
		problem(w, http.StatusBadGateway, "Something went wrong while executing your query. This may be the result of a timeout, or it could be a GitHub bug.", "https://docs.github.com/graphql")
	case x.fatal:
		write(w, http.StatusOK, object{"errors": x.errors})
	case len(x.errors) > 0:
		write(w, http.StatusOK, object{"data": data, "errors": x.errors})
	default:
		write(w, http.StatusOK, object{"data": data})
	}
}

// object executes a selection on a node.
func (x *run) object(n *node, set ast.SelectionSet, path []any) object {
	out := object{}
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			out[s.Alias] = x.field(n, s, append(slices.Clone(path), s.Alias))
		case *ast.InlineFragment:
			if n.fits(s.TypeCondition) {
				merge(out, x.object(n, s.SelectionSet, path))
			}
		case *ast.FragmentSpread:
			f := x.doc.Fragments.ForName(s.Name)
			if f == nil {
				x.fail(path, "Fragment %s was used, but not defined", s.Name)
			} else if n.fits(f.TypeCondition) {
				merge(out, x.object(n, f.SelectionSet, path))
			}
		}
	}
	return out
}

// merge adds the fields of a fragment.
func merge(into, from object) {
	for k, v := range from {
		old, both := into[k].(object)
		if fresh, ok := v.(object); ok && both {
			merge(old, fresh)
			continue
		}
		into[k] = v
	}
}

func (n *node) fits(kind string) bool {
	return kind == "" || kind == n.kind || slices.Contains(n.is, kind)
}

func (x *run) fail(path []any, format string, a ...any) {
	x.fatal = true
	x.errors = append(x.errors, gqlError{Path: path, Message: fmt.Sprintf(format, a...)})
}

func (x *run) field(n *node, f *ast.Field, path []any) any {
	if f.Name == "__typename" {
		return n.kind
	}
	get := n.fields[f.Name]
	if get == nil {
		x.fail(path, "Field '%s' doesn't exist on type '%s'", f.Name, n.kind)
		return nil
	}
	return x.value(get(x.arguments(f)), f, path)
}

func (x *run) arguments(f *ast.Field) args {
	out := args{}
	for _, a := range f.Arguments {
		v, err := a.Value.Value(x.vars)
		if err != nil {
			x.fail(nil, "argument %s: %v", a.Name, err)
		}
		out[a.Name] = v
	}
	return out
}

func (x *run) value(v any, f *ast.Field, path []any) any {
	switch v := v.(type) {
	case tooLarge:
		x.big = true
		return nil
	case refusal:
		if v.kind == "" {
			x.fatal = true
		}
		x.errors = append(x.errors, gqlError{Type: v.kind, Path: path, Message: v.message})
		return nil
	case *node:
		if v == nil {
			return nil
		}
		return x.object(v, f.SelectionSet, path)
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = x.value(one, f, append(slices.Clone(path), i))
		}
		return out
	}
	return v
}
