package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/assaybot/assay/internal/assay"
)

// attack is one script of testdata/hostile/attacks.txtar, whose first lines
// tell what these fields mean.
type attack struct {
	name, script string
	on           []string
	docker       bool
	want         []assay.Outcome
	says         string
}

// attacks reads the battery. host is the path that must never come to be.
func attacks(t *testing.T, file, host string) []attack {
	t.Helper()
	a, err := txtar.ParseFile("testdata/hostile/" + file)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]attack, 0, len(a.Files))
	for _, f := range a.Files {
		x := attack{name: f.Name, script: strings.ReplaceAll(string(f.Data), "@HOST@", host),
			on: []string{"calc"}, want: []assay.Outcome{assay.Failed, assay.Integrity}}
		for line := range strings.Lines(x.script) {
			if words, ok := strings.CutPrefix(line, "#: "); ok {
				x.expect(t, strings.TrimSpace(words))
			}
		}
		out = append(out, x)
	}
	return out
}

func (x *attack) expect(t *testing.T, line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "on":
		x.on = strings.Fields(rest)
	case "docker":
		x.docker = true
	case "integrity":
		x.want = []assay.Outcome{assay.Integrity}
	case "says":
		x.says = rest
	default:
		t.Errorf("%s: what is %q?", x.name, line)
	}
}

// hostileMarker is on the command line of the battery's daemons.
const hostileMarker = "86398.5"

// TestHostileAgents: whatever an agent does in place of solving, its attempt
// ends as failed or integrity with the evidence named, no trial beside it
// suffers, and this machine stays as it was. The reference passes in the same
// run, so that none of it is for want of a task that can be solved.
func TestHostileAgents(t *testing.T) {
	need(t, "python", has(t, "python", "python3"), "needs python3")
	sandboxes(t, func(t *testing.T, sandbox string) {
		p := newPerson(t)
		if err := unpack("testdata/hostile/suite.txtar", p.path("hostile")); err != nil {
			t.Fatal(err)
		}
		all := attacks(t, "attacks.txtar", p.path("pwned"))
		if len(all) < 60 {
			t.Errorf("%d attacks are left of the battery", len(all))
		}
		for _, task := range []string{"calc", "shell", "pytest"} {
			if task != "pytest" || sandbox == "docker" { // not every machine has pytest
				t.Run(task, func(t *testing.T) { hostileTask(t, p, all, task, sandbox) })
			}
		}
		if _, err := os.Lstat(p.path("pwned")); err == nil {
			t.Error("an agent's program ran on this machine, outside of its box")
		}
		if left := processes(t, hostileMarker); len(left) > 0 {
			t.Errorf("still alive: %v", left)
		}
	})
}

// hostileTask tries all attacks on a task in one run.
func hostileTask(t *testing.T, person *person, all []attack, task, sandbox string) {
	p := *person
	p.t = t
	specs := []assay.AgentSpec{{Name: "oracle"}, {Name: "nop"}}
	var tried []attack
	for _, a := range all {
		if slices.Contains(a.on, task) && (!a.docker || sandbox == "docker") {
			tried = append(tried, a)
			specs = append(specs, assay.AgentSpec{Name: "command", Label: a.name, Command: []string{"sh", "-c", a.script}})
		}
	}
	out := sandbox + "-" + task
	p.writeJSON(out+".json", assay.Request{
		Tasks: "hostile", Task: []string{task}, Agents: specs, Out: out, Sandbox: sandbox, Jobs: 4,
	})
	answer := p.must(0, "run", "--config", out+".json")
	if task == "calc" && !strings.Contains(answer.out, "tests_tampered") {
		t.Errorf("the report doesn't say that tests were tampered with:\n%s", answer.out)
	}
	results := p.results(out)
	if len(results) != len(specs) {
		t.Errorf("%d results for %d agents", len(results), len(specs))
	}
	if r := results["oracle "+task]; r.Outcome != assay.Passed {
		t.Errorf("the reference: %s, %s", r.Outcome, r.Detail)
	}
	if r := results["nop "+task]; r.Outcome != assay.Failed {
		t.Errorf("nothing done: %s, %s", r.Outcome, r.Detail)
	}
	for _, a := range tried {
		t.Run(a.name, func(t *testing.T) { a.holds(t, results[a.name+" "+task]) })
	}
	if sandbox == "docker" {
		p.noneLeft(out)
	}
	if t.Failed() {
		t.Log(answer.err)
	}
}

// holds: the outcome is one of those allowed, and the evidence is in the
// result.
func (x attack) holds(t *testing.T, r assay.Result) {
	checks, err := json.Marshal(r.Checks)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(x.want, r.Outcome) || r.Resolved || r.Score != 0 {
		t.Errorf("%s (resolved %v), want %v: %s", r.Outcome, r.Resolved, x.want, r.Detail)
	}
	first, _, _ := strings.Cut(r.Detail, "\n")
	t.Logf("%s: %s", r.Outcome, first)
	evidence := r.Detail
	for _, c := range r.Checks {
		evidence += "\n" + c.Clause + "\n" + c.Detail
	}
	if x.says == "" || !strings.Contains(evidence, x.says) {
		t.Errorf("%q is not in the evidence: %s\n%s", x.says, r.Detail, checks)
	}
}

// TestKnownWins tells what the runner can't keep out, and proves that a check
// in another process does. Should the first part ever fail, the attack belongs
// to the battery.
func TestKnownWins(t *testing.T) {
	need(t, "python", has(t, "python", "python3"), "needs python3")
	p := newPerson(t)
	if err := unpack("testdata/hostile/suite.txtar", p.path("hostile")); err != nil {
		t.Fatal(err)
	}
	known := attacks(t, "known.txtar", "")
	specs := make([]assay.AgentSpec, 0, len(known))
	for _, a := range known {
		specs = append(specs, assay.AgentSpec{Name: "command", Label: a.name, Command: []string{"sh", "-c", a.script}})
	}
	p.writeJSON("known.json", assay.Request{
		Tasks: "hostile", Task: []string{"calc", "shell"}, Agents: specs, Out: "known", Sandbox: "local", Jobs: 2,
	})
	p.must(0, "run", "--config", "known.json")
	results := p.results("known")
	for _, a := range known {
		if r := results[a.name+" calc"]; r.Outcome == assay.Passed {
			t.Logf("still wins within one process: %s", a.name)
		} else {
			t.Errorf("%s: %s; it no longer wins: make it a part of the battery (%s)", a.name, r.Outcome, r.Detail)
		}
		if r := results[a.name+" shell"]; r.Outcome != assay.Failed {
			t.Errorf("%s on the shell's check: %s (%s)", a.name, r.Outcome, r.Detail)
		}
	}
}
