package agent

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
	"github.com/assaybot/assay/internal/gateway"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/testkit/model"
)

// realClaude is the real program, named by ASSAY_CLAUDE.
func realClaude(t *testing.T) string {
	t.Helper()
	if p := os.Getenv("ASSAY_CLAUDE"); p != "" {
		return p
	}
	if strings.Contains(","+os.Getenv("ASSAY_REQUIRE")+",", ",claude,") {
		t.Fatal("ASSAY_REQUIRE has claude, but ASSAY_CLAUDE doesn't name the program")
	}
	t.Skip("the real Claude Code is wanted: set ASSAY_CLAUDE to its program")
	return ""
}

// seen is what came of one run of the real program.
type seen struct {
	facts assay.AgentFacts
	calls assay.ModelCalls
	steps steps
	exit  int
	work  string
	out   string
	err   string
}

// runReal runs the program as a trial does: with the launch of the agent,
// through a gateway session, against a scripted model.
func runReal(t *testing.T, up *model.Server, change func(*run.Invocation, *run.SessionSpec)) seen {
	t.Helper()
	program, root := realClaude(t), t.TempDir()
	g, err := gateway.New(gateway.Config{Upstreams: map[string]gateway.Upstream{"anthropic": {BaseURL: up.URL, Key: "real-key"}}})
	if err != nil {
		t.Fatal(err)
	}
	in := invocation(ClaudeCode)
	in.Root = root
	spec := run.SessionSpec{Provider: "anthropic", Model: in.Trial.Model}
	if change != nil {
		change(&in, &spec)
	}
	s, err := g.Session(spec)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	in.ModelURL, in.Token = srv.URL, s.Token()
	l, err := claude{options()}.Invoke(in)
	if err != nil {
		t.Fatal(err)
	}
	l.Env["CLAUDE_CODE_MAX_RETRIES"] = "0"
	out := start(t, l, program, root)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	out.calls = s.Calls()
	return out
}

func start(t *testing.T, l run.Launch, program, root string) seen {
	t.Helper()
	out := seen{work: filepath.Join(root, "workspace")}
	home := root + run.HomeDir
	for _, d := range []string{out.work, home} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Home.WriteDir(home); err != nil {
		t.Fatal(err)
	}
	l.Parser.(run.NeedsSink).SetSink(&out.steps)
	cmd := exec.CommandContext(t.Context(), program, l.Argv[1:]...)
	cmd.Dir, cmd.Stdin = out.work, strings.NewReader(l.Stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for k, v := range l.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	out.err = stderr.String()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	_, _ = l.Parser.Write(raw)
	out.out, out.exit, out.facts = string(raw), cmd.ProcessState.ExitCode(), l.Parser.Finish()
	return out
}

func TestRealClaudeRunsACommand(t *testing.T) {
	realClaude(t)
	up := model.New(t, model.Replies(
		model.Text("Working.").And(model.Bash("echo hi > made.txt; cat made.txt")),
		model.Tool("Write", map[string]any{"file_path": "PLACE", "content": "x"}),
		model.Text("All done.")))
	got := runReal(t, up, func(in *run.Invocation, _ *run.SessionSpec) {
		in.System = strings.Repeat("Mind the sentinel. ", 4000) // long enough for a file
		in.Trial.Effort = "high"
	})
	f := got.facts
	if got.exit != 0 || f.Ending != "success" || f.Turns != 3 || f.Commands != 1 || f.Final != "All done." || f.Version == "" {
		t.Errorf("exit %d, %+v\n%s", got.exit, f, got.out)
	}
	if data, err := os.ReadFile(filepath.Join(got.work, "made.txt")); err != nil || string(data) != "hi\n" {
		t.Errorf("made.txt: %q %v", data, err)
	}
	served := up.Served()
	if f.Tokens != served.Tokens || got.calls.Tokens != served.Tokens || got.calls.Replies != served.Replies || got.calls.Last != 200 {
		t.Errorf("served %+v\n agent %+v\n gateway %+v", served, f.Tokens, got.calls)
	}
	if diff := f.CostUSD - got.calls.CostUSD; !got.calls.Priced || diff > 1e-9 || diff < -1e-9 {
		t.Errorf("the program says %v USD, the gateway %v", f.CostUSD, got.calls.CostUSD)
	}
	first := up.Requests()[0]
	if !strings.Contains(first.First, "do it") || !strings.Contains(first.System, "Mind the sentinel.") {
		t.Error("the prompt or the system prompt did not arrive")
	}
	validTrajectory(t, got)
}

func validTrajectory(t *testing.T, got seen) {
	t.Helper()
	var out bytes.Buffer
	w := atif.NewWriter(&out)
	for _, s := range got.steps {
		w.Step(s)
	}
	if err := w.Finish(atif.EndOf(ClaudeCode, "", got.facts)); err != nil {
		t.Fatal(err)
	}
	if err := atif.Check(&out); err != nil {
		t.Error(err)
	}
}

func TestRealClaudeMeetsErrors(t *testing.T) {
	realClaude(t)
	for _, code := range []int{400, 401, 429, 500, 529} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			up := model.New(t, model.Mode(fmt.Sprint(code)))
			got := runReal(t, up, nil)
			f := got.facts
			if got.exit != 1 || f.Ending != "error" || f.Turns != 0 || len(f.APIErrors) != 1 || f.APIErrors[0].Status != code {
				t.Errorf("exit %d, %+v\n%s", got.exit, f, got.out)
			}
			if got.calls.Last != code || got.calls.Replies != 0 || got.calls.Calls == 0 {
				t.Errorf("%+v", got.calls)
			}
		})
	}
}

func TestRealClaudeMeetsLimits(t *testing.T) {
	realClaude(t)
	again := func(model.Request, int) model.Reply { return model.Bash("true") }
	turns := runReal(t, model.New(t, again), func(in *run.Invocation, _ *run.SessionSpec) { in.Limits.MaxTurns = 2 })
	if turns.facts.Ending != "max_turns" {
		t.Errorf("%+v\n%s", turns.facts, turns.out)
	}
	cost := runReal(t, model.New(t, again), func(in *run.Invocation, _ *run.SessionSpec) { in.Limits.MaxCostUSD = 0.002 })
	if cost.facts.Ending != "max_cost" {
		t.Errorf("%+v\n%s", cost.facts, cost.out)
	}
	stopped := runReal(t, model.New(t, again), func(_ *run.Invocation, s *run.SessionSpec) { s.MaxCostUSD = 0.002 })
	if !stopped.calls.Budget || stopped.facts.Ending != "error" || stopped.calls.Calls > 3 {
		t.Errorf("%+v %+v\n%s", stopped.calls, stopped.facts, stopped.out)
	}
	refusal := runReal(t, model.New(t, model.Replies(model.Reply{Blocks: []model.Block{{Type: "text", Text: "No."}}, Stop: "refusal"})), nil)
	if refusal.facts.Ending != "refused" {
		t.Errorf("%+v\n%s", refusal.facts, refusal.out)
	}
}

func TestRealClaudeStartsASubagent(t *testing.T) {
	realClaude(t)
	up := model.New(t, func(req model.Request, n int) model.Reply {
		switch {
		case strings.Contains(req.First, "look around"):
			return model.Replies(model.Bash("echo from below"), model.Text("It is below."))(req, n)
		case n == 0:
			return model.Tool("Task", map[string]any{"description": "look", "prompt": "look around", "subagent_type": "general-purpose", "run_in_background": false})
		}
		return model.Text("Done.")
	})
	got := runReal(t, up, nil)
	f := got.facts
	// Of a subagent's last reply only the text comes, within the result of
	// the call that began it: the stream shows three of four replies.
	if f.Ending != "success" || f.Turns != 3 || got.calls.Replies != 4 || f.ToolCalls["agent"] != 1 || f.Commands != 1 || f.Final != "Done." {
		t.Errorf("%+v\n%s", f, got.out)
	}
	if served := up.Served(); f.Tokens != served.Tokens {
		t.Errorf("the subagent's tokens are missing: %+v of %+v", f.Tokens, served.Tokens)
	}
	below := 0
	for _, s := range got.steps {
		if s.Extra != nil {
			below++
		}
	}
	if below < 2 {
		t.Errorf("%d steps of the subagent: %+v", below, got.steps)
	}
	validTrajectory(t, got)
}
