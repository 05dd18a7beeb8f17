package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

func task(id string) TaskRef {
	return TaskRef{Task: assay.Task{ID: id, Limits: assay.Limits{TimeoutSec: 60}}, Digest: "d-" + id}
}

func uses(agent string) bool { return agent == "claude-code" }

func input() Input {
	return Input{
		Tasks:    []TaskRef{task("a"), task("b"), {Task: assay.Task{ID: "bad"}, Broken: "task.json:3: unknown field"}},
		Variants: []VariantRef{{Name: "baseline"}, {Name: "terse", Digest: "v"}},
		Request: assay.Request{
			Agents: []assay.AgentSpec{{Name: "oracle"}, {Name: "claude-code"}},
			Models: []string{"m1", "m2", "m1"}, Efforts: []string{"low", "high"}, Repeats: 2,
			Limits: assay.Limits{MaxTurns: 7},
		},
		Uses: uses,
	}
}

func TestMakeMultiplies(t *testing.T) {
	p, err := Make(input())
	if err != nil {
		t.Fatal(err)
	}
	// 2 tasks x 2 variants x (1 oracle + 2 models x 2 efforts) x 2 repeats
	if got := len(p.Trials); got != 40 {
		t.Errorf("%d trials, want 40", got)
	}
	want := []assay.Unrunnable{{Task: "bad", Reason: "task.json:3: unknown field"}}
	if d := cmp.Diff(want, p.NotRun); d != "" {
		t.Error(d)
	}
	ids := map[string]bool{}
	for i, tr := range p.Trials {
		ids[tr.ID] = true
		if want := 1 + i/20; tr.Repeat != want {
			t.Errorf("trial %d is repeat %d, want %d: repeats come interleaved", i, tr.Repeat, want)
		}
		if tr.Agent.Name == "oracle" && tr.Model+tr.Effort != "" {
			t.Errorf("the oracle has model %q, effort %q", tr.Model, tr.Effort)
		}
	}
	if len(ids) != 40 {
		t.Errorf("%d distinct IDs, want 40", len(ids))
	}
	first := p.Trials[0]
	if first.Limits.TimeoutSec != 60 || first.Limits.MaxTurns != 7 || first.Limits.IdleSec != 600 {
		t.Errorf("limits are not request over task over default: %+v", first.Limits)
	}
	if first.Sandbox != DefaultSandbox {
		t.Errorf("sandbox %q", first.Sandbox)
	}
	again, _ := Make(input())
	if d := cmp.Diff(p, again); d != "" {
		t.Error("the second plan differs:", d)
	}
}

func TestMakeTellsAllFaultsOnce(t *testing.T) {
	in := input()
	in.Request.Agents = append(in.Request.Agents, assay.AgentSpec{Name: "oracle"})
	in.Check = func(tr assay.Trial) (ps assay.Problems) {
		if tr.Effort == "high" {
			ps.Addf("", 0, "%s knows no effort %q", tr.Agent.Name, tr.Effort)
		}
		if tr.Model == "m2" {
			ps.Addf("", 0, "no model %q", tr.Model)
		}
		return ps
	}
	_, err := Make(in)
	if !assay.IsUser(err) {
		t.Fatalf("%v is no user error", err)
	}
	want := []string{`two agents are called "oracle"`, `no model "m2"`, `knows no effort "high"`}
	for _, w := range want {
		if strings.Count(err.Error(), w) != 1 {
			t.Errorf("%q stands %d times in:\n%v", w, strings.Count(err.Error(), w), err)
		}
	}
}

func TestMakeDefaults(t *testing.T) {
	p, err := Make(Input{Tasks: []TaskRef{task("a")}, Request: assay.Request{Agents: []assay.AgentSpec{{Name: "x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Trials) != 1 || p.Trials[0].Variant != assay.Baseline || p.Trials[0].Repeat != 1 {
		t.Errorf("%+v", p.Trials)
	}
	if _, err := Make(Input{}); !assay.IsUser(err) {
		t.Errorf("a plan without agents gave %v", err)
	}
}

func TestShardsAreThePlan(t *testing.T) {
	p, _ := Make(input())
	seen := map[string]int{}
	notRun := 0
	for i := range 3 {
		s, err := Shard(p, i, 3)
		if err != nil {
			t.Fatal(err)
		}
		notRun += len(s.NotRun)
		for _, tr := range s.Trials {
			seen[tr.ID]++
		}
	}
	if len(seen) != len(p.Trials) || notRun != 1 {
		t.Errorf("%d trials and %d not run in all shards", len(seen), notRun)
	}
	for _, bad := range [][2]int{{3, 3}, {-1, 2}, {0, 0}} {
		if _, err := Shard(p, bad[0], bad[1]); err == nil {
			t.Error(fmt.Sprint(bad), "was accepted")
		}
	}
}
