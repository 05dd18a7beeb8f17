package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/history"
	"github.com/assaybot/assay/internal/plan"
	"github.com/assaybot/assay/internal/stat"
)

// memoryBranch is a branch of a remote in memory.
type memoryBranch struct {
	files map[string][]byte
	tip   string
	fail  error
	wrote []history.Commit
}

func (b *memoryBranch) Read(context.Context) (string, map[string][]byte, error) {
	return b.tip, b.files, b.fail
}

func (b *memoryBranch) Write(_ context.Context, c history.Commit) (bool, error) {
	if b.files == nil {
		b.files = map[string][]byte{}
	}
	for p, e := range c.Put {
		b.files[p] = e.Data
	}
	b.wrote, b.tip = append(b.wrote, c), "1"
	return false, nil
}

func (b *memoryBranch) Tip(context.Context, string) (string, error) { return b.tip, b.fail }
func (b *memoryBranch) Close() error                                { return nil }

var morning = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

func historyFlow(b *memoryBranch) *Flow {
	return &Flow{Now: func() time.Time { return morning }, GitHub: GitHub{Remote: "hub"},
		Branches:   func(context.Context, string, string, string) (Branch, error) { return b, nil },
		UsesModels: func(name string) bool { return name == "claude-code" }}
}

// nightOf is a run with a mark per task, of one agent and model.
func nightOf(id string, when time.Time, marks string) history.Run {
	usd := 0.5
	r := history.Run{Head: history.Head{ID: id, Key: "nightly", Commit: "0123456789", When: when,
		Cells: []history.Cell{{Agent: "claude-code", Model: "sonnet", Variant: "baseline"}}}}
	for i, m := range marks {
		t := history.Trial{ID: fmt.Sprintf("%s-%d", id, i), Task: fmt.Sprintf("task-%02d", i), Digest: "d", Repeat: 1, Outcome: assay.Failed,
			USD: &usd, Spent: usd, Seconds: 90, At: when.Add(time.Hour).Unix()}
		if m == '+' {
			t.Outcome, t.Resolved = assay.Passed, true
		}
		r.Trials = append(r.Trials, t)
	}
	return r
}

func filled(t *testing.T, runs ...history.Run) *memoryBranch {
	t.Helper()
	b := &memoryBranch{}
	for _, r := range runs {
		if _, err := history.Push(t.Context(), b, r, pauseLonger); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func show(t *testing.T, b *memoryBranch, format string) (Shown, string) {
	t.Helper()
	var out, log bytes.Buffer
	s, err := historyFlow(b).ShowHistory(t.Context(), HistoryShow{Key: "nightly", Last: 14, Stale: 36 * time.Hour, Format: format}, &out, &log)
	if err != nil || log.Len() > 0 {
		t.Fatal(err, log.String())
	}
	return s, out.String()
}

func TestHistoryTellsWhatIsWorse(t *testing.T) {
	b := filled(t, nightOf("a", morning.AddDate(0, 0, -2), "++++++++"), nightOf("b", morning.AddDate(0, 0, -1), "++++++++"),
		nightOf("c", morning.Add(-2*time.Hour), "--------"))
	s, text := show(t, b, "terminal")
	if !s.Worse() || s.Stale || len(s.Lines) != 1 || s.Lines[0].Verdict != stat.Worse || len(s.Lines[0].Worse) != 8 || s.Month != 12 {
		t.Errorf("%+v", s)
	}
	for _, want := range []string{"3 runs, the last 60 min ago of 01234567. Spent this month: $12.00.", "claude-code / sonnet / baseline", "-100.0 points", "worse", "██▁", "is worse on task-00"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	_, data := show(t, b, "json")
	var back Shown
	if err := json.Unmarshal([]byte(data), &back); err != nil || len(back.Lines[0].Points) != 3 {
		t.Errorf("%v: %s", err, data)
	}
}

// A changed task is another task: it is not compared, and what isn't proven
// stands as ~.
func TestHistoryPairsUnchangedTasksOnly(t *testing.T) {
	was, now := nightOf("a", morning.AddDate(0, 0, -1), "++++++++"), nightOf("b", morning.Add(-2*time.Hour), "--------")
	for i := range 4 {
		now.Trials[i].Digest = "other"
	}
	s, _ := show(t, filled(t, was, now), "markdown")
	if l := s.Lines[0]; l.Verdict != stat.Unproven || l.Tasks != 4 || s.Worse() {
		t.Errorf("%+v", l)
	}
}

// A model that the last run didn't try is shown, and alarms nobody again.
func TestHistoryOfASeriesThatEnded(t *testing.T) {
	other := nightOf("c", morning.Add(-2*time.Hour), "++")
	other.Cells[0].Model = "opus"
	s, text := show(t, filled(t, nightOf("a", morning.AddDate(0, 0, -2), "++++++++"), nightOf("b", morning.AddDate(0, 0, -1), "--------"), other), "terminal")
	if s.Worse() || len(s.Lines) != 2 || !strings.Contains(text, "not in the last run") {
		t.Errorf("%+v\n%s", s, text)
	}
}

// Row 51: a night that was dropped is noticed, by whoever looks and by every
// plan.
func TestRow51ASilentNightlyIsTold(t *testing.T) {
	fresh, old := nightOf("a", morning.Add(-35*time.Hour), "+"), nightOf("a", morning.Add(-38*time.Hour), "+")
	if s, text := show(t, filled(t, fresh), "terminal"); s.Stale || strings.Contains(text, "stopped") {
		t.Errorf("%+v\n%s", s, text)
	}
	s, text := show(t, filled(t, old), "markdown")
	if !s.Stale || !strings.Contains(text, "ended 37 h ago") {
		t.Errorf("%+v\n%s", s, text)
	}
	if s, text := show(t, &memoryBranch{}, "terminal"); !s.Stale || !strings.Contains(text, "no run of nightly") {
		t.Errorf("%+v\n%s", s, text)
	}
	p, err := historyFlow(filled(t, old)).past(t.Context(), PlanRequest{History: &HistoryPlace{}}, assay.Request{})
	if err != nil || !strings.Contains(strings.Join(p.notes, "\n"), "The last run of nightly ended 37 h ago") {
		t.Errorf("%v, %v", p, err)
	}
}

// Row 52: a history that can't be read is never taken for an empty one.
func TestRow52AHistoryThatIsAway(t *testing.T) {
	b := &memoryBranch{fail: errors.New("no route")}
	var out bytes.Buffer
	if _, err := historyFlow(b).ShowHistory(t.Context(), HistoryShow{Format: "terminal"}, &out, &out); err == nil {
		t.Error("shown")
	}
	ask := PlanRequest{History: &HistoryPlace{}}
	if _, err := historyFlow(b).past(t.Context(), ask, assay.Request{MaxCostMonthUSD: 5}); err == nil {
		t.Error("the month's budget was counted without its history")
	}
	if p, err := historyFlow(b).past(t.Context(), ask, assay.Request{}); err != nil || len(p.notes) != 1 {
		t.Errorf("%v, %v", p, err)
	}
	torn := filled(t, nightOf("a", morning, "+"))
	for name := range torn.files {
		torn.files[name] = []byte("{")
	}
	if _, err := historyFlow(torn).past(t.Context(), ask, assay.Request{MaxCostMonthUSD: 5}); err == nil {
		t.Error("a torn file was counted as nothing")
	}
}

func TestTheMonthsBudget(t *testing.T) {
	b := filled(t, nightOf("old", morning.AddDate(0, -1, 0), "++++"), nightOf("a", morning.AddDate(0, 0, -1), "++++"))
	todo := []assay.Trial{{ID: "x"}}
	tests := []struct {
		month, run float64
		todo       int
		left       float64
	}{{0, 0, 1, 0}, {0, 3, 1, 3}, {10, 3, 1, 3}, {10, 0, 1, 8}, {4, 3, 1, 2}, {2, 3, 0, 3}, {1, 0, 0, 0}}
	for _, tt := range tests {
		req := assay.Request{MaxCostMonthUSD: tt.month, MaxCostUSD: tt.run}
		p, err := historyFlow(b).past(t.Context(), PlanRequest{History: &HistoryPlace{}}, req)
		if err != nil {
			t.Fatal(err)
		}
		got, left := p.afford(todo, req)
		if len(got) != tt.todo || left != tt.left || p.broke(req) != (tt.todo == 0) {
			t.Errorf("month $%v, run $%v: %d trials, $%v", tt.month, tt.run, len(got), left)
		}
	}
}

// Shards come out even by what the history says of each task.
func TestHistoryMakesShardsEven(t *testing.T) {
	r := nightOf("a", morning.AddDate(0, 0, -1), "++++")
	for i, s := range []float64{3000, 1000, 1000, 1000} {
		r.Trials[i].Seconds = s
	}
	p, err := historyFlow(filled(t, r)).past(t.Context(), PlanRequest{History: &HistoryPlace{}, MaxAge: time.Hour}, assay.Request{})
	if err != nil || len(p.fresh) != 0 {
		t.Fatal(p.fresh, err)
	}
	var trials []assay.Trial
	for i := range 4 {
		trials = append(trials, assay.Trial{ID: fmt.Sprint(i), Task: fmt.Sprintf("task-%02d", i), Agent: assay.AgentSpec{Name: "claude-code"}, Model: "sonnet", Variant: "baseline"})
	}
	parts, err := plan.Split(trials, plan.Learn(p.results).Of, plan.Cut{Seconds: 3000})
	if err != nil || len(parts) != 2 || parts[0].Seconds != 3000 || parts[1].Seconds != 3000 || parts[0].USD != 0.5 {
		t.Errorf("%+v, %v", parts, err)
	}
}

func TestHistoryTakesAnswersOutOfThePlan(t *testing.T) {
	b := filled(t, nightOf("a", morning.Add(-30*time.Hour), "+"), nightOf("b", morning.Add(-2*time.Hour), "+"))
	whole := assay.Plan{Trials: []assay.Trial{{ID: "a-0"}, {ID: "b-0"}, {ID: "c-0"}}}
	for age, want := range map[time.Duration]int{0: 3, 48 * time.Hour: 1, 20 * time.Hour: 2, time.Minute: 3} {
		p, err := historyFlow(b).past(t.Context(), PlanRequest{History: &HistoryPlace{}, MaxAge: age}, assay.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.without(whole, false); len(got.Trials) != want || p.answered != 3-want {
			t.Errorf("%s: %d trials left", age, len(got.Trials))
		}
	}
}
