package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/schema"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// decode reads data by the file's extension into the type that its name says.
func decode(file string, data []byte) assay.Problems {
	if filepath.Ext(file) == ".yaml" {
		return schema.DecodeYAML(file, data, new(assay.Request))
	}
	return schema.DecodeJSON(file, data, new(assay.Task))
}

func TestMessages(t *testing.T) {
	files, err := filepath.Glob("testdata/messages/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, want := a.Files[0], &a.Files[len(a.Files)-1]
			got := decode(in.Name, in.Data).Error() + "\n"
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(want.Data), got); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
		})
	}
}

func TestDecodeFillsEverything(t *testing.T) {
	exit := 3
	want := assay.Result{
		Schema: 1, Attempt: 2, Outcome: assay.LimitHit, Limit: assay.LimitTime, Score: 0.5,
		Trial:  assay.Trial{ID: "x", Task: "t", Agent: assay.AgentSpec{Name: "nop", Env: []string{"A"}}, Limits: assay.Limits{CPUs: 1.5}},
		Checks: []assay.CheckResult{{Name: "c", Kind: assay.CheckTests, Status: assay.CheckFailed, Exit: &exit}},
		Phases: map[string]float64{"agent": 1.25}, Started: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Patch: assay.Patch{Bytes: 1 << 40},
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got assay.Result
	if ps := schema.DecodeJSON("result.json", data, &got); len(ps) > 0 {
		t.Fatal(ps)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("decoded (-want +got):\n%s", d)
	}
}

func TestToleratesMarksAndLineEnds(t *testing.T) {
	jsonText := "\xef\xbb\xbf{\r\n\"schema\": 1,\r\n\"id\": \"a\", \"checks\": [],\r\n\"x\": 1}\r\n"
	ps := schema.DecodeJSON("f", []byte(jsonText), new(assay.Task))
	if got := ps.Error(); got != `f:4: unknown field "x"` {
		t.Error(got)
	}
	yamlText := "\xef\xbb\xbfrepeats: 1\r\n\r\njobs: 2\r\nx: 1\r\nmodels:\r\n- a\r\n"
	ps = schema.DecodeYAML("f", []byte(yamlText), new(assay.Request))
	if got := ps.Error(); got != `f:4: unknown field "x"` {
		t.Error(got)
	}
}

func TestBounds(t *testing.T) {
	deep := strings.Repeat("[", 1<<20)
	for name, data := range map[string]string{
		"flow": deep, "json": deep + strings.Repeat("]", 1<<20), "maps": strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200),
		"compact": strings.Repeat("- ", 400000), "tags": strings.Repeat("!a ", 300000), "questions": strings.Repeat("? ", 400000),
		"large": strings.Repeat("a", 70<<20), "nul": "a: \x00", "latin1": "{\"id\": \"\xe9\"}",
	} {
		t.Run(name, func(t *testing.T) {
			var v any
			js, ys := schema.DecodeJSON("f", []byte(data), &v), schema.DecodeYAML("f", []byte(data), &v)
			if len(js) == 0 {
				t.Error("read as JSON")
			}
			if len(ys) == 0 && name != "nul" {
				t.Error("read as YAML")
			}
			t.Log(js, ys)
		})
	}
}

func TestAny(t *testing.T) {
	var got any
	if ps := schema.DecodeYAML("f", []byte("a: [1, x, true, null, {b: 1.5}]\n1: z\n"), &got); len(ps) > 0 {
		t.Fatal(ps)
	}
	want := map[string]any{"a": []any{1.0, "x", true, nil, map[string]any{"b": 1.5}}, "1": "z"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestYAMLScalars(t *testing.T) {
	data := "tasks: |\n  a\n  b\nout: >-\n  c\n  d\nsandbox: 'it''s'\nrepeats: 0x10\njobs: 1_000\nmax_cost_usd: 1_000.5\nvariants: [on, \"2.10\"]\n"
	var got assay.Request
	if ps := schema.DecodeYAML("f", []byte(data), &got); len(ps) > 0 {
		t.Fatal(ps)
	}
	want := assay.Request{Tasks: "a\nb\n", Out: "c d", Sandbox: "it's", Repeats: 16, Jobs: 1000, MaxCostUSD: 1000.5,
		Variants: []string{"on", "2.10"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"prompt", "prompt_file", "id", "checks", "naïve-tâsk"}
	for word, want := range map[string]string{
		"promt": "prompt", "prmopt": "prompt", "PROMPT": "prompt", "promptfile": "prompt_file", "check": "checks",
		"di": "id", "ab": "", "": "", "zebra": "", "naive-task": "naïve-tâsk", strings.Repeat("x", 5000): "",
	} {
		if got := schema.Nearest(word, known); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
}

func TestLocate(t *testing.T) {
	data := []byte("{\n \"id\": \"a\",\n \"checks\": [\n  {\"name\": \"x\"},\n  {\n   \"name\": \"y\",\n   \"paths\": [\"p\",\n    \"q\"]\n  }\n ]\n}")
	for path, want := range map[string]int{
		"": 1, "id": 2, "checks": 3, "checks.0": 4, "checks.1": 5, "checks.1.name": 6, "checks.1.paths.1": 8,
		"checks.1.command": 5, "checks.9": 3, "checks.x": 3, "nothing": 1, "id.deep": 2,
	} {
		var parts []string
		if path != "" {
			parts = strings.Split(path, ".")
		}
		if got := schema.Locate(data, parts...); got != want {
			t.Errorf("line of %q = %d, want %d", path, got, want)
		}
	}
	if got := schema.Locate([]byte("a: 1\nb:\n- x\n- y: 1\n  z: 2\n"), "b", "1", "z"); got != 5 {
		t.Errorf("line in YAML = %d, want 5", got)
	}
	if got := schema.Locate([]byte("{")); got != 0 {
		t.Errorf("line in a broken document = %d, want 0", got)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	seed(f, "task.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		var task assay.Task
		if ps := schema.DecodeJSON("f", data, &task); len(ps) > 0 {
			checkLines(t, ps, data)
			return
		}
		again, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		var same assay.Task
		if err := json.Unmarshal(again, &same); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &same); err != nil {
			t.Fatalf("encoding/json refuses what was read: %v", err)
		}
	})
}

func FuzzDecodeYAML(f *testing.F) {
	seed(f, "run.yaml")
	f.Add([]byte("a: &x [*x]"))
	f.Add([]byte("? {a: b}\n: - c\n  - d"))
	f.Add([]byte("a: |2-\n   x\n\"b\": !!binary aGk="))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		checkLines(t, schema.DecodeYAML("f", data, &v), data)
		checkLines(t, schema.DecodeYAML("f", data, new(assay.Request)), data)
		schema.Locate(data, "a", "0")
	})
}

func seed(f *testing.F, name string) {
	files, _ := filepath.Glob("testdata/messages/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if a.Files[0].Name == name {
			f.Add(a.Files[0].Data)
		}
	}
	f.Add([]byte("\xef\xbb\xbf{}"))
}

// checkLines holds that every problem names a line of the file and fits on
// one line itself.
func checkLines(t *testing.T, ps assay.Problems, data []byte) {
	t.Helper()
	for _, p := range ps {
		if p.Line < 0 || p.Line > bytes.Count(data, []byte("\n"))+bytes.Count(data, []byte("\r"))+1 {
			t.Errorf("line %d is outside of the file: %s", p.Line, p)
		}
	}
}
