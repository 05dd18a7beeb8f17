package schema_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/schema"
)

func compiled(t *testing.T, data []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///s.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func named(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	data, err := schema.For(name)
	if err != nil {
		t.Fatal(err)
	}
	return compiled(t, data)
}

func validate(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func samples() map[string]any {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	exit, retries := 1, 0
	return map[string]any{
		"task": assay.Task{Schema: 1, ID: "a", Kind: assay.KindCorrectness, Prompt: "p", FailToPass: []string{"x"},
			Checks:      []assay.Check{{Name: "c", Kind: assay.CheckTests, Report: &assay.Report{Format: "junit"}}},
			Environment: assay.Environment{Env: map[string]string{"A": "b"}}, Limits: assay.DefaultLimits(),
			Source: &assay.Source{Kind: "pull", Merged: when}, Base: &assay.Base{Commit: "c", Rule: "parent"},
			Strength: &assay.Strength{}, Validation: &assay.Validation{When: when, Needs: &assay.Envelope{}}},
		"variant": assay.Variant{Schema: 1, Name: "v", Overlay: "files"},
		"result": assay.Result{Schema: 1, Outcome: assay.Passed, Started: when, Phases: map[string]float64{"agent": 1},
			Checks: []assay.CheckResult{{Kind: assay.CheckCommand, Status: assay.CheckPassed, Exit: &exit,
				Misses: []assay.TestResult{{ID: "t", Status: assay.TestMissing}}}}},
		"run": assay.Request{Schema: 1, Agents: []assay.AgentSpec{{Name: "nop"}}, Retries: &retries, Limits: assay.Limits{Pids: 3}},
		"candidate": assay.Candidate{Schema: 1, ID: "c", Status: assay.StatusMined, Updated: when,
			Files: []assay.SplitFile{{Path: "p", Class: assay.ClassTest}}, Links: []assay.Link{{Issue: 3}}},
	}
}

func TestSchemasAcceptSamples(t *testing.T) {
	for _, name := range schema.Names() {
		t.Run(name, func(t *testing.T) {
			s := named(t, name)
			data, err := json.Marshal(samples()[name])
			if err != nil {
				t.Fatal(err)
			}
			if err := validate(t, s, data); err != nil {
				t.Fatalf("%v\n%s", err, data)
			}
			if err := validate(t, s, bytes.Replace(data, []byte("{"), []byte(`{"promt":1,`), 1)); err == nil {
				t.Error("an unknown field was accepted")
			}
			if err := validate(t, s, bytes.Replace(data, []byte(`"schema":1`), []byte(`"schema":9`), 1)); err == nil {
				t.Error("an unknown schema number was accepted")
			}
		})
	}
}

// The decoders and the published schemas must say the same of a file.
func TestSchemaAgreesWithDecoder(t *testing.T) {
	s := named(t, "task")
	for text, ok := range map[string]bool{
		`{"schema":1,"id":"a","checks":[]}`:                                                          true,
		`{"schema":1,"id":"a","checks":[{"name":"n","kind":"command","command":["x"]}]}`:             true,
		`{"schema":1,"id":"a","checks":[{"name":"n","kind":"comand"}]}`:                              false,
		`{"schema":1,"id":"a","checks":[{"kind":"command"}]}`:                                        false,
		`{"schema":1,"id":"a","checks":[],"kind":""}`:                                                false,
		`{"schema":1,"id":"a","checks":[],"limits":{"timeout_sec":1.5}}`:                             false,
		`{"schema":1,"id":"a","checks":[],"environment":{"env":{"A":1}}}`:                            false,
		`{"schema":1,"id":"a"}`:                                                                      false,
		`{"id":"a","checks":[]}`:                                                                     false,
		`{"schema":1,"id":7,"checks":[]}`:                                                            false,
		`{"schema":1,"id":"a","checks":[],"source":{"kind":"pull","merged":"2026-01-02T03:04:05Z"}}`: true,
	} {
		byDecoder := len(schema.DecodeJSON("f", []byte(text), new(assay.Task))) == 0
		bySchema := validate(t, s, []byte(text)) == nil
		if byDecoder != ok || bySchema != ok {
			t.Errorf("%s: decoder %v, schema %v, want %v", text, byDecoder, bySchema, ok)
		}
	}
}

func TestRunSchemaTakesShortAgents(t *testing.T) {
	s := named(t, "run")
	if err := validate(t, s, []byte(`{"agents":["nop",{"name":"claude-code","version":"2"}]}`)); err != nil {
		t.Error(err)
	}
	if err := validate(t, s, []byte(`{"agents":[{"nme":"nop"}]}`)); err == nil {
		t.Error("an unknown field of an agent was accepted")
	}
}

func TestSchemaOfRecursiveType(t *testing.T) {
	s := compiled(t, schema.Generate(&assay.Trajectory{}))
	ok := `{"schema_version":"ATIF-v1.7","agent":{"name":"a","version":"1"},"steps":[],"subagent_trajectories":[%s]}`
	inner := strings.Replace(ok, "%s", "", 1)
	if err := validate(t, s, []byte(strings.Replace(ok, "%s", inner, 1))); err != nil {
		t.Error(err)
	}
	if err := validate(t, s, []byte(strings.Replace(ok, "%s", `{"x":1}`, 1))); err == nil {
		t.Error("a broken inner trajectory was accepted")
	}
}

func TestForNamesTheNearest(t *testing.T) {
	_, err := schema.For("taks")
	if err == nil || !assay.IsUser(err) || err.Error() != `there is no schema "taks"; did you mean "task"?` {
		t.Errorf("error %v", err)
	}
}

func TestSchemaAcceptsTheSuite(t *testing.T) {
	files, err := filepath.Glob("../../tasks/*/task.json")
	if err != nil {
		t.Fatal(err)
	}
	s := named(t, "task")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, data); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		if ps := schema.DecodeJSON(f, data, new(assay.Task)); len(ps) > 0 {
			t.Error(ps)
		}
	}
}

func nouns(t *testing.T) []*ast.File {
	t.Helper()
	fset := token.NewFileSet()
	paths, err := filepath.Glob("../assay/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// Every closed list of the schemas holds exactly the constants of its type.
func TestEnumsAreComplete(t *testing.T) {
	consts := map[string][]string{}
	for _, f := range nouns(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			typ, named := v.Type.(*ast.Ident)
			lit, written := v.Values[0].(*ast.BasicLit)
			if named && written && lit.Kind == token.STRING {
				consts[typ.Name] = append(consts[typ.Name], strings.Trim(lit.Value, `"`))
			}
			return true
		})
	}
	delete(consts, "Reason") // an open list: judges add their own
	type all struct {
		TaskKind        assay.TaskKind
		Scope           assay.Scope
		Preflight       assay.Preflight
		CheckKind       assay.CheckKind
		Outcome         assay.Outcome
		LimitKind       assay.LimitKind
		InfraKind       assay.InfraKind
		CheckStatus     assay.CheckStatus
		TestStatus      assay.TestStatus
		CandidateStatus assay.CandidateStatus
		FileClass       assay.FileClass
		Decision        assay.Decision
		ModeName        assay.ModeName
	}
	var doc struct {
		Properties map[string]struct{ Enum []string }
	}
	if err := json.Unmarshal(schema.Generate(all{}), &doc); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for name, p := range doc.Properties {
		got[name] = slices.Sorted(slices.Values(p.Enum))
	}
	for name := range consts {
		sort.Strings(consts[name])
	}
	if d := cmp.Diff(consts, got); d != "" {
		t.Errorf("constants of the nouns (-) and closed lists (+):\n%s", d)
	}
}

// The descriptions are the comments of the nouns.
func TestDescriptions(t *testing.T) {
	files := nouns(t)
	said := map[string]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				describe(said, g, s.(*ast.TypeSpec))
			}
		}
	}
	want, err := json.MarshalIndent(said, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("descriptions.json", want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("descriptions.json")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("descriptions.json is stale; run go test ./internal/schema -update (-want +got):\n%s", d)
	}
}

func describe(said map[string]string, g *ast.GenDecl, s *ast.TypeSpec) {
	st, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	said[s.Name.Name] = strings.TrimSpace(g.Doc.Text())
	for _, f := range st.Fields.List {
		words := strings.TrimSpace(f.Doc.Text())
		for _, n := range f.Names {
			if words != "" {
				said[s.Name.Name+"."+n.Name] = words
			}
		}
	}
}
