package flow

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/compare"
	"github.com/assaybot/assay/internal/plain"
	"github.com/assaybot/assay/internal/preview"
	"github.com/assaybot/assay/internal/publish"
	"github.com/assaybot/assay/internal/report"
)

// foreign are texts of agents, tasks and tests that do something where nobody
// takes care.
func foreign() []string {
	return []string{
		"@team/all", "&#64;team", "&commat;team", "&amp;#64;team", "fixes #12", "GH-7", "octo/repo#3", "https://github.com/o/r/issues/1", "www.e.example",
		"a|b", "`x`", "``` x", "x\n| y |\n| --- |", "\u202eright", "\u2066x", "\x1b[31mred\x1b[2J", "::error::boom", "x\n::set-output name=a::b", "##[error]x",
		"<b>x</b>", "</details><h1>x", "<!-- assay:v1 kind=score key=x sha=y state=final -->", "![x](http://e/x.png)", "[x](javascript:alert(1))",
		"# head", "x\n\n# head\n---", "$a$ b $c$", ":shipit:", "\x00\a\b", "\xff\xfe", "<script>alert(1)</script>",
	}
}

// hostile is one side of a run whose every text is foreign.
func hostile(bad string) report.Input {
	in := report.Input{Title: "assay " + bad, SuiteDigest: bad, Problems: assay.Problems{{File: bad, Line: 1, Text: bad}},
		NotRun: []assay.Unrunnable{{Task: "t " + bad, Agent: bad, Reason: bad}}}
	for i, outcome := range []assay.Outcome{assay.Failed, assay.AgentError, assay.InfraFail} {
		t := assay.Trial{Task: fmt.Sprintf("t%d %s", i, bad), Agent: assay.AgentSpec{Name: "command", Label: bad}, Model: bad, Effort: bad, Variant: bad, TaskDigest: "d"}
		t.ID = assay.TrialID(t)
		in.Planned = append(in.Planned, t)
		r := assay.Result{Schema: 1, Trial: t, Attempt: 1, Outcome: outcome, Detail: bad, Checks: []assay.CheckResult{{Name: bad, Kind: assay.CheckTests,
			Status: assay.CheckFailed, Wanted: 1, Detail: bad, Misses: []assay.TestResult{{ID: bad, Status: assay.TestFailed, Clause: bad, Message: bad}}}}}
		in.Results = append(in.Results, r)
	}
	return in
}

var (
	code    = regexp.MustCompile(`(?s)<code>.*?</code>`)
	element = regexp.MustCompile(`</?([a-z0-9]+)[^>]*>`)
	acts    = regexp.MustCompile(`@[A-Za-z0-9]|#\d|(?i:\bGH-\d)|https?://|www\.|(?m:^\s*::)|:shipit:`)
)

// quietly checks that nothing in Markdown acts once GitHub has drawn it: what
// mentions and refers is looked for in the text as it is shown, where an
// entity is a letter again.
func quietly(t *testing.T, where, bad, md string) {
	t.Helper()
	page := drawn(t, preview.Page{Repo: "r", Summary: md})
	_, page, _ = strings.Cut(page, `<div class="markdown">`)
	page, _, _ = strings.Cut(page, "</main>")
	page = code.ReplaceAllString(page, "")
	for _, m := range element.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(" details summary p strong em ul ol li table thead tbody tr th td h2 h3 div article section ", " "+m[1]+" ") {
			t.Errorf("%s: %q makes %s", where, bad, m[0])
		}
	}
	shown := html.UnescapeString(element.ReplaceAllString(page, ""))
	if at := acts.FindString(shown); at != "" {
		t.Errorf("%s: %q acts: %q", where, bad, at)
	}
	if strings.Contains(md, "##[") {
		t.Errorf("%s: %q is a command, should it be printed", where, bad)
	}
	if strings.Contains(md, "<!--") {
		t.Errorf("%s: %q hides something", where, bad)
	}
	visibly(t, where, bad, md)
}

// visibly checks for characters that can't be seen or that turn text around,
// but for the blank that parts what would act.
func visibly(t *testing.T, where, bad, text string) {
	t.Helper()
	for _, r := range strings.ReplaceAll(text, "\u200b", "") {
		if r != '\n' && r != '\ufffd' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Errorf("%s: %q keeps %U", where, bad, r)
			return
		}
	}
}

func TestRow38And39NothingForeignActsAtAnyExit(t *testing.T) {
	for _, bad := range foreign() {
		rep, side := sideOfInput(hostile(bad), bad)
		before := side
		before.Trials = append([]compare.Trial(nil), side.Trials...)
		for i := range before.Trials {
			before.Trials[i].Outcome, before.Trials[i].Resolved = assay.Passed, true
		}
		c := compare.Make(compare.Input{A: before, B: side})
		s := scoreOf(rep, nil)
		s.Versus = versus(c, nil)
		s.Lint.Addf("tasks/a/task.json", 1, "%s", bad)
		var full, screen bytes.Buffer
		for format, w := range map[string]*bytes.Buffer{"markdown": &full, "terminal": &screen} {
			if err := report.Render(rep, format, w); err != nil {
				t.Fatal(err)
			}
			if err := compare.Render(c, format, w); err != nil {
				t.Fatal(err)
			}
		}
		s.Full = full.String()
		d := publish.Make(publish.Context{Repo: "acme/shop", Number: 7, SHA: "abc", Name: "assay", Key: "assay"}, s, publish.Gate{Regression: true})
		quietly(t, "comment", bad, d.Comment)
		quietly(t, "check's summary", bad, d.Check.Summary)
		quietly(t, "check's text", bad, d.Check.Text)
		quietly(t, "job summary", bad, d.Summary)
		visibly(t, "title", bad, d.Check.Title)
		visibly(t, "terminal", bad, screen.String())
		for line := range strings.Lines(publish.ForLog(bad) + "\n" + plain.Log(d.Why)) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Errorf("log: %q is the command %q", bad, line)
			}
		}
		visibly(t, "log", bad, publish.ForLog(bad))
		if n := strings.Count(publish.Commands(d.Check.Annotations), "\n::"); n > 0 {
			t.Errorf("annotations: %q makes %d commands more", bad, n)
		}
		if lines := strings.Count(publish.OutputLines(d.Outputs), "\n"); lines != len(d.Outputs) {
			t.Errorf("outputs: %q makes %d lines of %d", bad, lines, len(d.Outputs))
		}
	}
}
