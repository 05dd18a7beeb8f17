package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/ledger"
)

const solves = "agents: [{name: command, label: solves, command: [sh, -c, \"printf 'def total(prices):\\\\n    return sum(prices)\\\\n' > shop/cart.py\"]}]\n"

// notRun are the reasons of a plan's trials that were not run, by agent.
func (p *person) notRun(dir string) map[string]assay.Unrunnable {
	p.t.Helper()
	l, err := ledger.OpenRead(p.path(dir))
	if err != nil {
		p.t.Fatal(err)
	}
	plan, err := l.Plan()
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]assay.Unrunnable{}
	for _, u := range plan.NotRun {
		out[u.Agent] = u
	}
	return out
}

// TestMining26And41GoldFailsOnThisMachine: a task whose reference doesn't pass here is
// left out of the batch, with its reason beside the rate; once the machine is
// mended, the same command goes on. And a machine with less than the task
// needs refuses it.
func TestMining26And41GoldFailsOnThisMachine(t *testing.T) {
	needs(t)
	p := minedProjects()[0].build(t)
	p.must(0, "validate", "mined", "--sandbox", "local", "--repeats", "1", "--hunks", "0")
	p.write("run.yml", "tasks: mined\nsandbox: local\nout: r\n"+solves)
	run := []string{"run", "--config", "run.yml"}
	whole := p.env

	p.must(0, append(run, "--preflight", "never", "--out", "r-never")...)
	p.env = append(slices.Clone(whole), "PATH="+p.path("shadow")+":"+pathOf(p.env))
	p.breakPython()
	s := p.must(1, run...)
	u := p.notRun("r")["solves"]
	if u.Kind != assay.ReasonGoldFailsHere || len(p.results("r")) != 0 || !strings.Contains(s.out, "gold_fails_here: the reference solution doesn't pass on this machine") {
		t.Fatalf("%+v %v\n%s", u, p.results("r"), s.out)
	}
	if s := p.must(1, run...); !strings.Contains(s.err, "(1 known from today)") {
		t.Errorf("it was tried again: %s", s.err)
	}
	p.env = whole
	if s := p.must(0, run...); !strings.Contains(s.err, "of 1 tasks were tried on this machine (0 known") || p.results("r")["solves pull-2"].Outcome != assay.Passed {
		t.Errorf("%v\n%s", p.results("r"), s.err)
	}
	if s := p.must(0, append(run, "--out", "r2")...); !strings.Contains(s.err, "(1 known from today)") {
		t.Errorf("the next run tried it again: %s", s.err)
	}
	if left := p.notRun("r"); len(left) > 0 {
		t.Errorf("reasons are kept although the trial ran: %v", left)
	}

	task := p.task("mined/pull-2")
	task.Validation.Needs.MemoryMB = 1 << 30
	p.writeJSON("mined/pull-2/task.json", task)
	p.must(1, append(run, "--out", "r3")...)
	if u := p.notRun("r3")["solves"]; u.Kind != assay.ReasonTooSmall || !strings.Contains(u.Reason, "needed 1073741824 MB") {
		t.Errorf("%+v", u)
	}
}

// TestPreflightByTheRunsOwnOracle: where the oracle is an agent of the run,
// its trial comes first and is the preflight.
func TestPreflightByTheRunsOwnOracle(t *testing.T) {
	needs(t)
	p := minedProjects()[0].build(t)
	p.must(0, "validate", "mined", "--sandbox", "local", "--repeats", "1", "--hunks", "0")
	p.write("run.yml", "tasks: mined\nsandbox: local\nout: r\n"+strings.Replace(solves, "[{", "[oracle, {", 1))
	p.breakPython()
	good := p.env
	p.env = append(slices.Clone(good), "PATH="+p.path("shadow")+":"+pathOf(p.env))
	s := p.must(1, "run", "--config", "run.yml")
	got := p.results("r")
	if len(got) != 1 || got["oracle pull-2"].Outcome != assay.Failed || p.notRun("r")["solves"].Kind != assay.ReasonGoldFailsHere || strings.Contains(s.err, "preflight:") {
		t.Errorf("%v %v\n%s", got, p.notRun("r"), s.err)
	}
	p.env = good
	s = p.must(0, "run", "--config", "run.yml", "--out", "r2")
	if got := p.results("r2"); len(got) != 2 || got["solves pull-2"].Outcome != assay.Passed || strings.Contains(s.err, "preflight:") {
		t.Errorf("%v\n%s", got, s.err)
	}
}

func needs(t *testing.T) {
	t.Helper()
	need(t, "python", has(t, "python", "python3"), "needs python3")
}

// breakPython makes a folder whose python3 can't run anything.
func (p *person) breakPython() {
	p.t.Helper()
	p.write("shadow/python3", "#!/bin/sh\nexit 1\n")
	if err := os.Chmod(p.path("shadow/python3"), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

func pathOf(env []string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			return v
		}
	}
	return ""
}
