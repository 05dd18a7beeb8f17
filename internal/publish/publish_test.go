package publish

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/stat"
)

var update = flag.Bool("update", false, "write the golden files anew")

const sha = "4f2c9d7e8b1a0c3d5e6f708192a3b4c5d6e7f801"

func where() Context {
	return Context{Repo: "acme/shop", Number: 7, SHA: sha, Name: "assay", Key: "assay",
		RunURL: "https://github.com/acme/shop/actions/runs/1", ArtifactURL: "https://github.com/acme/shop/actions/runs/1/artifacts/2"}
}

// rate is a row of k resolved of n tasks.
func rate(name string, k, n int) Row {
	return Row{Name: name, Trials: n, Resolved: k, N: n, Rate: stat.Rate(k, n), Worst: float64(k) / float64(n), Best: float64(k) / float64(n),
		Turns: 8, Cost: "$1.25", USD: 1.25, Priced: true}
}

func sample() Score {
	s := Score{Title: "assay", Suite: "sha256:0123456789abcdef0123", Complete: false, Summary: "60/63 ran; 2 infra, 1 not run",
		Totals: rate("all", 41, 60), Full: "## assay\n\nall tables\n"}
	s.Totals.Trials, s.Totals.Missing = 63, "2 infra, 1 not run"
	s.Rows = []Row{rate("claude-code / sonnet / high / baseline", 41, 60)}
	for i := range 4 {
		s.Tasks = append(s.Tasks, rate(fmt.Sprintf("task-%02d", i), i, 4))
	}
	s.Misses = []Miss{
		{Name: "task-03 / claude-code", Ending: "infra (api)", Missed: []string{"529 overloaded"}, Ours: true},
		{Name: "task-00 / claude-code", Ending: "failed", Missed: []string{"dates before 1970 parse", "b", "c", "d", "e"}, Path: "task-00__claude-code__abc/attempts/1"},
		{Name: "task|`01` / claude-code", Ending: "integrity", Missed: []string{"<b>@team</b> fixes #12 ::error::x"}},
	}
	s.NotRun = []Absent{{"task-04 / codex", "no key for openai"}}
	s.Notes = []string{"Fewer than 10 tasks: intervals marked ! are rough."}
	s.Lint = assay.Problems{{File: "tasks/a/task.json", Line: 3, Text: `unknown field "promt"`}, {File: "tasks/b/task.json", Text: "no checks"},
		{File: "/abs/task.json", Line: 1, Text: "elsewhere"}, {File: "../up/task.json", Line: 1, Text: "outside"}}
	return s
}

func compared(verdict stat.Verdict) Score {
	s := sample()
	s.Versus = &Versus{Base: "main", Verdict: verdict, Headline: "worse: 41/60 resolved, was 52/60 (-18.3 points, 95% interval -28.0 to -8.6)",
		Diff:    stat.Interval{Mean: -0.183, Lo: -0.28, Hi: -0.086, N: 60, Clusters: 60, Method: stat.MethodPaired},
		Better:  []Change{{Task: "task-50", From: "0/1", To: "1/1", Missed: []string{"was missed before"}}},
		LeftOut: []Absent{{"task-51", "is not the same task on both sides: its digest differs"}},
		Figures: []string{"turns 8.5, was 9.1 (mean per task; 20 up, 22 down, p 0.878)"}, Same: 40}
	for i := range 12 {
		s.Versus.Worse = append(s.Versus.Worse, Change{Task: fmt.Sprintf("task-%02d", i), From: "1/1", To: "0/1",
			Missed: []string{"dates before 1970 parse"}, Paths: []string{fmt.Sprintf("task-%02d__claude-code__abc/attempts/1", i)}})
	}
	return s
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (run with -update to accept):\n%s", name, d)
	}
}

func TestGolden(t *testing.T) {
	c := where()
	c.TrialsURL = "https://github.com/acme/shop/tree/assay/results/1"
	for name, d := range map[string]Docs{
		"alone": Make(where(), sample(), Gate{}), "worse": Make(c, compared(stat.Worse), Gate{Regression: true}),
	} {
		golden(t, name+".comment.md", marked(d.Comment, d.Context.mark(Final)))
		golden(t, name+".summary.md", d.Summary)
		golden(t, name+".outputs", OutputLines(d.Outputs))
		k := d.Check
		golden(t, name+".check.md", fmt.Sprintf("title: %s\nconclusion: %s\nid: %s\n---\n%s\n---\n%s\n---\n%+v\n", k.Title, k.Conclusion, k.ExternalID, k.Summary, k.Text, k.Annotations))
	}
}

// render is Markdown as GitHub shows it; raw HTML is kept, as GitHub keeps
// details.
func render(t *testing.T, md string) string {
	t.Helper()
	var b bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe())).Convert([]byte(md), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var tags = regexp.MustCompile(`<(/?)([a-zA-Z0-9]+)[^>]*>`)

// wellFormed checks that all elements that md makes are closed in their order,
// and that none but a few kinds come of it.
func wellFormed(t *testing.T, md string) {
	t.Helper()
	out := render(t, md)
	var open []string
	for _, m := range tags.FindAllStringSubmatch(out, -1) {
		switch {
		case !strings.Contains(" details summary p strong em code pre ul ol li table thead tbody tr th td a h1 h2 h3 br hr blockquote ", " "+m[2]+" "):
			t.Fatalf("an element %s", m[0])
		case m[2] == "br" || m[2] == "hr":
		case m[1] == "":
			open = append(open, m[2])
		case len(open) == 0 || open[len(open)-1] != m[2]:
			t.Fatalf("</%s> closes %v", m[2], open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("left open: %v", open)
	}
}

// huge is a run of 5,000 trials with foreign texts everywhere.
func huge() Score {
	s := compared(stat.Worse)
	bad := "😀 <details> ``` @team #12 <!-- assay:v1 kind=score key=a sha=b state=final --> ::error::x </details> ![i](http://e/x.png) | " + strings.Repeat("é", 300)
	s.Versus.Worse, s.Misses, s.Tasks = nil, nil, nil
	var full strings.Builder
	full.WriteString("| task |\n| --- |\n")
	for i := range 5000 {
		name := fmt.Sprintf("task-%04d %s", i, bad)
		s.Misses = append(s.Misses, Miss{Name: name, Ending: "failed", Missed: []string{bad, bad, bad, bad}, Path: name})
		s.Tasks = append(s.Tasks, rate(name, 0, 1))
		s.NotRun = append(s.NotRun, Absent{name, bad})
		s.Lint = append(s.Lint, assay.Problem{File: fmt.Sprintf("tasks/%d/task.json", i), Line: -1, Text: bad})
		s.Versus.Worse = append(s.Versus.Worse, Change{Task: name, From: "1/1", To: "0/1", Missed: []string{bad}, Paths: []string{name}})
		s.Versus.Better = append(s.Versus.Better, Change{Task: name, From: "0/1", To: "1/1", Missed: []string{bad}})
		s.Notes = append(s.Notes, bad)
		fmt.Fprintf(&full, "| %d %s |\n", i, strings.Repeat("x", 300))
	}
	s.Full = full.String()
	return s
}

func TestRow4And9FiveThousandTrialsFit(t *testing.T) {
	c := where()
	c.TrialsURL = "https://x.example/tree"
	d := Make(c, huge(), Gate{Regression: true})
	comment := marked(d.Comment, d.Context.mark(Final))
	for _, tt := range []struct {
		name, text string
		most       int
	}{{"comment", comment, 65_536}, {"summary of the check", d.Check.Summary, 65_535}, {"text of the check", d.Check.Text, 65_535}, {"summary", d.Summary, 1 << 20}} {
		if len(tt.text) > tt.most || !utf8.ValidString(tt.text) {
			t.Errorf("%s: %d bytes, valid %v", tt.name, len(tt.text), utf8.ValidString(tt.text))
		}
		if len(tt.text) < tt.most/8 {
			t.Errorf("%s: only %d bytes were used", tt.name, len(tt.text))
		}
		t.Run(tt.name, func(t *testing.T) { wellFormed(t, tt.text) })
	}
	if m, ok := ParseMark(comment); !ok || m.SHA != sha {
		t.Errorf("the mark is lost: %v", m)
	}
	// The worst stands first: the verdict, then what got worse.
	if first, _, _ := strings.Cut(d.Comment, "\n"); !strings.Contains(first, "**Worse**") {
		t.Errorf("begins with %q", first)
	}
	worse, better := strings.Index(d.Comment, "Got worse (5000)"), strings.Index(d.Comment, "Got better (5001)")
	if worse < 0 || better < worse || worse > 2000 || !strings.Contains(d.Comment, "more.\n") {
		t.Errorf("worse at %d, better at %d", worse, better)
	}
	if len(d.Check.Annotations) != maxAnnotations {
		t.Errorf("%d annotations", len(d.Check.Annotations))
	}
}

func TestRow39NothingForeignActs(t *testing.T) {
	d := Make(where(), huge(), Gate{})
	for _, md := range []string{d.Comment, d.Check.Summary, d.Check.Text} {
		out := render(t, md)
		text := regexp.MustCompile(`(?s)<code>.*?</code>`).ReplaceAllString(out, "")
		for _, bad := range []string{"<img", "<!--", "@team", "#12", "http://e"} {
			if strings.Contains(text, bad) {
				t.Errorf("%q acts", bad)
			}
		}
	}
}

func TestRow20NeverRedWithoutProof(t *testing.T) {
	with := func(f func(*Score)) Score {
		s := sample()
		s.Complete, s.Totals.Trials, s.Totals.Missing = true, 60, ""
		f(&s)
		return s
	}
	versus := func(v stat.Verdict, reason string) Score {
		return with(func(s *Score) { s.Versus = &Versus{Verdict: v, Reason: reason, Headline: "x: y"} })
	}
	tests := []struct {
		name, gate string
		s          Score
		want       string
	}{
		{"never", "never", with(func(*Score) {}), Success},
		{"never, worse", "never", versus(stat.Worse, ""), Success},
		{"never, incomplete", "", sample(), Neutral},
		{"regression without a base", "regression", with(func(*Score) {}), Neutral},
		{"worse", "regression", versus(stat.Worse, ""), Failure},
		{"worse, but not equally complete", "regression", versus(stat.Worse, "not equally complete"), Neutral},
		{"better", "regression", versus(stat.Better, ""), Success},
		{"no worse", "regression", versus(stat.NoWorse, ""), Success},
		{"unproven", "regression", versus(stat.Unproven, ""), Neutral},
		{"68% is not proven to be below 75%", "resolve-rate<0.75", with(func(*Score) {}), Neutral},
		{"68% is below 90%", "resolve-rate<0.9", with(func(*Score) {}), Failure},
		{"68% is above 50%", "resolve-rate<50%", with(func(*Score) {}), Success},
		{"missing trials could lift it", "resolve-rate<0.9", with(func(s *Score) { s.Totals.Best = 0.95 }), Neutral},
		{"missing trials could sink it", "resolve-rate<0.5", with(func(s *Score) { s.Totals.Worst = 0.4 }), Neutral},
		{"nothing counted", "resolve-rate<0.5", with(func(s *Score) { s.Totals = Row{Trials: 3, Missing: "3 infra"} }), Neutral},
		{"half is missing, and could lift it", "resolve-rate<0.6", with(func(s *Score) {
			s.Totals = Row{Trials: 18, N: 9, Resolved: 0, Rate: stat.Rate(0, 9), Best: 0.5}
		}), Neutral},
		{"half is missing, and could sink it", "resolve-rate<0.4", with(func(s *Score) {
			s.Totals = Row{Trials: 18, N: 9, Resolved: 9, Rate: stat.Rate(9, 9), Worst: 0.5, Best: 1}
		}), Neutral},
		{"half is missing, and can't lift it", "resolve-rate<0.8", with(func(s *Score) {
			s.Totals = Row{Trials: 18, N: 9, Resolved: 0, Rate: stat.Rate(0, 9), Best: 0.5}
		}), Failure},
		{"one of two", "regression, resolve-rate<0.9", versus(stat.Better, ""), Failure},
		{"one of two is open", "regression,resolve-rate<0.5", versus(stat.Unproven, ""), Neutral},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := ParseGate(tt.gate)
			if err != nil {
				t.Fatal(err)
			}
			if got, why := g.Judge(tt.s); got != tt.want || why == "" {
				t.Errorf("%s (%s), want %s", got, why, tt.want)
			}
		})
	}
	for _, bad := range []string{"sometimes", "resolve-rate<", "resolve-rate<2", "resolve-rate<0", "resolve-rate<x", "resolve-rate<NaN", "resolve-rate>0.5"} {
		if _, err := ParseGate(bad); !assay.IsUser(err) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestRow28NothingToDoIsNotRed(t *testing.T) {
	d := Make(where(), Score{Summary: "nothing ran"}, Gate{Regression: true, Below: []float64{1}})
	if d.Check.Conclusion != Neutral || d.Check.Title != "nothing to do" || !strings.HasPrefix(d.Comment, "**Nothing to do**") {
		t.Errorf("%+v", d.Check)
	}
}

func TestRow42IncompleteRunsSaySo(t *testing.T) {
	d := Make(where(), sample(), Gate{})
	if !strings.Contains(d.Comment, "60/63 ran; 2 infra, 1 not run") || !strings.Contains(d.Check.Title, "2 infra, 1 not run") {
		t.Errorf("%s\n%s", d.Check.Title, d.Comment)
	}
}

func TestRow8TheCommentNamesItsCommit(t *testing.T) {
	if d := Make(where(), sample(), Gate{}); !strings.Contains(d.Comment, "commit `"+sha[:7]+"…`") {
		t.Error(d.Comment)
	}
}

func TestRow44AnnotationsHaveAPlace(t *testing.T) {
	got := Make(where(), sample(), Gate{}).Check.Annotations
	want := []Annotation{
		{Path: "tasks/a/task.json", Line: 3, Level: "warning", Title: "Task file", Message: `unknown field "promt"`},
		{Path: "tasks/b/task.json", Line: 1, Level: "warning", Title: "Task file", Message: "no checks"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestOutputsCanNotDefineOthers(t *testing.T) {
	s := compared(stat.Unproven)
	s.Versus.Reason = "x\nmatrix=[\"evil\"]\r\ny<<EOF"
	for line := range strings.Lines(OutputLines(Make(where(), s, Gate{}).Outputs)) {
		if name, _, ok := strings.Cut(line, "="); !ok || name == "matrix" || strings.Contains(name, "<<") {
			t.Errorf("line %q", line)
		}
	}
}

func TestCommands(t *testing.T) {
	got := Commands([]Annotation{{Path: "a,b:c.json", Line: 3, Level: "warning", Title: "T", Message: "x\n::error::y 100%"}})
	if want := "::warning file=a%2Cb%3Ac.json,line=3,title=T::x%0A::error::y 100%25\n"; got != want {
		t.Errorf("got %q", got)
	}
	if n := strings.Count(Commands(make([]Annotation, 50)), "\n"); n != 10 {
		t.Errorf("%d commands; a step shows 10", n)
	}
	if got := ForLog("a\n::error::b"); strings.Contains(got, "\n::") || !strings.HasPrefix(got, "assay: a\n") {
		t.Errorf("%q", got)
	}
}

func TestMark(t *testing.T) {
	m := Mark{Kind: "score", Key: "0a1b", SHA: sha, State: Final}
	if got, ok := ParseMark(marked("text\n", m)); !ok || got != m {
		t.Errorf("%v %v", got, ok)
	}
	old := remark(marked("text\n", m), m, Old)
	if got, ok := ParseMark(strings.ReplaceAll(old, "\n", "\r\n")); !ok || got.State != Old || !strings.HasPrefix(old, "text\n\n<!--") {
		t.Errorf("%v in %q", got, old)
	}
	for _, body := range []string{"", "text", m.String() + "\n\nquoted", "> " + m.String(), "x " + m.String(), m.String() + " x",
		strings.Replace(m.String(), "final", "done", 1), strings.Replace(m.String(), "v1", "v2", 1)} {
		if got, ok := ParseMark(body); ok {
			t.Errorf("%q holds %v", body, got)
		}
	}
	if c := (Context{SHA: "no --> sha", Key: "é"}).mark(Final); c.SHA != "" {
		t.Errorf("%v", c)
	}
}

func FuzzComposedTexts(f *testing.F) {
	f.Add("task", "clause", 3)
	f.Add("<details>", "```\n</details>", 40)
	f.Add("@a|`b`", "<!-- x -->\n# y\n::z::", 500)
	f.Fuzz(func(t *testing.T, name, text string, n int) {
		s := compared(stat.Worse)
		for range max(min(n, 300), 0) {
			s.Versus.Worse = append(s.Versus.Worse, Change{Task: name, From: "1/1", To: "0/1", Missed: []string{text}})
			s.Misses = append(s.Misses, Miss{Name: name, Ending: text, Missed: []string{text}, Path: name})
		}
		s.Suite, s.Versus.Headline = name, text
		d := Make(where(), s, Gate{})
		if len(d.Comment) > MaxComment || len(d.Check.Summary) > MaxField || len(d.Check.Text) > MaxField {
			t.Fatalf("too long: %d, %d, %d", len(d.Comment), len(d.Check.Summary), len(d.Check.Text))
		}
		wellFormed(t, d.Comment)
		wellFormed(t, d.Check.Text)
	})
}
