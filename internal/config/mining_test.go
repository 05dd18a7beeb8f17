package config

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/schema"
)

func TestLoadMining(t *testing.T) {
	m, ps := LoadMining("d/assay.yml", []byte("tasks: ../tasks\nmine:\n  since: 90d\n  base: cutoff\n  dockerfile: Dockerfile\n  test: make test\n"))
	want := Mining{Since: "90d", Base: "cutoff", Dockerfile: "d/Dockerfile", Test: "make test"}
	if d := cmp.Diff(want, m); d != "" || len(ps) > 0 {
		t.Errorf("%s %v", d, ps)
	}
	for text, fault := range map[string]string{
		"mine:\n  snice: 90d\n":             `f.yml:2: unknown field "snice" in mine; did you mean "since"?`,
		"mine:\n  file_sec: -1\n":           "f.yml:2: mine.file_sec is negative",
		"mine:\n  scope: every\n":           `f.yml:2: mine.scope "every" is unknown; known are own, all`,
		"mine:\n  base: head\n":             "f.yml:2: mine.base is parent or cutoff, not head",
		"repeats: 1\nmine:\n  test: make\n": "f.yml:3: mine.test and mine.report go with mine.dockerfile; without one the environment is proposed",
	} {
		_, ps := LoadMining("f.yml", []byte(text))
		if len(ps) != 1 || ps[0].String() != fault {
			t.Errorf("%q: got %q, want %q", text, ps.Error(), fault)
		}
		if _, again := Load("f.yml", []byte(text)); len(again) != 1 {
			t.Errorf("a run takes %q", text)
		}
	}
}

// The published schema has the same fields.
func TestMiningIsInTheSchema(t *testing.T) {
	text, err := schema.For("run")
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties struct {
			Mine struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal(Mining{"a", "b", "c", "d", "e", "f", "g", "all", 9})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(all, &fields); err != nil {
		t.Fatal(err)
	}
	for name := range fields {
		if _, ok := s.Properties.Mine.Properties[name]; !ok {
			t.Errorf("the schema lacks mine.%s", name)
		}
	}
	if len(fields) != len(s.Properties.Mine.Properties) {
		t.Errorf("the schema has %d fields, the configuration %d", len(s.Properties.Mine.Properties), len(fields))
	}
}
