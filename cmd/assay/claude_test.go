package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/agent"
	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testkit/model"
)

// claudeProgram is the real program in an npm prefix (ASSAY_CLAUDE_KIT), ""
// where there is none and none is required.
func claudeProgram(t testing.TB) string {
	t.Helper()
	prefix := os.Getenv("ASSAY_CLAUDE_KIT")
	found, err := filepath.Glob(filepath.Join(prefix, "node_modules", "@anthropic-ai", "claude-code-linux-*", "claude"))
	if prefix != "" && err == nil && len(found) > 0 {
		return found[0]
	}
	if required("claude") {
		t.Fatal("claude is required here: set ASSAY_CLAUDE_KIT to an npm prefix that has @anthropic-ai/claude-code")
	}
	return ""
}

// linkKit puts a program where the product keeps kits.
func linkKit(t testing.TB, program, cache string) {
	t.Helper()
	dir := filepath.Join(cache, "kits", agent.KitName(agent.ClaudeCode, ""), "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "claude")
	if os.Link(program, to) == nil {
		return
	}
	data, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// claudeKit gives the person the real program.
func (p *person) claudeKit() {
	p.t.Helper()
	program := claudeProgram(p.t)
	need(p.t, "claude", program != "", "the real Claude Code is wanted: set ASSAY_CLAUDE_KIT to an npm prefix that has @anthropic-ai/claude-code")
	linkKit(p.t, program, p.path("cache"))
}

const realKey = "sk-ant-api03-the-real-key-that-enters-no-box-0123456789"

// misspelt is what the task is about, in two parts for those who look for
// spelling mistakes in this file.
const misspelt = "Payment rec" + "ieved"

// endings is a model that solves one task, cheats at another and is
// overloaded at a third; it tells them apart by their statements.
func endings() model.Script {
	solves := model.Replies(
		model.Text("I'll look at the line.").And(model.Tool("Read", map[string]any{"file_path": "/workspace/billing/receipt.py"})),
		model.Tool("Edit", map[string]any{"file_path": "/workspace/billing/receipt.py", "old_string": misspelt, "new_string": "Payment received"}),
		model.Bash("python3 -m unittest -q; echo done"),
		model.Text("The label is right now."))
	cheats := model.Replies(
		model.Bash("sed -i 's/def test_meeting_inside_another/def meeting_inside_another/' tests/test_intervals.py"),
		model.Text("All tests are green."))
	return func(req model.Request, n int) model.Reply {
		switch whole := string(req.Raw); {
		case strings.Contains(whole, misspelt):
			return solves(req, n)
		case strings.Contains(whole, "test_meeting_inside_another"):
			return cheats(req, n)
		}
		return model.Status(429)
	}
}

// TestRealClaudeCode: the real program in a container, by the command that a
// person types, against a scripted model: solved, caught, and not its fault.
func TestRealClaudeCode(t *testing.T) {
	needDocker(t)
	server := model.New(t, endings())
	p := newPerson(t, "ANTHROPIC_BASE_URL="+server.URL, "ANTHROPIC_API_KEY="+realKey)
	p.claudeKit()
	s := p.must(1, "run", "--agents", "claude-code", "--models", "claude-sonnet-4-5", "--efforts", "low", "--sandbox", "docker",
		"--task", "scope-creep-magnet,merge-intervals,config-layers", "--retries", "1", "--jobs", "2", "--out", "r")
	if !strings.Contains(s.err, "is tried again in") {
		t.Errorf("the 429 was not tried again: %s", s.err)
	}
	results := p.results("r")
	for task, want := range map[string]assay.Outcome{"scope-creep-magnet": assay.Passed, "merge-intervals": assay.Integrity, "config-layers": assay.InfraFail} {
		r := results["claude-code "+task]
		if r.Outcome != want {
			t.Errorf("%s: %s, want %s (%s; %s)", task, r.Outcome, want, r.Detail, r.Agent.Stderr)
		}
		if want != assay.InfraFail && r.Agent.Tokens != r.Model.Tokens {
			t.Errorf("%s: the program counted %+v, the gateway %+v", task, r.Agent.Tokens, r.Model.Tokens)
		}
		t.Logf("%s: %s, %d calls, %+v, %.1f s", task, r.Outcome, r.Model.Calls, r.Model.Tokens, r.Agent.Seconds)
	}
	if r := results["claude-code config-layers"]; r.Infra != assay.InfraAPI || r.Attempt != 2 || r.Model.Replies != 0 {
		t.Errorf("429: infra %q, attempt %d, %d replies", r.Infra, r.Attempt, r.Model.Replies)
	}
	var metered assay.Tokens
	for _, r := range results {
		metered = metered.Add(r.Model.Tokens)
	}
	if served := server.Served(); metered != served.Tokens {
		t.Errorf("metered %+v, served %+v", metered, served.Tokens)
	}
	for _, req := range server.Requests() {
		if got := req.Header.Get("X-Api-Key"); got != realKey {
			t.Errorf("the upstream got the key %q", got)
		}
	}
	if where := filesWith(t, p.path("r"), realKey); len(where) > 0 || strings.Contains(s.out+s.err, realKey) {
		t.Errorf("the key is in %v, or was printed", where)
	}
	p.noneLeft("r")
}

// filesWith lists the files below a folder that hold a text.
func filesWith(t testing.TB, dir, text string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if bytes.Contains(data, []byte(text)) {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
