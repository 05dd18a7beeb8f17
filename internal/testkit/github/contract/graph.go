package contract

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/assaybot/assay/internal/testkit/github"
)

// loadGraph parses the schema. The published one defines a field twice; the
// first definition is kept.
func loadGraph(sdl string) (*ast.Schema, error) {
	doc, err := parser.ParseSchemas(validator.Prelude, &ast.Source{Name: "schema.graphql", Input: sdl})
	if err != nil {
		return nil, err
	}
	for _, d := range doc.Definitions {
		seen := map[string]bool{}
		d.Fields = slices.DeleteFunc(d.Fields, func(f *ast.FieldDefinition) bool {
			twice := seen[f.Name]
			seen[f.Name] = true
			return twice
		})
	}
	return validator.ValidateSchemaDocument(doc)
}

// Query validates the text of a GraphQL operation with its variables.
func (c *Contract) Query(text string, vars map[string]any) (*ast.OperationDefinition, error) {
	doc, err := parser.ParseQuery(&ast.Source{Name: "query", Input: text})
	if err != nil {
		return nil, fmt.Errorf("parsing the query: %w", err)
	}
	if errs := validator.ValidateWithRules(c.graph, doc, rules.NewDefaultRules()); len(errs) > 0 {
		return nil, errs
	}
	if len(doc.Operations) != 1 {
		return nil, fmt.Errorf("%d operations in one request", len(doc.Operations))
	}
	op := doc.Operations[0]
	if _, err := validator.VariableValues(c.graph, op, vars); err != nil {
		return nil, fmt.Errorf("variables of %s: %w", op.Name, err)
	}
	return op, nil
}

func (c *Contract) checkGraph(e github.Exchange) error {
	var in struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables"`
	}
	if err := json.Unmarshal(e.Body, &in); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	op, err := c.Query(in.Query, in.Variables)
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if e.Fault || e.Status != 200 {
		return nil
	}
	var out struct {
		Data   map[string]any `json:"data"`
		Errors []any          `json:"errors"`
	}
	if err := json.Unmarshal(e.Answer, &out); err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	if out.Data == nil && len(out.Errors) > 0 {
		return nil
	}
	a := answer{schema: c.graph, partial: len(out.Errors) > 0}
	root := c.graph.Query
	if op.Operation == ast.Mutation {
		root = c.graph.Mutation
	}
	return a.object(root.Name, op.SelectionSet, out.Data)
}

// answer checks a reply against the types of what was asked for.
type answer struct {
	schema  *ast.Schema
	partial bool // with errors, a null may stand anywhere
}

func (a answer) object(kind string, set ast.SelectionSet, got map[string]any) error {
	if name, ok := got["__typename"].(string); ok {
		kind = name
	}
	for _, s := range set {
		var err error
		switch s := s.(type) {
		case *ast.Field:
			v, said := got[s.Alias]
			if !said {
				err = fmt.Errorf("missing from %s", kind)
			} else {
				err = a.value(s.Definition.Type, s.SelectionSet, v)
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", s.Alias, err)
			}
		case *ast.InlineFragment:
			if a.covers(s.TypeCondition, kind) {
				err = a.object(kind, s.SelectionSet, got)
			}
		case *ast.FragmentSpread:
			if a.covers(s.Definition.TypeCondition, kind) {
				err = a.object(kind, s.Definition.SelectionSet, got)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// covers tells whether a fragment applies to a type. A node whose type the
// query didn't ask for is not judged.
func (a answer) covers(condition, kind string) bool {
	if condition == kind {
		return true
	}
	def := a.schema.Types[condition]
	return def != nil && slices.ContainsFunc(a.schema.GetPossibleTypes(def), func(d *ast.Definition) bool { return d.Name == kind })
}

func (a answer) value(t *ast.Type, set ast.SelectionSet, v any) error {
	if v == nil {
		if t.NonNull && !a.partial {
			return fmt.Errorf("null where the schema says %s", t)
		}
		return nil
	}
	if t.Elem != nil {
		all, ok := v.([]any)
		if !ok {
			return fmt.Errorf("%T where the schema says %s", v, t)
		}
		for i, one := range all {
			if err := a.value(t.Elem, set, one); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	}
	def := a.schema.Types[t.NamedType]
	if def.IsCompositeType() {
		got, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%T where the schema says %s", v, t)
		}
		return a.object(def.Name, set, got)
	}
	return scalar(def, v)
}

func scalar(def *ast.Definition, v any) error {
	ok := true
	switch def.Name {
	case "Int":
		n, number := v.(float64)
		ok = number && n == float64(int64(n))
	case "Boolean":
		_, ok = v.(bool)
	case "String", "ID", "DateTime", "URI", "GitObjectID":
		_, ok = v.(string)
	}
	if def.Kind == ast.Enum {
		ok = def.EnumValues.ForName(fmt.Sprint(v)) != nil
	}
	if !ok {
		return fmt.Errorf("%v is no %s", v, def.Name)
	}
	return nil
}
