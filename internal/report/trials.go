package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/assaybot/assay/internal/assay"
)

// collect groups attempts into trials, adds planned trials that never ran and
// cells that couldn't, and orders all by name. stray counts attempts of trials
// outside of the plan.
func collect(in Input) (trials []Trial, absent []Absent, stray int) {
	attempts := map[string][]assay.Result{}
	about := map[string]assay.Trial{}
	for _, t := range in.Planned {
		about[trialID(t)] = t
	}
	for _, r := range in.Results {
		id := trialID(r.Trial)
		if _, ok := about[id]; !ok {
			if len(in.Planned) > 0 {
				stray++
				continue
			}
			about[id] = r.Trial
		}
		attempts[id] = append(attempts[id], r)
	}
	cells, whyNot := []assay.Unrunnable{}, map[string]assay.Unrunnable{}
	for _, u := range in.NotRun {
		if u.Trial == "" {
			cells = append(cells, u)
			continue
		}
		whyNot[u.Trial] = u
	}
	for _, id := range slices.Sorted(maps.Keys(about)) {
		t := newTrial(id, about[id], attempts[id], in.Modes)
		if t.Outcome == assay.NotRun {
			why := whyNot[id]
			t.Detail = cmp.Or(t.Detail, why.Reason)
			absent = append(absent, Absent{ID: id, Key: t.Key, Repeat: t.Repeat, Reason: reason(t), Kind: why.Kind})
		}
		trials = append(trials, t)
	}
	trials, absent = addUnrunnable(trials, absent, cells)
	slices.SortFunc(trials, byName)
	slices.SortFunc(absent, func(a, b Absent) int {
		return cmp.Or(a.compare(b.Key), cmp.Compare(a.Repeat, b.Repeat), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Reason, b.Reason))
	})
	return trials, absent, stray
}

func reason(t Trial) string { return cmp.Or(t.Detail, "planned, no attempt was made") }

// trialID is t's own ID, or its digest where a result was written without.
func trialID(t assay.Trial) string { return cmp.Or(t.ID, assay.TrialID(t)) }

func keyOf(t assay.Trial) Key {
	return Key{Task: t.Task, Agent: t.Agent.Key(), Model: t.Model, Effort: t.Effort, Variant: t.Variant}
}

// compare orders keys by task, agent, model, effort and variant; the baseline
// stands before the other variants.
func (k Key) compare(o Key) int {
	base := func(v string) int {
		if v == assay.Baseline {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(k.Task, o.Task), cmp.Compare(k.Agent, o.Agent), cmp.Compare(k.Model, o.Model),
		cmp.Compare(k.Effort, o.Effort), cmp.Compare(base(k.Variant), base(o.Variant)), cmp.Compare(k.Variant, o.Variant))
}

func byName(a, b Trial) int {
	return cmp.Or(a.compare(b.Key), cmp.Compare(a.Repeat, b.Repeat), cmp.Compare(a.ID, b.ID))
}

// newTrial picks the attempt that counts, the last one within the rate, else
// the last one, and adds up the infrastructure's.
func newTrial(id string, about assay.Trial, attempts []assay.Result, modes map[string][]assay.Mode) Trial {
	t := Trial{ID: id, Key: keyOf(about), Version: about.Agent.Version, Repeat: about.Repeat,
		Outcome: assay.NotRun, Attempts: len(attempts)}
	slices.SortStableFunc(attempts, func(a, b assay.Result) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), a.Started.Compare(b.Started))
	})
	if at := counting(attempts); at >= 0 {
		t.take(attempts[at])
		t.Modes = modes[ModeKey(attempts[at])]
	}
	for _, r := range attempts {
		if r.Outcome == assay.InfraFail || r.Outcome == assay.Cancelled {
			t.Lost.add(lostTo(r))
		}
	}
	return t
}

func counting(attempts []assay.Result) int {
	at := len(attempts) - 1
	for i, r := range attempts {
		if r.Outcome.InRate() {
			at = i
		}
	}
	return at
}

// take fills t from its counting attempt. What an infra attempt used stands
// in Lost only.
func (t *Trial) take(r assay.Result) {
	t.Outcome, t.Limit, t.Infra, t.Detail = known(r.Outcome), r.Limit, r.Infra, r.Detail
	t.Resolved = r.Outcome == assay.Passed
	t.Attempt, t.Score, t.checks = r.Attempt, finite(r.Score), r.Checks
	t.Version = cmp.Or(r.Agent.Version, t.Version)
	t.Gateway = r.Model.Seen
	if r.Outcome.InRate() {
		t.Turns, t.Tokens, t.Program = r.Agent.Turns, r.Spent(), r.Agent.Tokens
		t.Cost, t.Seconds = costOf(r), wall(r)
	}
}

// known maps an outcome that this version doesn't know to infra: such a
// result can't be counted for or against an agent.
func known(o assay.Outcome) assay.Outcome {
	if slices.Contains(assay.Outcomes(), o) {
		return o
	}
	return assay.InfraFail
}

func lostTo(r assay.Result) Lost {
	return Lost{Attempts: 1, Tokens: r.Spent(), Cost: costOf(r), Seconds: wall(r)}
}

// costOf is unknown only where a model was used without a price; what part of
// it was priced is kept as a lower bound.
func costOf(r assay.Result) Money {
	usd, ok := r.Cost()
	switch {
	case ok:
		return Money{USD: finite(usd), Known: 1}
	case r.Trial.Model != "" || r.Spent().Total() > 0 || r.Model.Calls > 0:
		return Money{USD: max(finite(usd), finite(r.Model.CostUSD)), Unknown: 1}
	}
	return Money{}
}

func wall(r assay.Result) float64 {
	if r.Started.IsZero() || r.Finished.Before(r.Started) {
		return 0
	}
	return r.Finished.Sub(r.Started).Seconds()
}

func (m *Money) add(o Money) {
	m.USD, m.Known, m.Unknown = m.USD+o.USD, m.Known+o.Known, m.Unknown+o.Unknown
}

func (l *Lost) add(o Lost) {
	l.Attempts += o.Attempts
	l.Tokens = l.Tokens.Add(o.Tokens)
	l.Cost.add(o.Cost)
	l.Seconds += o.Seconds
}

// addUnrunnable turns each cell that couldn't be planned into trials that
// didn't run. A task that is broken for all agents counts once for every row
// and repeat that the plan has; a cell of one agent counts once.
func addUnrunnable(trials []Trial, absent []Absent, cells []assay.Unrunnable) ([]Trial, []Absent) {
	repeats, first := map[Key]int{}, firstRepeat(trials)
	for _, t := range trials {
		k := withoutTask(t.Key)
		repeats[k] = max(repeats[k], t.Repeat+1-first)
	}
	rows := slices.SortedFunc(maps.Keys(repeats), Key.compare)
	n := 0
	for _, u := range cells {
		for _, k := range cellsOf(u, rows) {
			k.Task = u.Task
			times := 1
			if u.Agent == "" {
				times = max(repeats[withoutTask(k)], 1)
			}
			for i := range times {
				n++
				id := fmt.Sprintf("not-run-%d", n)
				trials = append(trials, Trial{ID: id, Key: k, Repeat: first + i, Outcome: assay.NotRun, Detail: u.Reason})
			}
			absent = append(absent, Absent{Key: k, Reason: u.Reason})
		}
	}
	return trials, absent
}

// firstRepeat is the number of the first repeat: plans may count from 0 or 1.
func firstRepeat(trials []Trial) int {
	first := math.MaxInt
	for _, t := range trials {
		first = min(first, t.Repeat)
	}
	if first == math.MaxInt {
		return 0
	}
	return first
}

func withoutTask(k Key) Key { k.Task = ""; return k }

// cellsOf lists the rows that u is about; where there is no single one for
// the agent that u names, u gets a row of its own.
func cellsOf(u assay.Unrunnable, rows []Key) []Key {
	var out []Key
	for _, k := range rows {
		if (u.Agent == "" || u.Agent == k.Agent) && (u.Variant == "" || u.Variant == k.Variant) {
			out = append(out, k)
		}
	}
	if len(out) == 0 || u.Agent != "" && len(out) > 1 {
		return []Key{{Agent: u.Agent, Variant: u.Variant}}
	}
	return out
}

// finite is x, or 0 for what can't stand in a file.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// round cuts x to six decimals, so that no processor's last bit shows.
func round(x float64) float64 { return math.Round(finite(x)*1e6) / 1e6 }
