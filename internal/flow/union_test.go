package flow

import (
	"testing"

	"github.com/assaybot/assay/internal/assay"
)

// Two versions of a task in one folder must not share a rate.
func TestMining40AChangedTaskSupersedesItsTrials(t *testing.T) {
	trial := func(task, digest, agent string, repeat int) assay.Trial {
		x := assay.Trial{Task: task, TaskDigest: digest, Agent: assay.AgentSpec{Name: agent}, Repeat: repeat, Variant: assay.Baseline}
		x.ID = assay.TrialID(x)
		return x
	}
	old := assay.Plan{Trials: []assay.Trial{
		trial("a", "1", "oracle", 1), trial("a", "1", "oracle", 2), // a is another task now
		trial("b", "1", "nop", 1),    // not asked for again: stays
		trial("c", "1", "oracle", 1), // the same again
	}}
	now := assay.Plan{Trials: []assay.Trial{trial("a", "2", "oracle", 1), trial("c", "1", "oracle", 1)}}
	got := union(old, now).Trials
	want := []string{now.Trials[0].ID, now.Trials[1].ID, old.Trials[2].ID}
	if len(got) != len(want) {
		t.Fatalf("%d trials, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i].ID != want[i] {
			t.Errorf("trial %d is %+v", i, got[i])
		}
	}
}

func TestALimitThatChangedSupersedesToo(t *testing.T) {
	x := assay.Trial{Task: "a", Agent: assay.AgentSpec{Name: "nop"}, Repeat: 1}
	y := x
	y.Limits.TimeoutSec = 5
	x.ID, y.ID = assay.TrialID(x), assay.TrialID(y)
	if got := union(assay.Plan{Trials: []assay.Trial{x}}, assay.Plan{Trials: []assay.Trial{y}}).Trials; len(got) != 1 || got[0].ID != y.ID {
		t.Errorf("%+v", got)
	}
}
