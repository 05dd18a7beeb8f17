package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/stat"
)

// Build makes the report of in. It can't fail: what is missing or broken is
// part of what it says.
func Build(in Input) Report {
	trials, absent, stray := collect(in)
	if trials == nil {
		trials = []Trial{}
	}
	r := Report{
		Schema: Schema, Title: cmp.Or(in.Title, "assay report"), Suite: in.SuiteDigest,
		Problems: in.Problems.Sorted(), NotRun: absent, Trials: trials,
	}
	r.Totals = rowOf(Key{}, trials)
	r.Headline = rows(trials, withoutTask)
	r.ByTask = rows(trials, func(k Key) Key { return Key{Task: k.Task} })
	r.ByVariant = rows(trials, func(k Key) Key { return Key{Variant: k.Variant} })
	r.ByModel = rows(trials, func(k Key) Key { return Key{Model: k.Model} })
	r.ByAgent = rows(trials, func(k Key) Key { return Key{Agent: k.Agent} })
	for i := range r.ByTask {
		if s, ok := in.Strength[r.ByTask[i].Task]; ok {
			s.Share = round(s.Share)
			r.ByTask[i].Strength = &s
		}
	}
	groups := group(trials, withoutTask)
	for _, row := range r.Headline {
		r.Repeated = append(r.Repeated, repeated(row.Key, groups[row.Key])...)
	}
	r.Differences = differences(r.Headline, groups)
	for _, t := range trials {
		if t.Outcome != assay.Passed && t.Outcome != assay.NotRun {
			r.Misses = append(r.Misses, missOf(t))
		}
	}
	r.say(stray)
	roundTrials(r.Trials)
	return r
}

// say fills the words: is anything missing, and what to bear in mind.
func (r *Report) say(stray int) {
	o, ran := r.Totals.Outcomes, r.Totals.N
	var missing []string
	for _, m := range []struct {
		what assay.Outcome
		word string
	}{{assay.InfraFail, "infra"}, {assay.Cancelled, "cancelled"}, {assay.NotRun, "not run"}} {
		if o[m.what] > 0 {
			missing = append(missing, fmt.Sprintf("%d %s", o[m.what], m.word))
		}
	}
	r.Complete = len(missing) == 0 && r.Totals.Trials > 0
	r.Summary = fmt.Sprintf("%d/%d ran", ran, r.Totals.Trials)
	switch {
	case r.Totals.Trials == 0:
		r.Summary = "nothing ran: no trials and no results"
	case len(missing) > 0:
		r.Summary += "; " + strings.Join(missing, ", ")
		r.note("Incomplete: the rates leave out %s; worst and best say what they could have changed.", strings.Join(missing, ", "))
	}
	if n := len(r.Problems); n > 0 {
		r.Complete = false
		r.note("%s could not be read or used, see Problems.", count(n, "file", "files"))
	}
	if stray > 0 {
		r.note("%s of trials outside of the plan left out.", count(stray, "attempt", "attempts"))
	}
	if u := r.Totals.Cost.Unknown; u > 0 {
		r.note("%s had no known price; sums marked ≥ are lower bounds.", count(u, "trial", "trials"))
	}
	if r.Totals.Differ {
		r.note("Gateway and program counted tokens differently; both are shown, the gateway's count is used.")
	}
	if few(r.Headline) {
		r.note("Fewer than %d tasks: intervals marked ! are rough.", stat.FewClusters)
	}
	if n := len(r.Differences); n > 1 {
		r.note("%d comparisons are not adjusted for their number; expect one in 20 to stand out by chance.", n)
	}
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func few(rows []Row) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Rate.Few })
}

// group gathers trials by the part of their key that by keeps.
func group(trials []Trial, by func(Key) Key) map[Key][]Trial {
	out := map[Key][]Trial{}
	for _, t := range trials {
		k := by(t.Key)
		out[k] = append(out[k], t)
	}
	return out
}

func rows(trials []Trial, by func(Key) Key) []Row {
	groups := group(trials, by)
	out := make([]Row, 0, len(groups))
	for _, k := range slices.SortedFunc(maps.Keys(groups), Key.compare) {
		out = append(out, rowOf(k, groups[k]))
	}
	return out
}

// rowOf adds up trials, which are in the order of names.
func rowOf(k Key, trials []Trial) Row {
	row := Row{Key: k, Trials: len(trials), Outcomes: map[assay.Outcome]int{}}
	tasks := map[string]bool{}
	for _, t := range trials {
		tasks[t.Task] = true
		row.Outcomes[t.Outcome]++
		row.Lost.add(t.Lost)
		if t.Outcome.InRate() {
			row.add(t)
		}
	}
	row.Tasks = len(tasks)
	row.finish(clusters(trials))
	return row
}

func (row *Row) add(t Trial) {
	row.N++
	if t.Resolved {
		row.Resolved++
	}
	row.Score += t.Score
	row.Turns += float64(t.Turns)
	row.Seconds += t.Seconds
	row.Tokens = row.Tokens.Add(t.Tokens)
	row.Program = row.Program.Add(t.Program)
	row.Differ = row.Differ || t.Gateway && t.Program.Total() > 0 && t.Program != t.Tokens
	row.Cost.add(t.Cost)
}

// finish turns sums into means and makes the interval: over tasks where some
// task was tried more than once, else Wilson's.
func (row *Row) finish(cs []stat.Cluster) {
	row.Rate = stat.Rate(row.Resolved, row.N)
	if row.Task == "" && slices.ContainsFunc(cs, func(c stat.Cluster) bool { return c.N > 1 }) {
		row.Rate = stat.ClusterMean(cs)
	}
	row.Worst, row.Best = stat.Bounds(row.Resolved, row.N, row.Trials-row.N)
	if row.N > 0 {
		n := float64(row.N)
		row.Score, row.Turns, row.Seconds = row.Score/n, row.Turns/n, row.Seconds/n
	}
	row.Rate = roundInterval(row.Rate)
	for _, x := range []*float64{&row.Worst, &row.Best, &row.Score, &row.Turns, &row.Seconds,
		&row.Cost.USD, &row.Lost.Cost.USD, &row.Lost.Seconds} {
		*x = round(*x)
	}
}

func roundInterval(i stat.Interval) stat.Interval {
	i.Mean, i.Lo, i.Hi = round(i.Mean), round(i.Lo), round(i.Hi)
	return i
}

func roundTrials(trials []Trial) {
	for i := range trials {
		t := &trials[i]
		for _, x := range []*float64{&t.Score, &t.Seconds, &t.Cost.USD, &t.Lost.Cost.USD, &t.Lost.Seconds} {
			*x = round(*x)
		}
	}
}

// clusters counts passes by task, in the order of names.
func clusters(trials []Trial) []stat.Cluster {
	byTask := tasksOf(trials)
	out := make([]stat.Cluster, 0, len(byTask))
	for _, name := range sortedKeys(byTask) {
		out = append(out, byTask[name])
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func tasksOf(trials []Trial) map[string]stat.Cluster {
	out := map[string]stat.Cluster{}
	for _, t := range trials {
		if t.Outcome.InRate() {
			c := out[t.Task]
			c.N++
			if t.Resolved {
				c.Sum++
			}
			out[t.Task] = c
		}
	}
	return out
}
