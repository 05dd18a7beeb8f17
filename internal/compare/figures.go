package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/assaybot/assay/internal/stat"
)

// count fills the rates and their difference.
func (c *Comparison) count(units []unit) {
	pairs := make([]stat.Pair, 0, len(units))
	rawA, rawB := make([]stat.Cluster, 0, len(units)), make([]stat.Cluster, 0, len(units))
	single := true
	up, down := 0, 0
	for _, u := range units {
		a, b := u.done()
		if len(a) == 0 {
			c.leave(u.task, "was not finished on both sides")
			continue
		}
		ta, tb := tally(a), tally(b)
		ma, mb := mean(a, passed), mean(b, passed)
		pairs = append(pairs, stat.Pair{A: stat.Cluster{Sum: ma, N: 1}, B: stat.Cluster{Sum: mb, N: 1}})
		rawA, rawB = append(rawA, cluster(ta)), append(rawB, cluster(tb))
		single = single && ta.N == 1 && tb.N == 1
		if d := mb - ma; d > 1e-12 {
			up++
		} else if d < -1e-12 {
			down++
		}
		c.RateA.Resolved, c.RateA.N = c.RateA.Resolved+ta.Passed, c.RateA.N+ta.N
		c.RateB.Resolved, c.RateB.N = c.RateB.Resolved+tb.Passed, c.RateB.N+tb.N
	}
	c.Tasks, c.Same = len(pairs), len(pairs)-up-down
	c.RateA.Rate, c.RateB.Rate = rateOf(rawA, single), rateOf(rawB, single)
	diff := stat.PairedDiff(pairs)
	if single && len(pairs) > 0 {
		p := stat.McNemar(up, down)
		// The interval never claims more than the exact test.
		if p >= 1-stat.Confidence {
			diff.Lo, diff.Hi = math.Min(diff.Lo, 0), math.Max(diff.Hi, 0)
		}
		p = round(p)
		c.P = &p
	}
	c.Diff = rounded(diff)
	share, _, _ := stat.Discordance(pairs)
	if least, ok := stat.SmallestDifference(len(pairs), share); ok {
		c.Smallest = round(least)
	}
}

func cluster(t Tally) stat.Cluster { return stat.Cluster{Sum: float64(t.Passed), N: t.N} }

func rateOf(cs []stat.Cluster, single bool) stat.Interval {
	if !single {
		return rounded(stat.ClusterMean(cs))
	}
	k := 0
	for _, c := range cs {
		k += int(c.Sum)
	}
	return rounded(stat.Rate(k, len(cs)))
}

// changes lists the tasks that went down and up, the largest change first.
func (c *Comparison) changes(units []unit) {
	for _, u := range units {
		a, b := u.done()
		if len(a) == 0 {
			continue
		}
		ch := Change{Task: u.task, A: tally(a), B: tally(b)}
		switch d := mean(b, passed) - mean(a, passed); {
		case d < -1e-12:
			ch.blame(b)
			c.Worse = append(c.Worse, ch)
		case d > 1e-12:
			ch.blame(a)
			c.Better = append(c.Better, ch)
		}
	}
	order := func(x, y Change) int {
		return cmp.Or(cmp.Compare(y.size(), x.size()), cmp.Compare(x.Task, y.Task))
	}
	slices.SortFunc(c.Worse, order)
	slices.SortFunc(c.Better, order)
}

func (ch Change) size() float64 { return round(math.Abs(ch.A.share() - ch.B.share())) }

// blame gathers what the trials that didn't pass missed.
func (ch *Change) blame(cells [][]Trial) {
	for _, cell := range cells {
		for _, t := range cell {
			if t.Resolved {
				continue
			}
			ch.Trials = append(ch.Trials, t.ID)
			for _, clause := range t.Clauses {
				if !slices.Contains(ch.Missed, clause) {
					ch.Missed = append(ch.Missed, clause)
				}
			}
			if len(t.Clauses) == 0 && !slices.Contains(ch.Missed, string(t.Outcome)) {
				ch.Missed = append(ch.Missed, string(t.Outcome))
			}
		}
	}
}

// figures fills what both sides needed.
func (c *Comparison) figures(units []unit) {
	always := func(Trial) bool { return true }
	spent := func(t Trial) bool { return t.Spent }
	c.Turns = figure(units, spent, func(t Trial) float64 { return float64(t.Turns) })
	c.Cost = figure(units, func(t Trial) bool { return t.Spent && t.Priced }, func(t Trial) float64 { return t.USD })
	c.Seconds = figure(units, always, func(t Trial) float64 { return t.Seconds })
	if n := c.Turns.Tasks - c.Cost.Tasks; n > 0 {
		c.note("The cost of %d of %d tasks is not known on a side; they are no part of the cost's means.", n, c.Tasks)
	}
}

func figure(units []unit, known func(Trial) bool, of func(Trial) float64) (f Figure) {
	for _, u := range units {
		a, b := u.done()
		if len(a) == 0 || !all(a, known) || !all(b, known) {
			continue
		}
		x, y := mean(a, of), mean(b, of)
		f.Tasks++
		f.A, f.B = f.A+x, f.B+y
		switch {
		case y > x:
			f.Up++
		case y < x:
			f.Down++
		}
	}
	if f.Tasks > 0 {
		n := float64(f.Tasks)
		f.A, f.B = round(f.A/n), round(f.B/n)
	}
	f.Diff, f.P = round(f.B-f.A), round(stat.McNemar(f.Up, f.Down))
	return f
}

func all(cells [][]Trial, known func(Trial) bool) bool {
	for _, c := range cells {
		for _, t := range c {
			if !known(t) {
				return false
			}
		}
	}
	return true
}
