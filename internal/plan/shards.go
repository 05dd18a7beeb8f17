package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// MaxShards is the most parts that a plan is split into. GitHub runs at most
// 256 jobs of one matrix; the headroom is for jobs that people add.
const MaxShards = 240

// DefaultSeconds is expected of a trial that nobody has seen the like of.
const DefaultSeconds = 300.0

// Expected is what one trial is likely to take. Priced is false when the cost
// isn't known.
type Expected struct {
	Seconds float64
	USD     float64
	Priced  bool
}

// Memory is what earlier results teach about trials: the medians of the
// nearest cells that have any.
type Memory struct{ cells map[string][]sample }

type sample struct {
	seconds, usd float64
	priced       bool
}

// Learn makes a Memory of earlier results. Only results with a final outcome
// teach: an infrastructure failure took no trial's time.
func Learn(results []assay.Result) Memory {
	m := Memory{cells: map[string][]sample{}}
	for _, r := range results {
		seconds := r.Finished.Sub(r.Started).Seconds()
		if !r.Outcome.Final() || seconds < 0 {
			continue
		}
		usd, priced := r.Cost()
		for _, key := range likeness(r.Trial) {
			m.cells[key] = append(m.cells[key], sample{seconds, usd, priced})
		}
	}
	return m
}

// likeness are the names of the cells that a trial belongs to, nearest first.
func likeness(t assay.Trial) []string {
	agent := strings.Join([]string{t.Agent.Key(), t.Agent.Version, t.Model, t.Effort}, "\x00")
	return []string{
		"exact\x00" + agent + "\x00" + t.Task + "\x00" + t.Variant,
		"task\x00" + agent + "\x00" + t.Task,
		"agent\x00" + agent,
		"name\x00" + t.Agent.Name,
	}
}

// Of is what t is expected to take, never more than its own time limit and
// some minutes for the rest.
func (m Memory) Of(t assay.Trial) Expected {
	for _, key := range likeness(t) {
		if samples := m.cells[key]; len(samples) > 0 {
			return median(samples)
		}
	}
	e := Expected{Seconds: DefaultSeconds}
	if limit := float64(t.Limits.TimeoutSec); limit > 0 {
		e.Seconds = min(e.Seconds, limit)
	}
	return e
}

func median(in []sample) Expected {
	seconds, usd := make([]float64, 0, len(in)), make([]float64, 0, len(in))
	for _, s := range in {
		seconds = append(seconds, s.seconds)
		if s.priced {
			usd = append(usd, s.usd)
		}
	}
	e := Expected{Seconds: middle(seconds), Priced: len(usd) > 0}
	if e.Priced {
		e.USD = middle(usd)
	}
	return e
}

func middle(xs []float64) float64 {
	slices.Sort(xs)
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// Part is one machine's share of a plan. Index counts from 1. BudgetUSD is its
// share of the run's budget, 0 for no limit. Trials are IDs in the order of
// the plan.
type Part struct {
	Index     int      `json:"index"`
	Of        int      `json:"of"`
	Trials    []string `json:"trials"`
	Seconds   float64  `json:"expected_seconds"`
	USD       float64  `json:"expected_usd"`
	BudgetUSD float64  `json:"budget_usd,omitempty"`
}

// Name is the part as flags take it: "2/7".
func (p Part) Name() string { return fmt.Sprintf("%d/%d", p.Index, p.Of) }

// Cut says how a plan is split. Seconds is the time that one part should take
// (at least one trial), Most the most parts (0: MaxShards), BudgetUSD the
// budget of all together (0: none).
type Cut struct {
	Seconds   float64
	Most      int
	BudgetUSD float64
}

// Split shares trials among as many parts as Cut.Seconds asks for, so that all
// are expected to end at about the same time: the longest trial first, each to
// the part with least to do. The same input gives the same parts. No trials
// are no parts.
func Split(trials []assay.Trial, expect func(assay.Trial) Expected, c Cut) ([]Part, error) {
	most := cmp.Or(c.Most, MaxShards)
	if most < 1 || most > MaxShards {
		return nil, assay.Userf("a plan can be split into 1 to %d shards, not %d", MaxShards, most)
	}
	if len(trials) == 0 {
		return nil, nil
	}
	items, total := weigh(trials, expect)
	n := 1
	if c.Seconds > 0 {
		n = int(math.Ceil(total / c.Seconds))
	}
	parts := make([]Part, max(1, min(n, most, len(trials))))
	loads := make([][]item, len(parts))
	for _, it := range items {
		i := lightest(parts)
		loads[i] = append(loads[i], it)
		parts[i].Seconds += it.Seconds
		parts[i].USD += it.USD
	}
	for i := range parts {
		parts[i].Index, parts[i].Of = i+1, len(parts)
		slices.SortFunc(loads[i], func(a, b item) int { return cmp.Compare(a.at, b.at) })
		for _, it := range loads[i] {
			parts[i].Trials = append(parts[i].Trials, it.id)
		}
	}
	return budget(parts, c.BudgetUSD), nil
}

type item struct {
	Expected
	id string
	at int
}

// weigh sorts trials by expected time, longest first, equals as planned.
func weigh(trials []assay.Trial, expect func(assay.Trial) Expected) (items []item, total float64) {
	for i, t := range trials {
		it := item{Expected: expect(t), id: t.ID, at: i}
		total += it.Seconds
		items = append(items, it)
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return items, total
}

// lightest is the part with least to do, the first of equals.
func lightest(parts []Part) int {
	best := 0
	for i, p := range parts {
		if p.Seconds < parts[best].Seconds {
			best = i
		}
	}
	return best
}

// budget shares the run's budget by what parts are expected to cost, or by
// their trials where nobody knows: rounded down, so that together they are no more
// than it. 0 would mean no limit.
func budget(parts []Part, usd float64) []Part {
	if usd <= 0 {
		return parts
	}
	var cost, trials float64
	for _, p := range parts {
		cost += p.USD
		trials += float64(len(p.Trials))
	}
	for i, p := range parts {
		share := float64(len(p.Trials)) / trials
		if cost > 0 {
			// Half by cost: a part that was free so far may not stay so.
			share = share/2 + p.USD/cost/2
		}
		parts[i].BudgetUSD = math.Max(1e-4, math.Floor(usd*share*1e4)/1e4)
	}
	return parts
}

// Only is the part of p with the given trials, in p's order. Trials that p
// doesn't have are an error: the plan was made of other inputs.
func Only(p assay.Plan, ids []string) (assay.Plan, error) {
	want := map[string]bool{}
	for _, id := range ids {
		want[id] = true
	}
	var out assay.Plan
	for _, t := range p.Trials {
		if want[t.ID] {
			out.Trials = append(out.Trials, t)
			delete(want, t.ID)
		}
	}
	if len(want) > 0 {
		return out, assay.Userf("%d of the shard's %d trials don't exist here: tasks, variants, agents or the sandbox are others than when the plan was made", len(want), len(ids))
	}
	return out, nil
}
