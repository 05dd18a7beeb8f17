package agent

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/gateway"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/testkit/model"
)

// realKits is the folder of kits, named by ASSAY_KITS; what it lacks is
// fetched into it.
func realKits(t *testing.T, agents ...string) string {
	t.Helper()
	dir := os.Getenv("ASSAY_KITS")
	if dir == "" {
		if strings.Contains(","+os.Getenv("ASSAY_REQUIRE")+",", ",agents,") {
			t.Fatal("ASSAY_REQUIRE has agents, but ASSAY_KITS doesn't name a folder for the programs")
		}
		t.Skip("the real programs are wanted: set ASSAY_KITS to a folder for them")
	}
	for _, name := range agents {
		if _, err := EnsureKit(t.Context(), KitRequest{CacheDir: dir, Agent: name, Env: os.Environ()}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// realCase is an agent with a model of one of the APIs that it speaks.
type realCase struct{ agent, model string }

func (c realCase) String() string { return c.agent + " " + c.model }

func realCases() []realCase {
	return []realCase{
		{Codex, "gpt-5.2"}, {Gemini, "gemini-2.5-pro"},
		{Opencode, "claude-sonnet-4-5"}, {Opencode, "openai/gpt-5.2"}, {Opencode, "google/gemini-2.5-pro"},
		{MiniSWE, "claude-sonnet-4-5"}, {MiniSWE, "gpt-5.2"}, {MiniSWE, "google/gemini-2.5-pro"},
	}
}

// done is how a model says that it is done.
func (c realCase) done(said string) model.Reply {
	if c.agent == MiniSWE {
		return model.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo '" + said + "'")
	}
	return model.Text(said)
}

// run runs the program as a trial does: with the launch of the agent, through
// a gateway session, against a scripted model.
func (c realCase) run(t *testing.T, up *model.Server, change func(*run.Invocation, *run.SessionSpec)) seen {
	t.Helper()
	kits, root := realKits(t, c.agent), t.TempDir()
	if err := os.Symlink(kits, root+run.KitDir); err != nil {
		t.Fatal(err)
	}
	in := invocation(c.agent)
	in.Root, in.Trial.Model = root, c.model
	in.ModelURL, in.Token = "http://127.0.0.1:1", "none"
	spec := run.SessionSpec{Model: c.model}
	if change != nil {
		change(&in, &spec)
	}
	a := Find(All(Options{CacheDir: kits}), c.agent)
	first, err := a.Invoke(in) // names the API
	if err != nil {
		t.Fatal(err)
	}
	spec.Provider = first.Provider
	g, err := gateway.New(gateway.Config{Upstreams: map[string]gateway.Upstream{spec.Provider: {BaseURL: up.URL, Key: "real-key"}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := g.Session(spec)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	in.ModelURL, in.Token = srv.URL, s.Token()
	l, err := a.Invoke(in)
	if err != nil {
		t.Fatal(err)
	}
	out := start(t, l, l.Argv[0], root)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	out.calls = s.Calls()
	if dir := os.Getenv("ASSAY_KEEP_STREAMS"); dir != "" {
		name := strings.NewReplacer("/", "_", " ", "_").Replace(t.Name())
		if err := os.WriteFile(filepath.Join(dir, name), []byte(out.out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestRealProgramsRunACommand(t *testing.T) {
	for _, c := range realCases() {
		t.Run(c.String(), func(t *testing.T) {
			up := model.New(t, model.Replies(
				model.Text("Working.").And(model.Bash("echo hi > made.txt; cat made.txt")),
				model.Bash("echo second"),
				c.done("All done.")))
			got := c.run(t, up, func(in *run.Invocation, _ *run.SessionSpec) { in.System = "Mind the sentinel \"é\"." })
			f := got.facts
			if got.exit != 0 || f.Ending != run.EndSuccess || f.Turns != 3 || f.Commands < 2 || f.Final != "All done." || (f.Session == "") != (c.agent == MiniSWE) || f.Version == "" {
				t.Errorf("exit %d, %+v\n%s\n%s", got.exit, f, got.out, got.err)
			}
			if data, err := os.ReadFile(filepath.Join(got.work, "made.txt")); err != nil || string(data) != "hi\n" {
				t.Errorf("made.txt: %q %v", data, err)
			}
			served := up.Served()
			if f.Tokens != served.Tokens || got.calls.Tokens != served.Tokens || got.calls.Replies != served.Replies || got.calls.Last != 200 {
				t.Errorf("served %+v\n agent %+v\n gateway %+v", served, f.Tokens, got.calls)
			}
			if !got.calls.Priced || got.calls.Estimated {
				t.Errorf("%+v", got.calls)
			}
			if diff := f.CostUSD - got.calls.CostUSD; f.CostKnown && (diff > 1e-9 || diff < -1e-9) {
				t.Errorf("the program says %v USD, the gateway %v", f.CostUSD, got.calls.CostUSD)
			}
			first := up.Requests()[0]
			if !strings.Contains(first.First, "do it") || !strings.Contains(first.System+first.First, `Mind the sentinel "é".`) {
				t.Errorf("the prompt or the variant's text did not arrive: %q\n%s", first.First, first.Raw)
			}
			validTrajectory(t, got)
		})
	}
}

func TestRealProgramsMeetErrors(t *testing.T) {
	for _, c := range append(realCases()[:3], realCases()[5]) {
		for _, code := range []int{400, 401} {
			t.Run(fmt.Sprint(c, code), func(t *testing.T) {
				up := model.New(t, model.Mode(fmt.Sprint(code)))
				got := c.run(t, up, nil)
				f := got.facts
				if got.exit == 0 || f.Ending != run.EndError || f.Turns != 0 || len(f.APIErrors) != 1 || f.APIErrors[0].Status != code {
					t.Errorf("exit %d, %+v\n%s\n%s", got.exit, f, got.out, got.err)
				}
				if got.calls.Last != code || got.calls.Replies != 0 || got.calls.Calls == 0 {
					t.Errorf("%+v", got.calls)
				}
			})
		}
	}
}

func TestRealProgramsMeetTheBudget(t *testing.T) {
	again := func(model.Request, int) model.Reply { return model.Bash("true") }
	for _, c := range append(realCases()[:3], realCases()[5]) {
		t.Run(c.String(), func(t *testing.T) {
			got := c.run(t, model.New(t, again), func(_ *run.Invocation, s *run.SessionSpec) { s.MaxCostUSD = 0.0011 })
			if !got.calls.Budget || got.facts.Ending != run.EndError || got.calls.Calls > 3 {
				t.Errorf("%+v %+v\n%s", got.calls, got.facts, got.out)
			}
		})
	}
}

func TestRealGeminiKeepsItsTurnLimit(t *testing.T) {
	again := func(model.Request, int) model.Reply { return model.Bash("true") }
	got := realCase{Gemini, "gemini-2.5-pro"}.run(t, model.New(t, again), func(in *run.Invocation, _ *run.SessionSpec) { in.Limits.MaxTurns = 2 })
	if got.facts.Ending != run.EndTurns || got.facts.Turns != 2 {
		t.Errorf("exit %d %+v\n%s\n%s", got.exit, got.facts, got.out, got.err)
	}
}

// TestRealEffortsArrive holds what goes over the wire against the effort.
func TestRealEffortsArrive(t *testing.T) {
	for _, tt := range []struct {
		realCase
		effort, want string
	}{
		{realCase{Codex, "gpt-5.2"}, "high", `"effort":"high"`},
		{realCase{Codex, "gpt-5.2"}, "xhigh", `"effort":"xhigh"`},
		{realCase{Gemini, "gemini-3-pro-preview"}, "low", `"thinkingLevel":"LOW"`},
		{realCase{Opencode, "openai/gpt-5.2"}, "xhigh", `"effort":"xhigh"`},
		{realCase{Opencode, "claude-sonnet-4-5"}, "max", `"budget_tokens":31999`},
		{realCase{Opencode, "google/gemini-3-pro-preview"}, "low", `"thinkingLevel":"low"`},
		{realCase{Opencode, "google/gemini-2.5-pro"}, "high", `"thinkingBudget":16000`},
		{realCase{MiniSWE, "gpt-5.2"}, "xhigh", `"effort":"xhigh"`},
		{realCase{MiniSWE, "claude-sonnet-4-5"}, "high", `"budget_tokens":4096`},
		{realCase{MiniSWE, "google/gemini-2.5-pro"}, "low", `"thinkingBudget":1024`},
	} {
		t.Run(tt.String()+" "+tt.effort, func(t *testing.T) {
			up := model.New(t, model.Replies(tt.done("Working.")))
			got := tt.run(t, up, func(in *run.Invocation, _ *run.SessionSpec) { in.Trial.Effort = tt.effort })
			if got.facts.Ending != run.EndSuccess {
				t.Fatalf("%+v\n%s\n%s", got.facts, got.out, got.err)
			}
			raw := strings.ReplaceAll(string(up.Requests()[0].Raw), `": `, `":`)
			// Codex's tools have a parameter of that name.
			if !strings.Contains(raw, tt.want) || tt.agent == MiniSWE && strings.Contains(raw, `"reasoning_effort"`) {
				t.Errorf("no %s, or a word that the API doesn't know, in the request for %s: %s", tt.want, up.Requests()[0].Model, raw)
			}
		})
	}
}

// TestRealOpencodeStartsASubagent: the stream leaves a subagent's steps out,
// the account must not leave its calls out.
func TestRealOpencodeStartsASubagent(t *testing.T) {
	up := model.New(t, func(req model.Request, n int) model.Reply {
		switch {
		case strings.Contains(req.First, "look around"):
			return model.Replies(model.Bash("echo below > below.txt"), model.Text("It is below."))(req, n)
		case n == 0:
			return model.Tool("task", map[string]any{"description": "look", "prompt": "look around", "subagent_type": "general"})
		}
		return model.Text("Done.")
	})
	got := realCase{Opencode, "claude-sonnet-4-5"}.run(t, up, nil)
	f, served := got.facts, up.Served()
	if f.Ending != run.EndSuccess || f.ToolCalls["agent"] != 1 || served.Replies != 4 || f.Final != "Done." {
		t.Errorf("%+v, served %+v\n%s\n%s", f, served, got.out, got.err)
	}
	if got.calls.Tokens != served.Tokens || got.calls.Replies != served.Replies {
		t.Errorf("served %+v, counted %+v", served, got.calls)
	}
	if _, err := os.Stat(filepath.Join(got.work, "below.txt")); err != nil {
		t.Error(err)
	}
}

// TestKitsAreThere fetches every kit that ASSAY_KITS lacks.
func TestKitsAreThere(t *testing.T) {
	dir := realKits(t, ClaudeCode, Codex, Gemini, Opencode, MiniSWE)
	for name, r := range recipes() {
		if !r.complete(filepath.Join(dir, KitName(name, ""))) {
			t.Errorf("the kit of %s isn't complete", name)
		}
	}
}
