package schema

import (
	_ "embed" // the descriptions
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/assaybot/assay/internal/assay"
)

// descriptions maps "Type" and "Type.Field" of the nouns to what their
// comments say; a test keeps it equal to the source.
//
//go:embed descriptions.json
var descriptions []byte

// Names lists the published schemas.
func Names() []string { return []string{"task", "variant", "result", "run", "candidate"} }

// For is the JSON Schema of a kind of file, by its name of Names: task.json,
// variant.json, result.json, the run configuration, a candidate's line.
func For(name string) ([]byte, error) {
	switch name {
	case "task":
		return Generate(assay.Task{}), nil
	case "variant":
		return Generate(assay.Variant{}), nil
	case "result":
		return Generate(assay.Result{}), nil
	case "run":
		return runSchema(), nil
	case "candidate":
		return Generate(assay.Candidate{}), nil
	}
	return nil, assay.Userf("there is no schema %q%s", name, hintOrList(name, Names()))
}

// Generate is the JSON Schema (draft 2020-12) of v's type, a struct: unknown
// fields are refused, the fields that the decoders require are required, and
// the closed lists of the nouns are enumerations.
func Generate(v any) []byte { return encode(reflected(v)) }

func encode(s *jsonschema.Schema) []byte {
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("schema: encoding a schema: %v", err)) // a schema is plain data
	}
	return append(out, '\n')
}

func reflected(v any) *jsonschema.Schema {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	said := map[string]string{}
	if err := json.Unmarshal(descriptions, &said); err != nil {
		panic(fmt.Sprintf("schema: reading the embedded descriptions: %v", err))
	}
	structs := map[string]reflect.Type{}
	selfish := collect(t, t, structs)
	r := jsonschema.Reflector{
		Anonymous:                  true,
		ExpandedStruct:             !selfish,
		RequiredFromJSONSchemaTags: true,
		Mapper:                     enumeration,
		LookupComment: func(t reflect.Type, field string) string {
			if field == "" {
				return said[t.Name()]
			}
			return said[t.Name()+"."+field]
		},
	}
	s := r.ReflectFromType(t)
	for name, def := range s.Definitions {
		complete(def, structs[name])
	}
	if !selfish {
		complete(s, t)
	}
	return s
}

// collect gathers the structs that t is made of and tells whether root comes
// up again inside of it.
func collect(t, root reflect.Type, into map[string]reflect.Type) (again bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return collect(t.Elem(), root, into)
	case reflect.Struct:
		if text, _ := fromText(t); text {
			return false
		}
	default:
		return false
	}
	if _, known := into[t.Name()]; known {
		return t == root
	}
	into[t.Name()] = t
	for _, f := range fieldsOf(t) {
		again = collect(f.typ, root, into) || again
	}
	return again
}

func enumeration(t reflect.Type) *jsonschema.Schema {
	words := wordsOf(t)
	if words == nil {
		return nil
	}
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range words {
		s.Enum = append(s.Enum, w)
	}
	return s
}

// complete adds what the reflector can't know: which fields the decoders
// require, and the schema number.
func complete(s *jsonschema.Schema, t reflect.Type) {
	if t == nil {
		return
	}
	s.Required = nil
	for _, f := range fieldsOf(t) {
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	if n := schemaNumber(t); n != 0 {
		if p, ok := s.Properties.Get("schema"); ok {
			p.Const = n
		}
	}
}

// runSchema lets an agent be written as "name@version" too, and has the part
// for mining, which package config reads.
func runSchema() []byte {
	s := reflected(assay.Request{})
	if p, ok := s.Properties.Get("agents"); ok {
		short := &jsonschema.Schema{Type: "string", Description: `"name" or "name@version"`}
		p.Items = &jsonschema.Schema{OneOf: []*jsonschema.Schema{short, p.Items}}
	}
	s.Properties.Set("mine", miningSchema())
	return encode(s)
}

func miningSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
		Description: "what 'assay mine' and 'assay build' take as flags"}
	for _, f := range [][2]string{
		{"since", "merged after this date (2025-09-01) or age (90d)"}, {"until", "merged no later than this date"},
		{"branch", "the main line"}, {"base", "parent or cutoff"}, {"dockerfile", "a Dockerfile for all tasks, relative to this file"},
		{"test", "with dockerfile: the command that runs the tests"}, {"report", "with dockerfile: the format of its report"},
	} {
		s.Properties.Set(f[0], &jsonschema.Schema{Type: "string", Description: f[1]})
	}
	s.Properties.Set("scope", &jsonschema.Schema{Type: "string", Enum: []any{string(assay.ScopeOwn), string(assay.ScopeAll)},
		Description: "which existing tests must go on passing: those in the change's own test files (own, the default), or all"})
	s.Properties.Set("file_sec", &jsonschema.Schema{Type: "integer", Minimum: json.Number("0"),
		Description: "with scope all: seconds for one test file (default 60)"})
	return s
}
