package flow

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/history"
)

// past is what a history tells a plan. answered counts trials that it took out
// of the plan.
type past struct {
	runs     []history.Run
	results  []assay.Result
	fresh    map[string]bool
	answered int
	spent    float64
	notes    []string
}

// staleAfter is the age of the last run from which a plan says so: a nightly
// run that stopped is noticed by whoever plans another.
const staleAfter = 36 * time.Hour

// past reads the history that a plan asks for. Where the month has a budget, a
// history that can't be read stops the plan: what was spent isn't known then.
func (f *Flow) past(ctx context.Context, r PlanRequest, req assay.Request) (*past, error) {
	p := &past{fresh: map[string]bool{}}
	if r.History == nil {
		if req.MaxCostMonthUSD > 0 {
			p.notes = append(p.notes, "The month's budget isn't counted: no history is read (--history).")
		}
		return p, nil
	}
	var faults strings.Builder
	var err error
	p.runs, err = f.readHistory(ctx, *r.History, &faults)
	switch {
	case err != nil && (req.MaxCostMonthUSD > 0 || ctx.Err() != nil || assay.IsUser(err)):
		return nil, fmt.Errorf("reading the history of results: %w", err)
	case err != nil:
		p.notes = append(p.notes, fmt.Sprintf("Planned without the history, which can't be read: %v.", err))
		return p, nil
	case faults.Len() > 0 && req.MaxCostMonthUSD > 0:
		return nil, assay.Userf("the month's budget needs the whole history, and some of it can't be read:\n%s", strings.TrimSpace(faults.String()))
	case faults.Len() > 0:
		p.notes = append(p.notes, strings.Split(strings.TrimSpace(faults.String()), "\n")...)
	}
	p.learn(f.Now(), r.MaxAge)
	return p, nil
}

func (p *past) learn(now time.Time, maxAge time.Duration) {
	var unpriced int
	p.spent, unpriced = history.Spent(p.runs, month(now), now.Add(time.Second))
	if unpriced > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%d attempts of this month cost a sum that nobody knows; they count as nothing.", unpriced))
	}
	for _, r := range p.runs {
		for _, one := range r.Results() {
			p.results = append(p.results, one)
			if one.Outcome.Final() && now.Sub(one.Finished) < maxAge {
				p.fresh[one.Trial.ID] = true
			}
		}
	}
	nightly := shown(p.runs, HistoryShow{Key: "nightly", Stale: staleAfter, Last: 1}, now)
	if nightly.Runs > 0 && nightly.Stale {
		p.notes = append(p.notes, nightly.Alert())
	}
}

// without takes what the history answers out of a plan: its attempts are not
// at hand, so that a report of this run would miss them.
func (p *past) without(whole assay.Plan, all bool) assay.Plan {
	if all || len(p.fresh) == 0 {
		return whole
	}
	kept := make([]assay.Trial, 0, len(whole.Trials))
	for _, t := range whole.Trials {
		if p.fresh[t.ID] {
			p.answered++
			continue
		}
		kept = append(kept, t)
	}
	whole.Trials = kept
	return whole
}

// broke tells whether nothing is left of the month's budget.
func (p *past) broke(req assay.Request) bool {
	return req.MaxCostMonthUSD > 0 && p.runs != nil && p.spent >= req.MaxCostMonthUSD
}

// afford is what can be planned with what is left of the month: all within a
// smaller budget, or nothing. What costs nothing goes with the rest: a run
// without its agents would be no comparison.
func (p *past) afford(todo []assay.Trial, req assay.Request) ([]assay.Trial, float64) {
	if req.MaxCostMonthUSD <= 0 || p.runs == nil {
		return todo, req.MaxCostUSD
	}
	left := req.MaxCostMonthUSD - p.spent
	if left <= 0 {
		return nil, req.MaxCostUSD
	}
	if req.MaxCostUSD <= 0 || left < req.MaxCostUSD {
		return todo, left
	}
	return todo, req.MaxCostUSD
}
