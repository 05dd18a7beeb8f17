package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/stat"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	evilTask   = "evil|task`<b>@octocat</b>\n=HYPERLINK(\"http://x\") \x1b[31m\u202e ünï"
	evilClause = "=cmd|' /C calc'!A0 | `code` <script>alert(1)</script> @team/all fixes #12 [x](http://evil.example) **b** \\| \x00\x07"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func trialOf(task, agent, model, effort, variant string, repeat int) assay.Trial {
	t := assay.Trial{Task: task, Agent: assay.AgentSpec{Name: agent}, Model: model, Effort: effort, Variant: variant, Repeat: repeat, Sandbox: "docker"}
	t.ID = assay.TrialID(t)
	return t
}

func resultOf(t assay.Trial, attempt int, o assay.Outcome) assay.Result {
	r := assay.Result{Schema: 1, Trial: t, Attempt: attempt, Outcome: o, Resolved: o == assay.Passed,
		Started: began, Finished: began.Add(90 * time.Second)}
	if r.Resolved {
		r.Score = 1
	}
	if t.Model != "" {
		r.Agent = assay.AgentFacts{Version: "2.1.197", Turns: 7, Tokens: assay.Tokens{Input: 1000, CacheRead: 20000, CacheWrite: 3000, Output: 500}}
		r.Model = assay.ModelCalls{Seen: true, Calls: 7, Replies: 7, Tokens: r.Agent.Tokens, CostUSD: 0.125, Priced: true}
	}
	return r
}

func miss(r assay.Result, checks ...assay.CheckResult) assay.Result {
	r.Checks = checks
	return r
}

// varied is an input with something of everything.
func varied() Input {
	in := Input{Title: "Nightly | <b>suite</b>", SuiteDigest: "sha256:abc", Strength: map[string]assay.Strength{
		"date-parse": {Hunks: 4, Noticed: 3, Share: 0.75}}}
	tasks := []string{"cache-key", "date-parse", evilTask}
	add := func(t assay.Trial, rs ...assay.Result) {
		in.Planned = append(in.Planned, t)
		in.Results = append(in.Results, rs...)
	}
	for i, task := range tasks {
		o := trialOf(task, "oracle", "", "", assay.Baseline, 0)
		n := trialOf(task, "nop", "", "", assay.Baseline, 0)
		add(o, resultOf(o, 1, assay.Passed))
		add(n, miss(resultOf(n, 1, assay.Failed), assay.CheckResult{Name: "hidden", Kind: assay.CheckTests, Status: assay.CheckFailed,
			Wanted: 1, Misses: []assay.TestResult{{ID: "tests.test_x::test_y[a b]", Status: assay.TestFailed, Clause: "dates before 1970 parse", Message: "\nAssertionError: 1 != 2\ntrace"}}}))
		for _, variant := range []string{"agents-md", assay.Baseline} {
			for repeat := range 3 {
				t := trialOf(task, "claude-code", "sonnet-5", "high", variant, repeat)
				add(t, claude(t, i, repeat)...)
			}
		}
	}
	in.NotRun = []assay.Unrunnable{
		{Task: "broken-task", Reason: "task.json:3: unknown field \"promt\""},
		{Task: "cache-key", Agent: "codex", Variant: "baseline", Reason: "no key for openai"},
	}
	in.Modes = map[string][]assay.Mode{}
	for _, r := range in.Results {
		switch {
		case r.Outcome == assay.Integrity:
			in.Modes[ModeKey(r)] = []assay.Mode{{Name: assay.ModeTampered, Step: 3, Detail: "tests/test_a.py was changed"}}
		case r.Outcome == assay.LimitHit:
			in.Modes[ModeKey(r)] = []assay.Mode{{Name: assay.ModeRanOut, Step: 40, Detail: "time"}, {Name: assay.ModeLooped, Step: 12, Detail: "Bash | `pytest` @x"}}
		case r.Outcome == assay.Failed && r.Trial.Agent.Name == "nop":
			in.Modes[ModeKey(r)] = []assay.Mode{{Name: assay.ModeNothing}, {Name: assay.ModeRequirement, Detail: "a"}, {Name: assay.ModeRequirement, Detail: "b"}}
		case r.Outcome == assay.Passed && r.Trial.Model != "" && r.Trial.Repeat == 1:
			in.Modes[ModeKey(r)] = []assay.Mode{{Name: assay.ModeSearched, Step: 7, Detail: "git log --all"}}
		}
	}
	in.Problems = assay.Problems{{File: "x/attempts/1/result.json", Line: 1, Text: "unexpected end of JSON input"}}
	return in
}

// claude makes the attempts of one trial: retried infra, a permanent one, a
// limit, integrity, unknown cost, and one that never ran.
func claude(t assay.Trial, task, repeat int) []assay.Result {
	base := t.Variant == assay.Baseline
	switch {
	case task == 0 && repeat == 0 && base:
		lost := resultOf(t, 1, assay.InfraFail)
		lost.Infra, lost.Detail = assay.InfraAPI, "529 overloaded"
		return []assay.Result{resultOf(t, 2, assay.Passed), lost}
	case task == 0 && repeat == 1 && base:
		lost := resultOf(t, 1, assay.InfraFail)
		lost.Infra, lost.Permanent, lost.Detail = assay.InfraSandbox, true, "image is gone\nmore"
		return []assay.Result{lost}
	case task == 0 && repeat == 2 && base:
		return nil
	case task == 1 && repeat == 0 && base:
		r := resultOf(t, 1, assay.LimitHit)
		r.Limit, r.Detail = assay.LimitTime, "stopped after 1800 s"
		return []assay.Result{r}
	case task == 1 && repeat == 1 && base:
		r := resultOf(t, 1, assay.Failed)
		r.Model.Priced, r.Model.Tokens.Input = false, 1234
		return []assay.Result{miss(r, assay.CheckResult{Name: "style", Kind: assay.CheckFileContains, Status: assay.CheckFailed, Clause: evilClause, Detail: "not found"})}
	case task == 2 && base:
		return []assay.Result{miss(resultOf(t, 1, assay.Integrity), assay.CheckResult{Name: "untouched", Kind: assay.CheckTestsUnmodified,
			Status: assay.CheckIntegrity, Detail: "tests/test_a.py was changed"})}
	}
	return []assay.Result{resultOf(t, 1, assay.Passed)}
}

func rendered(t testing.TB, r Report, s Style) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Render(r, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	r := Build(varied())
	for name, s := range map[string]Style{
		"terminal.txt": {Format: "terminal"}, "terminal80.txt": {Format: "terminal", Width: 80},
		"terminal-color.txt": {Format: "terminal", Width: 120, Color: true}, "report.md": {Format: "markdown"},
		"report.json": {Format: "json"}, "report.csv": {Format: "csv"}, "report.xml": {Format: "junit"},
	} {
		t.Run(name, func(t *testing.T) {
			got, path := rendered(t, r, s), filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("differs from %s (go test -update writes it anew):\n%s", path, d)
			}
		})
	}
}

func TestSameBytesInAnyOrderAndZone(t *testing.T) {
	zone := time.FixedZone("far", 9*3600)
	in := varied()
	rand.New(rand.NewSource(7)).Shuffle(len(in.Results), func(i, j int) { in.Results[i], in.Results[j] = in.Results[j], in.Results[i] })
	rand.New(rand.NewSource(8)).Shuffle(len(in.Planned), func(i, j int) { in.Planned[i], in.Planned[j] = in.Planned[j], in.Planned[i] })
	for i := range in.Results {
		in.Results[i].Started = in.Results[i].Started.In(zone)
		in.Results[i].Finished = in.Results[i].Finished.In(zone)
	}
	a, b := Build(varied()), Build(in)
	for _, f := range Formats() {
		if rendered(t, a, Style{Format: f}) != rendered(t, b, Style{Format: f}) {
			t.Errorf("%s depends on the order of results", f)
		}
	}
}

func find(t *testing.T, rows []Row, k Key) Row {
	t.Helper()
	for _, r := range rows {
		if r.Key == k {
			return r
		}
	}
	t.Fatalf("no row %+v", k)
	return Row{}
}

func TestCountingAttemptAndLosses(t *testing.T) {
	r := Build(varied())
	row := find(t, r.Headline, Key{Agent: "claude-code", Model: "sonnet-5", Effort: "high", Variant: assay.Baseline})
	// 3 tasks x 3 repeats + 3 of the broken task: 1 infra, 1 + 3 not run.
	if row.Trials != 12 || row.N != 7 || row.Resolved != 2 || row.Outcomes[assay.InfraFail] != 1 || row.Outcomes[assay.NotRun] != 4 {
		t.Errorf("row: %+v", row)
	}
	if row.Rate.Method != stat.MethodClustered || row.Rate.Clusters != 3 || !row.Rate.Few {
		t.Errorf("interval: %+v", row.Rate)
	}
	if row.Worst != round(2.0/12) || row.Best != round(7.0/12) {
		t.Errorf("bounds: %v %v", row.Worst, row.Best)
	}
	want := Lost{Attempts: 2, Tokens: assay.Tokens{Input: 2000, CacheRead: 40000, CacheWrite: 6000, Output: 1000},
		Cost: Money{USD: 0.25, Known: 2}, Seconds: 180}
	if d := cmp.Diff(want, row.Lost); d != "" {
		t.Error(d)
	}
	if row.Cost.Unknown != 1 || !strings.HasPrefix(row.Cost.String(), "≥$") || !row.Differ {
		t.Errorf("cost %v, differ %v", row.Cost, row.Differ)
	}
	if oracle := find(t, r.Headline, Key{Agent: "oracle", Variant: assay.Baseline}); oracle.Cost.String() != "-" ||
		oracle.Rate.Method != stat.MethodWilson {
		t.Errorf("oracle: %+v", oracle)
	}
}

func TestCountingIsTheLastWithinTheRate(t *testing.T) {
	trial := trialOf("a", "x", "m", "", assay.Baseline, 1)
	for _, c := range []struct {
		attempts []assay.Outcome
		want     assay.Outcome
		attempt  int
		lost     int
	}{
		{[]assay.Outcome{assay.InfraFail, assay.Passed}, assay.Passed, 2, 1},
		{[]assay.Outcome{assay.Failed, assay.InfraFail}, assay.Failed, 1, 1},
		{[]assay.Outcome{assay.InfraFail, assay.Cancelled}, assay.Cancelled, 2, 2},
		{[]assay.Outcome{assay.Failed, assay.Passed, assay.Cancelled}, assay.Passed, 2, 1},
		{[]assay.Outcome{"martian"}, assay.InfraFail, 1, 0},
	} {
		var in Input
		for i := len(c.attempts); i > 0; i-- {
			in.Results = append(in.Results, resultOf(trial, i, c.attempts[i-1]))
		}
		got := Build(in).Trials
		if len(got) != 1 || got[0].Outcome != c.want || got[0].Attempt != c.attempt || got[0].Lost.Attempts != c.lost {
			t.Errorf("%v: %+v", c.attempts, got)
		}
	}
}

func TestIncompleteIsSaidFirst(t *testing.T) {
	var in Input
	for i := range 63 {
		trial := trialOf(fmt.Sprintf("t%02d", i), "x", "m", "", assay.Baseline, 1)
		in.Planned = append(in.Planned, trial)
		switch {
		case i < 60:
			in.Results = append(in.Results, resultOf(trial, 1, assay.Passed))
		case i < 62:
			in.Results = append(in.Results, resultOf(trial, 1, assay.InfraFail))
		}
	}
	r := Build(in)
	if r.Summary != "60/63 ran; 2 infra, 1 not run" || r.Complete {
		t.Errorf("summary %q, complete %v", r.Summary, r.Complete)
	}
	for _, f := range []string{"terminal", "markdown"} {
		lines := strings.SplitN(rendered(t, r, Style{Format: f}), "\n", 5)
		if !strings.Contains(strings.Join(lines[:4], "\n"), r.Summary) {
			t.Errorf("%s doesn't say it first: %q", f, lines[:4])
		}
	}
	in.Results = in.Results[:60]
	in.Planned = in.Planned[:60]
	if r = Build(in); r.Summary != "60/60 ran" || !r.Complete {
		t.Errorf("summary %q, complete %v", r.Summary, r.Complete)
	}
}

func TestNothingIsNeverNaN(t *testing.T) {
	odd := resultOf(trialOf("a", "x", "m", "", "v", 0), 1, assay.Passed)
	odd.Score, odd.Model.CostUSD = math.NaN(), math.Inf(1)
	odd.Finished = time.Time{}
	lone := trialOf("a", "x", "m", "", "v", 0)
	for name, in := range map[string]Input{
		"empty":      {},
		"only holes": {NotRun: []assay.Unrunnable{{Task: "a", Reason: "r"}}},
		"infra only": {Results: []assay.Result{resultOf(lone, 1, assay.InfraFail)}},
		"never ran":  {Planned: []assay.Trial{lone}},
		"odd floats": {Results: []assay.Result{odd}},
	} {
		r := Build(in)
		for _, f := range Formats() {
			s := rendered(t, r, Style{Format: f, Width: 60})
			for _, bad := range []string{"NaN", "Inf", "%!", "null"} {
				if strings.Contains(s, bad) {
					t.Errorf("%s as %s holds %s:\n%s", name, f, bad, s)
				}
			}
		}
		if name != "odd floats" && r.Complete {
			t.Errorf("%s counts as complete", name)
		}
	}
	if s := rendered(t, Build(Input{Planned: []assay.Trial{lone}}), Style{Format: "markdown"}); !strings.Contains(s, `| 0/0 | ~ | ~ |`) {
		t.Errorf("no ~ where nothing is proven:\n%s", s)
	}
}

func TestResultsOutsideOfThePlanAreLeftOutAndSaid(t *testing.T) {
	a, b := trialOf("a", "x", "", "", "v", 0), trialOf("b", "x", "", "", "v", 0)
	r := Build(Input{Planned: []assay.Trial{a}, Results: []assay.Result{resultOf(a, 1, assay.Passed), resultOf(b, 1, assay.Failed)}})
	if r.Summary != "1/1 ran" || !strings.Contains(strings.Join(r.Notes, "\n"), "1 attempt of trials outside of the plan left out") {
		t.Errorf("%q %q", r.Summary, r.Notes)
	}
}

func TestDifferencesAndRepeats(t *testing.T) {
	var in Input
	for i := range 12 {
		for repeat := range 2 {
			for variant, passes := range map[string]bool{assay.Baseline: i < 3, "better": true} {
				o := assay.Failed
				if passes {
					o = assay.Passed
				}
				in.Results = append(in.Results, resultOf(trialOf(fmt.Sprint("t", i), "x", "m", "", variant, repeat), 1, o))
			}
		}
	}
	r := Build(in)
	if len(r.Differences) != 1 {
		t.Fatalf("differences: %+v", r.Differences)
	}
	d := r.Differences[0]
	if d.From.Variant != assay.Baseline || d.What != "variant" || d.Verdict != stat.Better || d.Gained != 9 || d.Dropped != 0 || d.Diff.Mean != 0.75 || d.Smallest <= 0 {
		t.Errorf("difference: %+v", d)
	}
	want := []Repeated{
		{Key: Key{Agent: "x", Model: "m", Variant: assay.Baseline}, K: 1, Tasks: 12, PassAtK: 0.25, PassHatK: 0.25},
		{Key: Key{Agent: "x", Model: "m", Variant: assay.Baseline}, K: 2, Tasks: 12, PassAtK: 0.25, PassHatK: 0.25},
		{Key: Key{Agent: "x", Model: "m", Variant: "better"}, K: 1, Tasks: 12, PassAtK: 1, PassHatK: 1},
		{Key: Key{Agent: "x", Model: "m", Variant: "better"}, K: 2, Tasks: 12, PassAtK: 1, PassHatK: 1},
	}
	if d := cmp.Diff(want, r.Repeated); d != "" {
		t.Error(d)
	}
}

func TestMissesGoDownToTheClause(t *testing.T) {
	for _, m := range Build(varied()).Misses {
		if m.Agent == "nop" && m.Task == "date-parse" {
			want := []Broken{{Check: "hidden", Kind: assay.CheckTests, Status: assay.CheckFailed, Clause: "dates before 1970 parse",
				Test: "tests.test_x::test_y[a b]", Verdict: assay.TestFailed, Message: "AssertionError: 1 != 2"}}
			if d := cmp.Diff(want, m.Clauses); d != "" {
				t.Error(d)
			}
			return
		}
	}
	t.Error("no miss of nop")
}

func TestJSONReadsBackAndRendersTheSame(t *testing.T) {
	r := Build(varied())
	var back Report
	if err := json.Unmarshal([]byte(rendered(t, r, Style{Format: "json"})), &back); err != nil {
		t.Fatal(err)
	}
	// What isn't UTF-8 text comes back replaced; the rest is the same.
	if d := cmp.Diff(r, back, cmpopts.IgnoreUnexported(Trial{}), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	for _, f := range Formats() {
		if rendered(t, r, Style{Format: f}) != rendered(t, back, Style{Format: f}) {
			t.Errorf("%s differs when made from the JSON", f)
		}
	}
}

func TestUnknownFormatIsAUsersError(t *testing.T) {
	if err := Render(Report{}, "pdf", &bytes.Buffer{}); !assay.IsUser(err) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkReport(b *testing.B) {
	var in Input
	for i := range 20000 {
		trial := trialOf(fmt.Sprint("task-", i%500), "claude-code", fmt.Sprint("m", i/500%4), "", assay.Baseline, i/2000)
		in.Planned = append(in.Planned, trial)
		r := resultOf(trial, 1, assay.Passed)
		if i%3 == 0 {
			r = miss(resultOf(trial, 1, assay.Failed), assay.CheckResult{Name: "hidden", Status: assay.CheckFailed, Clause: evilClause})
		}
		in.Results = append(in.Results, r)
	}
	b.Run("build", func(b *testing.B) {
		for range b.N {
			Build(in)
		}
	})
	r := Build(in)
	for _, f := range Formats() {
		b.Run(f, func(b *testing.B) {
			for range b.N {
				rendered(b, r, Style{Format: f, Width: 100})
			}
		})
	}
}
