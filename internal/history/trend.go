package history

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/assaybot/assay/internal/stat"
)

// Point is one run of a series: its rate over the tasks, and what it left
// without an answer.
type Point struct {
	Run      string        `json:"run"`
	When     time.Time     `json:"when"`
	Commit   string        `json:"commit,omitempty"`
	Resolved int           `json:"resolved"`
	N        int           `json:"n"`
	Missing  int           `json:"missing,omitempty"`
	Rate     stat.Interval `json:"rate"`
	// USD is the mean of what a trial cost, of those whose price is known.
	USD    float64 `json:"usd_per_trial"`
	Priced int     `json:"priced"`
}

// Series is the points of one agent, model, effort and variant, oldest first.
type Series struct {
	Cell
	Points []Point `json:"points"`
}

// Trend draws the series of runs, which are oldest first, in the order of
// their names. A run that tried nothing of a series has no point in it.
func Trend(runs []Run) []Series {
	at := map[Cell]*Series{}
	for _, r := range runs {
		for cell, trials := range bySeries(r) {
			p, ok := point(r, trials)
			if !ok {
				continue
			}
			if at[cell] == nil {
				at[cell] = &Series{Cell: cell}
			}
			at[cell].Points = append(at[cell].Points, p)
		}
	}
	cells := slices.SortedFunc(maps.Keys(at), func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Effort, b.Effort), cmp.Compare(a.Variant, b.Variant))
	})
	out := make([]Series, 0, len(cells))
	for _, c := range cells {
		out = append(out, *at[c])
	}
	return out
}

func bySeries(r Run) map[Cell][]Trial {
	out := map[Cell][]Trial{}
	for _, t := range r.Trials {
		c := r.Cells[t.Cell].Series()
		out[c] = append(out[c], t)
	}
	return out
}

// point sums up one series of one run; it is none where nothing began.
func point(r Run, trials []Trial) (Point, bool) {
	p := Point{Run: r.ID, When: r.When, Commit: r.Commit}
	tasks := map[string]*stat.Cluster{}
	began := false
	for _, t := range trials {
		began = began || t.At > 0
		if t.USD != nil {
			p.USD += *t.USD
			p.Priced++
		}
		if !t.Outcome.InRate() {
			p.Missing++
			continue
		}
		p.N++
		if tasks[t.Task] == nil {
			tasks[t.Task] = &stat.Cluster{}
		}
		tasks[t.Task].N++
		if t.Resolved {
			p.Resolved++
			tasks[t.Task].Sum++
		}
	}
	if p.Priced > 0 {
		p.USD /= float64(p.Priced)
	}
	clusters := make([]stat.Cluster, 0, len(tasks))
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		clusters = append(clusters, *tasks[name])
	}
	p.Rate = stat.ClusterMean(clusters)
	return p, began
}

// Before are the trials of a series that the newest of runs is compared with:
// for each task of the newest, those of the last earlier run that finished it.
// newest are the series' own trials in the newest run.
func Before(runs []Run, cell Cell) (newest, before []Trial) {
	if len(runs) == 0 {
		return nil, nil
	}
	last := len(runs) - 1
	newest = bySeries(runs[last])[cell]
	wanted := map[string]bool{}
	for _, t := range newest {
		wanted[t.Task] = true
	}
	for i := last - 1; i >= 0 && len(wanted) > 0; i-- {
		byTask := map[string][]Trial{}
		for _, t := range bySeries(runs[i])[cell] {
			byTask[t.Task] = append(byTask[t.Task], t)
		}
		for task, trials := range byTask {
			if wanted[task] && slices.ContainsFunc(trials, func(t Trial) bool { return t.Outcome.InRate() }) {
				before = append(before, trials...)
				delete(wanted, task)
			}
		}
	}
	slices.SortFunc(before, func(a, b Trial) int { return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Repeat, b.Repeat)) })
	return newest, before
}

// Of are the runs of a series' name, all for "".
func Of(runs []Run, key string) []Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return key != "" && r.Key != key })
}
