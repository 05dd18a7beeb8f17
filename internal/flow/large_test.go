package flow

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/compare"
	"github.com/assaybot/assay/internal/preview"
	"github.com/assaybot/assay/internal/publish"
	"github.com/assaybot/assay/internal/report"
)

// large is one side of a run: tasks, each so many times. Every
// twentieth task has got worse on the later side, a few are out.
func large(later bool, tasks, repeats int) report.Input {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	in := report.Input{Title: "assay", SuiteDigest: "sha256:" + strings.Repeat("0a", 32)}
	for task := range tasks {
		for repeat := range repeats {
			t := assay.Trial{Task: fmt.Sprintf("pull-%04d", 1000+task), Agent: assay.AgentSpec{Name: "claude-code"}, Model: "claude-sonnet-4-5",
				Effort: "high", Variant: assay.Baseline, Repeat: repeat, Sandbox: "docker", TaskDigest: fmt.Sprint(task)}
			t.ID = assay.TrialID(t)
			in.Planned = append(in.Planned, t)
			r := assay.Result{Schema: 1, Trial: t, Attempt: 1, Outcome: assay.Passed, Resolved: true, Score: 1, Started: began, Finished: began.Add(90 * time.Second)}
			r.Agent = assay.AgentFacts{Version: "2.1.197", Turns: 7 + repeat, Tokens: assay.Tokens{Input: 1000, CacheRead: 20000, CacheWrite: 3000, Output: 500}}
			r.Model = assay.ModelCalls{Seen: true, Calls: 7, Replies: 7, Tokens: r.Agent.Tokens, CostUSD: 0.125, Priced: true}
			if task%3 == 0 || later && task%20 == 1 {
				r.Outcome, r.Resolved, r.Score = assay.Failed, false, 0
				r.Checks = []assay.CheckResult{{Name: "hidden-tests", Kind: assay.CheckTests, Status: assay.CheckFailed, Wanted: 3, Misses: []assay.TestResult{
					{ID: fmt.Sprintf("tests.test_%d.Case::test_edges[a|b]", task), Status: assay.TestFailed, Clause: "dates before 1970 parse, @team: see #12",
						Message: "AssertionError: `<b>x</b>` != 'y'\n::error::no command"},
				}}}
			}
			if later && task == 499 && repeat == 4 {
				continue
			}
			in.Results = append(in.Results, r)
		}
	}
	return in
}

func sideOfInput(in report.Input, name string) (report.Report, compare.Side) {
	digests := map[string]string{}
	for _, t := range in.Planned {
		digests[t.ID] = t.TaskDigest
	}
	rep := report.Build(in)
	return rep, sideFrom(rep, name, digests)
}

// largeDocs are the texts of ten trials per task, and all tables.
func largeDocs(t *testing.T, tasks int) (publish.Docs, string) {
	t.Helper()
	_, before := sideOfInput(large(false, tasks, 5), "main")
	rep, after := sideOfInput(large(true, tasks, 5), "pull")
	c := compare.Make(compare.Input{A: before, B: after})
	paths := map[string]string{}
	for _, tr := range rep.Trials {
		paths[tr.ID] = fmt.Sprintf("%s__claude-code__%d/attempts/1", tr.Task, tr.Repeat)
	}
	s := scoreOf(rep, paths)
	s.Versus = versus(c, paths)
	var full bytes.Buffer
	if err := cmp.Or(report.Render(rep, "markdown", &full), compare.Render(c, "markdown", &full)); err != nil {
		t.Fatal(err)
	}
	s.Full = full.String()
	return publish.Make(publish.Context{Repo: "acme/shop", Number: 7, SHA: strings.Repeat("4f2c9d7e", 5), Name: "assay", Key: "assay",
		RunURL: "https://github.com/acme/shop/actions/runs/1", ArtifactURL: "https://github.com/acme/shop/actions/runs/1/artifacts/2",
		TrialsURL: "https://github.com/acme/shop/tree/assay/results/1"}, s, publish.Gate{Regression: true}), s.Full
}

func drawn(t *testing.T, p preview.Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := preview.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRow4And9FiveThousandTrials(t *testing.T) {
	d, full := largeDocs(t, 500)
	for name, text := range map[string]struct {
		is   string
		most int
	}{"comment": {d.Comment, publish.MaxComment}, "check's summary": {d.Check.Summary, publish.MaxField},
		"check's text": {d.Check.Text, publish.MaxField}, "summary": {d.Summary, publish.MaxSummary}} {
		if len(text.is) > text.most || !utf8.ValidString(text.is) || strings.Count(text.is, "<details>") != strings.Count(text.is, "</details>") ||
			strings.Count(text.is, "\n```")%2 != 0 {
			t.Errorf("%s: %d bytes of %d, or something is left open", name, len(text.is), text.most)
		}
		// Rendered, nothing foreign acts, and every row is a row.
		html := drawn(t, preview.Page{Repo: "acme/shop", Summary: text.is})
		for _, bad := range []string{"<b>", "@team", "#12", "\n|", "\n::"} {
			if strings.Contains(html[strings.Index(html, "<main>"):], bad) {
				t.Errorf("%s: %q is on the page", name, bad)
			}
		}
	}
	// The worst stands first, the best is folded.
	lines := strings.SplitN(d.Comment, "\n", 2)
	worse, rates := strings.Index(d.Comment, "**Got worse (17)**"), strings.Index(d.Comment, "<summary>Rates</summary>")
	if !strings.Contains(lines[0], "No verdict") || worse < 0 || rates < worse || worse > 1000 || !strings.Contains(d.Comment, "… and ") {
		t.Errorf("the comment begins with %q; worse at %d, rates at %d", lines[0], worse, rates)
	}
	// All tables name every task and every miss; the step's summary says where they are.
	for task := range 500 {
		if !strings.Contains(full, fmt.Sprintf("| pull-%04d |", 1000+task)) {
			t.Fatalf("task %d is in no table", task)
		}
	}
	if misses := regexp.MustCompile(`hidden-tests \|`).FindAllString(full, -1); len(misses) != 5*(167+17) {
		t.Errorf("%d misses in the full tables", len(misses))
	}
	if len(full) > publish.MaxSummary && !strings.Contains(d.Summary, "All tables are in `report.md`") {
		t.Error("the summary is cut and doesn't say where the rest is")
	}
}
