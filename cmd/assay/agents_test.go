package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/agent"
	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testkit/model"
)

// programKits gives the person the kits of real programs (ASSAY_KITS); what
// the folder lacks, the product fetches into it.
func (p *person) programKits() {
	p.t.Helper()
	dir := os.Getenv("ASSAY_KITS")
	need(p.t, "agents", dir != "", "the real agent programs are wanted: set ASSAY_KITS to a folder for them")
	if err := os.MkdirAll(p.path("cache"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(p.path("cache"), "kits")); err != nil {
		p.t.Fatal(err)
	}
}

// realAgent is a program with a model of an API that it speaks.
type realAgent struct {
	name, model string
	// done is how the model says that it is done.
	done model.Reply
}

func realAgents() []realAgent {
	done := model.Text("That is all.")
	submit := model.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
	return []realAgent{
		{agent.ClaudeCode, "claude-sonnet-4-5", done}, {agent.Codex, "gpt-5.2", done}, {agent.Gemini, "gemini-2.5-pro", done},
		{agent.Opencode, "openai/gpt-5.2", done}, {agent.MiniSWE, "claude-sonnet-4-5", submit},
	}
}

// ending is a way that an attempt may end: what the model does, and what that
// counts as.
type ending struct {
	name  string
	reply func(a realAgent, req model.Request, n int) model.Reply
	want  assay.Outcome
	infra assay.InfraKind
	// limits and env are of the task.
	limits, env string
}

// overloaded is the API's own status for too much to do.
func overloaded(req model.Request) int {
	if strings.HasSuffix(req.Path, "/messages") {
		return 529
	}
	return http.StatusServiceUnavailable
}

// refusal is the API's own word for a reply that was withheld.
func refusal(req model.Request) string {
	switch {
	case strings.HasSuffix(req.Path, "/messages"):
		return "refusal"
	case strings.Contains(req.Path, "enerateContent"):
		return "SAFETY"
	}
	return "content_filter"
}

func endingsOfAgents() []ending {
	status := func(code int) func(realAgent, model.Request, int) model.Reply {
		return func(realAgent, model.Request, int) model.Reply { return model.Status(code) }
	}
	first := func(command string) func(realAgent, model.Request, int) model.Reply {
		return func(a realAgent, req model.Request, n int) model.Reply {
			return model.Replies(model.Text("On it.").And(model.Bash(command)), a.done)(req, n)
		}
	}
	return []ending{
		{name: "solves", want: assay.Passed, reply: first("echo hello > hello.txt")},
		{name: "fails", want: assay.Failed, reply: first("echo helo > hello.txt")},
		{name: "never-exits", want: assay.Passed, env: `"NODE_OPTIONS": "--require=/workspace/stay.js"`,
			reply: first("echo hello > hello.txt; setsid sleep " + marker + " >/dev/null 2>&1 &")},
		{name: "is-401", want: assay.InfraFail, infra: assay.InfraAPI, reply: status(401)},
		{name: "is-429", want: assay.InfraFail, infra: assay.InfraAPI, reply: status(429)},
		{name: "is-500", want: assay.InfraFail, infra: assay.InfraAPI, reply: status(500)},
		{name: "is-overloaded", want: assay.InfraFail, infra: assay.InfraAPI, reply: func(_ realAgent, req model.Request, _ int) model.Reply {
			return model.Status(overloaded(req))
		}},
		{name: "is-silent", want: assay.InfraFail, infra: assay.InfraAPI, limits: `"first_event_sec": 120, "idle_sec": 45,`,
			reply: func(realAgent, model.Request, int) model.Reply { return model.Hang() }},
		{name: "refuses", want: assay.Refused, reply: func(_ realAgent, req model.Request, _ int) model.Reply {
			return model.Reply{Blocks: []model.Block{{Type: "text", Text: "I can't help with that."}}, Stop: refusal(req)}
		}},
	}
}

// script plays the ending that the task's statement names.
func (a realAgent) script() model.Script {
	return func(req model.Request, n int) model.Reply {
		for _, e := range endingsOfAgents() {
			if strings.Contains(string(req.Raw), "the case "+e.name+".") {
				return e.reply(a, req, n)
			}
		}
		return model.Text("ok") // a side call that doesn't tell the task
	}
}

// stay keeps a program of Node.js from ever exiting.
const stay = "process.exit = process.reallyExit = () => {};\nsetInterval(() => {}, 1000);\n"

// caseSuite is a task for each ending, in an image without Python.
func (p *person) caseSuite() {
	for _, e := range endingsOfAgents() {
		p.write("cases/"+e.name+"/task.json", fmt.Sprintf(`{"schema": 1, "id": %q, "tier": "easy",
			"prompt": "Make hello.txt say hello. This is the case %s.",
			"environment": {"image": "golang:1.24", "env": {%s}}, "limits": {%s "timeout_sec": 240, "check_sec": 30},
			"checks": [{"name": "says", "kind": "command", "clause": "it says hello", "command": ["grep", "-qx", "hello", "hello.txt"]}]}`,
			e.name, e.name, e.env, e.limits))
		p.write("cases/"+e.name+"/workspace/hello.txt", "hi\n")
		p.write("cases/"+e.name+"/workspace/stay.js", stay)
		p.write("cases/"+e.name+"/solution/hello.txt", "hello\n")
	}
}

// TestRealAgents: every real program in containers, by the command that a
// person types, against a scripted model: however an attempt ends, it counts
// as what it is, and the tokens are those that the model served.
func TestRealAgents(t *testing.T) {
	needDocker(t)
	t.Parallel()
	t.Cleanup(func() {
		if left := processes(t, marker); len(left) > 0 {
			t.Errorf("still alive: %v", left)
		}
	})
	for _, a := range realAgents() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			server := model.New(t, a.script())
			p := newPerson(t, "ANTHROPIC_BASE_URL="+server.URL, "OPENAI_BASE_URL="+server.URL, "GOOGLE_GEMINI_BASE_URL="+server.URL,
				"ANTHROPIC_API_KEY="+realKey, "OPENAI_API_KEY="+realKey, "GEMINI_API_KEY="+realKey)
			p.programKits()
			p.caseSuite()
			s := p.types("run", "--tasks", "cases", "--agents", a.name, "--models", a.model, "--sandbox", "docker", "--retries", "0", "--jobs", "3", "--out", "r")
			a.holds(t, p, server)
			if t.Failed() {
				t.Log(s.out, s.err)
			}
			if where := filesWith(t, p.path("r"), realKey); len(where) > 0 {
				t.Errorf("the key is in %v", where)
			}
			p.noneLeft("r")
		})
	}
}

// ownTranscripts are the files that the program wrote itself and that are
// kept.
func (p *person) ownTranscripts(r assay.Result) []string {
	dir := filepath.Join(p.attempt("r", r), "agent")
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	return filesWith(p.t, dir, "hello.txt")
}

// holds holds the results of an agent against the endings.
func (a realAgent) holds(t *testing.T, p *person, server *model.Server) {
	results := p.results("r")
	var metered assay.Tokens
	for _, e := range endingsOfAgents() {
		r, ok := results[a.name+" "+e.name]
		if !ok {
			t.Errorf("%s: no result", e.name)
			continue
		}
		t.Logf("%-14s %s %s (stopped %q, ended %q, %d calls, %d replies, %.1f s)", e.name, r.Outcome, r.Infra,
			r.Agent.Stopped, r.Agent.Ending, r.Model.Calls, r.Model.Replies, r.Agent.Seconds)
		if r.Outcome != e.want || r.Infra != e.infra {
			t.Errorf("%s: %s %s, want %s (%s; %s)", e.name, r.Outcome, r.Infra, e.want, r.Detail, r.Agent.Stderr)
		}
		if r.Outcome == assay.Passed && r.Agent.Tokens != r.Model.Tokens {
			t.Errorf("%s: the program counted %+v, the gateway %+v", e.name, r.Agent.Tokens, r.Model.Tokens)
		}
		if e.want == assay.InfraFail && r.Model.Replies != 0 {
			t.Errorf("%s: %d replies", e.name, r.Model.Replies)
		}
		metered = metered.Add(r.Model.Tokens)
		if own := p.ownTranscripts(r); e.want == assay.Passed && len(own) == 0 && a.name != agent.Opencode { // which has a database
			t.Errorf("%s: no transcript of the program's own is kept", e.name)
		}
	}
	if served := server.Served(); metered != served.Tokens {
		t.Errorf("metered %+v, served %+v", metered, served.Tokens)
	}
}

// TestRealSubagents: what a subagent did is in its own transcript, kept with
// the attempt, and its tokens are counted once, by the gateway. Where the
// program's own figure leaves them out, the report shows both.
func TestRealSubagents(t *testing.T) {
	needDocker(t)
	for _, tt := range []struct {
		agent, model, tool string
		transcript         string // of the subagent
		both               bool
	}{
		{agent.ClaudeCode, "claude-sonnet-4-5", "Task", "agent/.claude/projects/*/*/subagents/*.jsonl", false},
		{agent.Opencode, "claude-sonnet-4-5", "task", "", true},
	} {
		t.Run(tt.agent, func(t *testing.T) {
			server := model.New(t, func(req model.Request, n int) model.Reply {
				switch {
				case strings.Contains(req.First, "write the word"):
					return model.Replies(model.Bash("echo hello > hello.txt"), model.Text("It is written."))(req, n)
				case n == 0 && len(req.Tools) > 0:
					return model.Tool(tt.tool, map[string]any{"description": "write", "prompt": "write the word", "subagent_type": map[string]string{"Task": "general-purpose", "task": "general"}[tt.tool], "run_in_background": false})
				}
				return model.Text("Done.")
			})
			p := newPerson(t, "ANTHROPIC_BASE_URL="+server.URL, "ANTHROPIC_API_KEY="+realKey)
			p.programKits()
			p.caseSuite()
			s := p.types("run", "--tasks", "cases", "--task", "solves", "--agents", tt.agent, "--models", tt.model, "--sandbox", "docker", "--retries", "0", "--out", "r")
			r, served := p.results("r")[tt.agent+" solves"], server.Served()
			if r.Outcome != assay.Passed || served.Replies != 4 || r.Model.Tokens != served.Tokens || r.Model.Replies != served.Replies {
				t.Errorf("%s (%s), the gateway counted %+v, served %+v\n%s%s", r.Outcome, r.Detail, r.Model, served, s.out, s.err)
			}
			if got := r.Agent.Tokens != r.Model.Tokens; got != tt.both || strings.Contains(s.out, "400 (200)") != tt.both {
				t.Errorf("the program counted %+v, the gateway %+v\n%s", r.Agent.Tokens, r.Model.Tokens, s.out)
			}
			if tt.transcript == "" {
				return
			}
			found, err := filepath.Glob(filepath.Join(p.attempt("r", r), tt.transcript))
			if err != nil || len(found) != 1 || !strings.Contains(read(t, found[0]), "write the word") {
				t.Errorf("transcripts of subagents: %v %v", found, err)
			}
			p.noneLeft("r")
		})
	}
}
