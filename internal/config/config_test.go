package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMessages(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, ps := config.Load(a.Files[0].Name, a.Files[0].Data)
			got := ps.Error() + "\n"
			if *update {
				a.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(a.Files[1].Data), got); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	zero := 0
	want := assay.Request{
		Schema: 1, Tasks: filepath.Join("conf", "t"), VarDir: "variants", Out: "/abs/$HOME/out", Task: []string{"a*"},
		Agents: []assay.AgentSpec{{Name: "claude-code", Version: "2.1.197"}, {Name: "command", Command: []string{"./x", "$HOME"}, Env: []string{"A"}, Label: "mine"}},
		Models: []string{"m"}, Retries: &zero, Repeats: 3, MaxCostUSD: 1.5, Limits: assay.Limits{TimeoutSec: 60}, KeepWorkspace: true,
	}
	yaml := `schema: 1
tasks: ./t
variants_dir: ../variants
out: /abs/$HOME/out
task: ["a*"]
agents:
- claude-code@2.1.197
- {name: command, command: [./x, $HOME], env: [A], label: mine}
models: [m]
retries: 0
repeats: 3
max_cost_usd: 1.5
limits: {timeout_sec: 60}
keep_workspace: true
`
	json := `{"schema": 1, "tasks": "t", "variants_dir": "../variants", "out": "/abs/$HOME/out", "task": ["a*"],
"agents": ["claude-code@2.1.197", {"name": "command", "command": ["./x", "$HOME"], "env": ["A"], "label": "mine"}],
"models": ["m"], "retries": 0, "repeats": 3, "max_cost_usd": 1.5, "limits": {"timeout_sec": 60}, "keep_workspace": true}`
	for file, data := range map[string]string{"conf/run.yaml": yaml, "conf/run.json": json, "conf/run": json, "conf/run.conf": yaml,
		"conf/run.yml": "\xef\xbb\xbf" + strings.ReplaceAll(yaml, "\n", "\r\n")} {
		got, ps := config.Load(file, []byte(data))
		if d := cmp.Diff(want, got); len(ps) > 0 || d != "" {
			t.Errorf("%s: %v\n%s", file, ps, d)
		}
	}
}

// A zero that was written is no request for the default.
func TestWrittenZeros(t *testing.T) {
	_, ps := config.Load("c.yaml", []byte("jobs: 0\nrepeats: 0\nretries: 0\n"))
	if got := ps.Error(); got != "c.yaml:1: jobs is 0; it must be at least 1\nc.yaml:2: repeats is 0; it must be at least 1" {
		t.Error(got)
	}
}

func TestAgent(t *testing.T) {
	for in, want := range map[string]string{
		"nop": "nop/", "claude-code@2.1.197": "claude-code/2.1.197", "codex@1.0.0-rc.1+b2": "codex/1.0.0-rc.1+b2", "x@latest": "x/latest",
		"": "error", "@1": "error", "a@": "error", "a@1@2": "error", "a b": "error", "../a": "error", "a@../b": "error",
		"-x": "error", "a@-x": "error", "a@1;rm": "error", "a@git+ssh://x": "error", "a@+": "error",
	} {
		spec, err := config.Agent(in)
		got := spec.Name + "/" + spec.Version
		if err != nil {
			got = "error"
			if !assay.IsUser(err) {
				t.Errorf("Agent(%q): %v is not the user's error", in, err)
			}
		}
		if got != want {
			t.Errorf("Agent(%q) = %s (%v), want %s", in, got, err, want)
		}
	}
}

func TestWithDefaults(t *testing.T) {
	two, zero := 2, 0
	want := assay.Request{Schema: 1, Tasks: "tasks", VarDir: "variants", Sandbox: "auto", Variants: []string{"baseline"}, Repeats: 1, Jobs: 2, Retries: &two}
	if d := cmp.Diff(want, config.WithDefaults(assay.Request{})); d != "" {
		t.Error(d)
	}
	set := assay.Request{Schema: 1, Tasks: "t", VarDir: "v", Sandbox: "local", Variants: []string{"x"}, Repeats: 5, Jobs: 7, Retries: &zero}
	if d := cmp.Diff(set, config.WithDefaults(set)); d != "" {
		t.Error(d)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("a.yaml", []byte("agents: [a@1, {name: b}]\nrepeats: 2"))
	f.Add("a.json", []byte(`{"agents": ["a@1", {"name": "b"}], "retries": null}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		r, ps := config.Load(name, data)
		if len(ps) == 0 && len(config.Faults(r)) > 0 {
			t.Errorf("faults in a request that was read without problems: %v", config.Faults(r))
		}
	})
}
