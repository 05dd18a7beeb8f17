package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

var day = time.Date(2026, 11, 30, 3, 37, 0, 0, time.UTC)

func usd(x float64) *float64 { return &x }

// night is a run with a mark per task: "+" passed, "-" failed, "i" infra.
func night(id string, when time.Time, marks string) Run {
	r := Run{Head: Head{ID: id, Key: "nightly", Commit: "abc", When: when, Cells: []Cell{{Agent: "claude-code", Model: "sonnet", Variant: "baseline", Ran: "2.1"}}}}
	for i, m := range marks {
		t := Trial{ID: fmt.Sprintf("%s-%d", id, i), Task: fmt.Sprintf("task-%02d", i), Digest: "d1", Repeat: 1, Turns: 4, Seconds: 60,
			USD: usd(0.25), Spent: 0.25, At: when.Add(time.Hour).Unix()}
		switch m {
		case '+':
			t.Outcome, t.Resolved = assay.Passed, true
		case '-':
			t.Outcome = assay.Failed
		case 'i':
			t.Outcome = assay.InfraFail
		}
		r.Trials = append(r.Trials, t)
	}
	return r
}

// branch is a branch in memory. Before runs before each write.
type branch struct {
	mu     sync.Mutex
	n      int
	files  map[string][]byte
	before func(b *branch)
	fail   error
}

func (b *branch) Read(context.Context) (string, map[string][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil || b.n == 0 {
		return "", nil, b.fail
	}
	files := map[string][]byte{}
	for k, v := range b.files {
		files[k] = v
	}
	return fmt.Sprint(b.n), files, nil
}

func (b *branch) Write(_ context.Context, c Commit) (bool, error) {
	if b.before != nil {
		b.before(b)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if tip := fmt.Sprint(b.n); c.Tip != tip && (c.Tip != "" || b.n > 0) {
		return true, nil
	}
	b.n++
	if b.files == nil {
		b.files = map[string][]byte{}
	}
	for p, e := range c.Put {
		b.files[p] = e.Data
	}
	for _, p := range c.Drop {
		delete(b.files, p)
	}
	return false, nil
}

func at(context.Context, int) error { return nil }

func push(t *testing.T, b Branch, r Run) Pushed {
	t.Helper()
	p, err := Push(t.Context(), b, r, at)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func load(t *testing.T, b *branch) []Run {
	t.Helper()
	runs, ps := Load(b.files)
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	return runs
}

func TestARunIsPostedOnce(t *testing.T) {
	b := &branch{}
	r := night("n1", day, "+-i")
	if p := push(t, b, r); p.File != "history/2026-11/n1.jsonl" || p.New != 3 || b.files["README.md"] == nil {
		t.Errorf("%+v", p)
	}
	if p := push(t, b, r); p.File != "" || p.Known != 3 || b.n != 1 {
		t.Errorf("the same run changed something: %+v", p)
	}
	got := load(t, b)
	r.Schema = Schema
	if d := cmp.Diff([]Run{r}, got); d != "" {
		t.Error(d)
	}
}

// A job that was run again adds its part, beside what is there.
func TestALaterPartIsAdded(t *testing.T) {
	b := &branch{}
	r := night("n1", day, "+-i")
	push(t, b, r)
	first := b.files["history/2026-11/n1.jsonl"]
	again := night("n1", day.AddDate(0, 1, 0), "+-+")
	again.Trials[0], again.Trials[1] = r.Trials[0], r.Trials[1]
	again.Trials[2].Spent = 0.5
	p := push(t, b, again)
	if p.File != "history/2026-11/n1.2.jsonl" || p.New != 1 || p.Known != 2 || !bytes.Equal(first, b.files["history/2026-11/n1.jsonl"]) {
		t.Errorf("%+v", p)
	}
	runs := load(t, b)
	if len(runs) != 1 || len(runs[0].Trials) != 3 || runs[0].Trials[2].Outcome != assay.Passed || runs[0].Trials[2].Spent != 0.5 {
		t.Errorf("%+v", runs)
	}
	if p = push(t, b, again); p.File != "" {
		t.Errorf("%+v", p)
	}
}

// Row 41: writers that race lose nothing.
func TestRow41ManyWriters(t *testing.T) {
	b := &branch{}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			if _, err := Push(t.Context(), b, night(fmt.Sprintf("n%d", i), day, "+"), at); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runs := load(t, b); len(runs) != 6 {
		t.Errorf("%d runs", len(runs))
	}
}

func TestABranchThatAlwaysMovesIsGivenUp(t *testing.T) {
	b := &branch{n: 1, files: map[string][]byte{}}
	b.before = func(b *branch) { b.mu.Lock(); b.n++; b.mu.Unlock() }
	pauses := 0
	_, err := Push(t.Context(), b, night("n1", day, "+"), func(context.Context, int) error { pauses++; return nil })
	if err == nil || !strings.Contains(err.Error(), "others wrote") || pauses != maxTries-1 {
		t.Errorf("%v after %d pauses", err, pauses)
	}
}

// Row 52: a branch that can't be read is no empty one.
func TestRow52AnUnreadableBranchIsNotOverwritten(t *testing.T) {
	b := &branch{fail: errors.New("no route")}
	if _, err := Push(t.Context(), b, night("n1", day, "+"), at); err == nil || b.n != 0 {
		t.Errorf("%v, %d writes", err, b.n)
	}
	b = &branch{n: 1, files: map[string][]byte{"history/2026-11/n1.jsonl": []byte("{")}}
	if _, err := Push(t.Context(), b, night("n1", day, "+"), at); err == nil || b.n != 1 {
		t.Errorf("%v, %d writes", err, b.n)
	}
}

func TestTheOldestMakeRoom(t *testing.T) {
	b := &branch{n: 1, files: map[string][]byte{"tasks/x/task.json": []byte("{}"), "history/notes.txt": []byte("mine")}}
	for i := range MaxFiles {
		data, err := encode(night(fmt.Sprintf("n%d", i), day.AddDate(0, 0, -i), "+"))
		if err != nil {
			t.Fatal(err)
		}
		b.files[path(Head{ID: fmt.Sprintf("n%d", i), When: day.AddDate(0, 0, -i)}, 1)] = data
	}
	p := push(t, b, night("new", day.AddDate(0, 0, 1), "+"))
	if len(p.Dropped) != 1 || !strings.HasSuffix(p.Dropped[0], fmt.Sprintf("/n%d.jsonl", MaxFiles-1)) {
		t.Errorf("dropped %v", p.Dropped)
	}
	if len(b.files) != MaxFiles+2 || b.files["history/notes.txt"] == nil {
		t.Errorf("%d files", len(b.files))
	}
}

func TestFaultyFilesAreLeftOut(t *testing.T) {
	good, err := encode(night("n1", day, "+"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(good), "\n")
	for name, text := range map[string]string{
		"empty": "", "cut": string(good[:len(good)-10]), "a number": "1\n", "another schema": strings.Replace(string(good), `"schema":1`, `"schema":9`, 1),
		"an unknown field": strings.Replace(string(good), `"i":`, `"x":1,"i":`, 1), "no such cell": strings.Replace(string(good), `"c":0`, `"c":7`, 1),
		"two values": lines[0] + strings.TrimSpace(lines[1]) + lines[1], "no such outcome": strings.Replace(string(good), `"passed"`, `"great"`, 1),
		"another name": strings.Replace(string(good), `"run":"n1"`, `"run":"n2"`, 1), "no head": lines[1],
	} {
		runs, ps := Load(map[string][]byte{"history/2026-11/n1.jsonl": []byte(text), "history/2026-11/ok.jsonl": []byte(strings.Replace(string(good), `"run":"n1"`, `"run":"ok"`, 1))})
		if len(runs) != 1 || len(ps) != 1 {
			t.Errorf("%s: %d runs, %v", name, len(runs), ps)
		}
	}
}

func TestFaultyRunsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Run){
		"a path":      func(r *Run) { r.ID = "../x" },
		"no ID":       func(r *Run) { r.ID = "" },
		"no time":     func(r *Run) { r.When = time.Time{} },
		"not finite":  func(r *Run) { r.Trials[0].Spent = math.NaN() },
		"no cell":     func(r *Run) { r.Trials[0].Cell = 3 },
		"below zero":  func(r *Run) { r.Trials[0].USD = usd(-1) },
		"no outcome":  func(r *Run) { r.Trials[0].Outcome = "" },
		"before time": func(r *Run) { r.Trials[0].At = -1 },
	} {
		r := night("n1", day, "+")
		change(&r)
		b := &branch{}
		if _, err := Push(t.Context(), b, r, at); err == nil || b.n != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSpentCountsTheMonth(t *testing.T) {
	runs := []Run{night("a", day.AddDate(0, 0, -40), "+++"), night("b", day, "+-"), night("c", day.AddDate(0, 0, 2), "+")}
	runs[1].Trials[0].Unpriced, runs[1].Trials[1].Spent = 2, 1
	runs = append(runs, runs[1]) // held by two runs, spent once
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	got, unpriced := Spent(runs, from, from.AddDate(0, 1, 0))
	if got != 1.25 || unpriced != 2 {
		t.Errorf("$%v, %d", got, unpriced)
	}
}

func TestResults(t *testing.T) {
	r := night("n1", day, "+-")
	r.Cells[0].Name, r.Cells[0].Agent, r.Cells[0].Version = "claude-code", "cc", "2.1.1"
	r.Trials[1].At = 0
	got := r.Results()
	if len(got) != 1 || got[0].Trial.ID != "n1-0" || got[0].Trial.Agent.Key() != "cc" || got[0].Trial.Agent.Name != "claude-code" || got[0].Finished.Sub(got[0].Started) != time.Minute {
		t.Errorf("%+v", got)
	}
	if usd, ok := got[0].Cost(); usd != 0.25 || !ok || !got[0].Outcome.Final() {
		t.Errorf("$%v, %v", usd, ok)
	}
}

func TestTrend(t *testing.T) {
	runs := []Run{night("a", day, "++--"), night("b", day.AddDate(0, 0, 1), "iiii"), night("c", day.AddDate(0, 0, 2), "+++i")}
	for i := range runs[1].Trials {
		runs[1].Trials[i].At = 0
	}
	s := Trend(runs)
	if len(s) != 1 || s[0].Ran != "" || len(s[0].Points) != 2 {
		t.Fatalf("%+v", s)
	}
	p := s[0].Points
	if p[0].Resolved != 2 || p[0].N != 4 || p[1].N != 3 || p[1].Missing != 1 || p[1].USD != 0.25 || p[0].Rate.Mean != 0.5 || p[1].Rate.Lo <= 0 {
		t.Errorf("%+v", p)
	}
}

// Each task is compared with the last run that finished it.
func TestBefore(t *testing.T) {
	runs := []Run{night("a", day, "--++"), night("b", day.AddDate(0, 0, 1), "+ii"), night("c", day.AddDate(0, 0, 2), "+++")}
	now, before := Before(runs, runs[0].Cells[0].Series())
	var got []string
	for _, b := range before {
		got = append(got, b.ID)
	}
	if d := cmp.Diff([]string{"b-0", "a-1", "a-2"}, got); d != "" || len(now) != 3 {
		t.Error(d)
	}
}

func FuzzDecode(f *testing.F) {
	good, err := encode(night("n1", day, "+-i"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("{\"schema\":1}\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data)
		if err != nil {
			return
		}
		again, err := encode(r)
		if err != nil {
			t.Fatalf("what was read can't be written: %v", err)
		}
		back, err := decode(again)
		if err != nil {
			t.Fatal(err)
		}
		if len(back.Trials) != len(r.Trials) || back.ID != r.ID {
			t.Fatalf("%+v became %+v", r, back)
		}
		r.Results()
		Trend([]Run{r})
	})
}
