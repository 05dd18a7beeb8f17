package plan

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

func trials(n int) []assay.Trial {
	out := make([]assay.Trial, n)
	for i := range out {
		out[i] = assay.Trial{ID: fmt.Sprintf("t%03d", i), Task: fmt.Sprintf("task%d", i), Agent: assay.AgentSpec{Name: "nop"}}
	}
	return out
}

func even(seconds float64) func(assay.Trial) Expected {
	return func(assay.Trial) Expected { return Expected{Seconds: seconds} }
}

// Row 29: more tasks than a matrix has jobs.
func TestRow29MoreTrialsThanJobs(t *testing.T) {
	for _, n := range []int{1, 255, 256, 257, 288, 5000} {
		parts, err := Split(trials(n), even(3600), Cut{Seconds: 60})
		if err != nil {
			t.Fatal(err)
		}
		if len(parts) > MaxShards || MaxShards >= 256 {
			t.Errorf("%d trials: %d parts", n, len(parts))
		}
		seen := map[string]int{}
		for _, p := range parts {
			if len(p.Trials) == 0 {
				t.Errorf("%d trials: part %s is empty", n, p.Name())
			}
			for _, id := range p.Trials {
				seen[id]++
			}
		}
		if len(seen) != n {
			t.Errorf("%d of %d trials are planned", len(seen), n)
		}
		for id, k := range seen {
			if k != 1 {
				t.Errorf("%s is planned %d times", id, k)
			}
		}
	}
	if _, err := Split(trials(3), even(1), Cut{Most: 257}); !assay.IsUser(err) {
		t.Errorf("257 shards: %v", err)
	}
}

// Row 28: an empty matrix is an error of GitHub's.
func TestRow28NothingToDoIsNoShard(t *testing.T) {
	parts, err := Split(nil, even(1), Cut{Seconds: 60, BudgetUSD: 3})
	if err != nil || len(parts) != 0 {
		t.Errorf("got %v, %v", parts, err)
	}
}

func TestSplitIsEvenAndDeterministic(t *testing.T) {
	ts := trials(40)
	expect := func(t assay.Trial) Expected {
		var i int
		_, _ = fmt.Sscanf(t.ID, "t%d", &i)
		return Expected{Seconds: float64(10 + i*i%97), USD: float64(i) / 100, Priced: true}
	}
	a, err := Split(ts, expect, Cut{Seconds: 300, BudgetUSD: 10})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := Split(ts, expect, Cut{Seconds: 300, BudgetUSD: 10})
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("differs from itself: %s", d)
	}
	low, high, sum := math.Inf(1), 0.0, 0.0
	for _, p := range a {
		low, high, sum = min(low, p.Seconds), max(high, p.Seconds), sum+p.BudgetUSD
		if !slices.IsSorted(p.Trials) {
			t.Errorf("part %s isn't in the plan's order", p.Name())
		}
	}
	if len(a) < 4 || high-low > 50 {
		t.Errorf("%d parts of %v to %v seconds", len(a), low, high)
	}
	if sum > 10 || sum < 9 {
		t.Errorf("the budgets add up to %v of 10", sum)
	}
}

func TestMemory(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := func(task, variant string, o assay.Outcome, seconds int, usd float64) assay.Result {
		return assay.Result{
			Trial:   assay.Trial{Task: task, Variant: variant, Agent: assay.AgentSpec{Name: "claude-code"}, Model: "m"},
			Outcome: o, Started: at, Finished: at.Add(time.Duration(seconds) * time.Second),
			Agent: assay.AgentFacts{CostUSD: usd, CostKnown: usd > 0},
		}
	}
	m := Learn([]assay.Result{
		r("a", "baseline", assay.Passed, 100, 1), r("a", "baseline", assay.Failed, 300, 3),
		r("a", "terse", assay.Passed, 40, 0), r("a", "terse", assay.InfraFail, 9000, 9),
	})
	tests := []struct {
		name string
		in   assay.Trial
		want Expected
	}{
		{"exact", r("a", "baseline", "", 0, 0).Trial, Expected{200, 2, true}},
		{"exact without a price", r("a", "terse", "", 0, 0).Trial, Expected{40, 0, false}},
		{"another variant", r("a", "new", "", 0, 0).Trial, Expected{100, 2, true}},
		{"another task", r("b", "baseline", "", 0, 0).Trial, Expected{100, 2, true}},
		{"another agent", assay.Trial{Agent: assay.AgentSpec{Name: "codex"}}, Expected{Seconds: DefaultSeconds}},
		{"with a short limit", assay.Trial{Limits: assay.Limits{TimeoutSec: 20}}, Expected{Seconds: 20}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, m.Of(tt.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOnly(t *testing.T) {
	p := assay.Plan{Trials: trials(4)}
	got, err := Only(p, []string{"t003", "t001"})
	if err != nil || len(got.Trials) != 2 || got.Trials[0].ID != "t001" {
		t.Errorf("got %v, %v", got.Trials, err)
	}
	if _, err := Only(p, []string{"t001", "gone"}); !assay.IsUser(err) {
		t.Errorf("a missing trial: %v", err)
	}
}
