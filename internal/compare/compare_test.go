package compare

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/stat"
)

var update = flag.Bool("update", false, "write the golden files anew")

// trials makes one trial per mark for each task: "+" passed, "-" failed, "i"
// infra, "n" not run, "c" cancelled.
func trials(cell Cell, marks ...string) []Trial {
	var out []Trial
	for task, repeats := range marks {
		for r, mark := range repeats {
			t := Trial{ID: fmt.Sprintf("%s-%d-%d", cell.Variant, task, r), Task: fmt.Sprintf("task-%02d", task),
				Digest: "d", Cell: cell, Repeat: r, Version: "1.0", Turns: 4 + task, Seconds: 60, USD: 0.25, Spent: true, Priced: true}
			switch mark {
			case '+':
				t.Outcome, t.Resolved = assay.Passed, true
			case '-':
				t.Outcome, t.Clauses = assay.Failed, []string{"dates before 1970 parse"}
			case 'i':
				t.Outcome = assay.InfraFail
			case 'n':
				t.Outcome = assay.NotRun
			case 'c':
				t.Outcome = assay.Cancelled
			}
			out = append(out, t)
		}
	}
	return out
}

func repeat(n int, mark string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = mark
	}
	return out
}

func made(a, b []string, margin float64) Comparison {
	cell := Cell{Agent: "claude-code", Model: "sonnet"}
	return Make(Input{Axis: "variant", Margin: margin,
		A: Side{"baseline", trials(cell, a...)}, B: Side{"agents-md", trials(cell, b...)}})
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		name   string
		a, b   []string
		margin float64
		want   stat.Verdict
		reason string
	}{
		{"six of six down", repeat(6, "+"), repeat(6, "-"), 0, stat.Worse, ""},
		{"five of five down prove nothing", repeat(5, "+"), repeat(5, "-"), 0, stat.Unproven, ""},
		{"up", repeat(8, "-"), repeat(8, "+"), 0, stat.Better, ""},
		{"the same", repeat(40, "+"), repeat(40, "+"), 0, stat.Unproven, ""},
		{"no worse", repeat(40, "+"), repeat(40, "+"), 0.2, stat.NoWorse, ""},
		{"too few for the margin", repeat(4, "+"), repeat(4, "+"), 0.2, stat.Unproven, ""},
		{"repeats", repeat(12, "+++"), repeat(12, "+--"), 0, stat.Worse, ""},
		{"infra on one side", repeat(8, "+"), append(repeat(7, "-"), "i"), 0, stat.Unproven, "not equally complete: the second lacks 1 trial that the first has"},
		{"not run on the other", append(repeat(7, "+"), "n"), repeat(8, "-"), 0, stat.Unproven, "the first lacks 1 trial that the second has"},
		{"the same is missing", append(repeat(7, "+"), "i"), append(repeat(7, "-"), "n"), 0, stat.Worse, ""},
		{"different tasks are missing", append(repeat(8, "+"), "i", "+"), append(repeat(8, "-"), "-", "i"), 0, stat.Unproven, "the first lacks 1 trial and the second 1 trial that the other has"},
		{"a repeat is missing", append(repeat(8, "++"), "+i"), append(repeat(8, "--"), "--"), 0, stat.Unproven, "not equally complete"},
		{"nothing finished", repeat(3, "i"), repeat(3, "n"), 0, stat.Unproven, "no task was finished"},
		{"nothing at all", nil, nil, 0, stat.Unproven, "no task was finished"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := made(tt.a, tt.b, tt.margin)
			if c.Verdict != tt.want || !strings.Contains(c.Reason, tt.reason) || (tt.reason == "") != (c.Reason == "") {
				t.Errorf("got %q (%s), %s", c.Verdict, c.Reason, c.Headline())
			}
		})
	}
}

func TestMcNemarIsForSingleTrialsOnly(t *testing.T) {
	c := made(repeat(6, "+"), repeat(6, "-"), 0)
	if c.P == nil || *c.P != 0.03125 {
		t.Errorf("p = %v, want 1/32", c.P)
	}
	if c = made(repeat(6, "++"), repeat(6, "--"), 0); c.P != nil {
		t.Errorf("p = %v for repeats", *c.P)
	}
	// 20 unequal tasks, 14 against 6: the exact test says 0.115.
	a, b := append(repeat(14, "+"), repeat(6, "-")...), append(repeat(14, "-"), repeat(6, "+")...)
	if c = made(a, b, 0); c.Verdict != stat.Unproven || c.Diff.Lo > 0 || c.Diff.Hi < 0 {
		t.Errorf("%s %+v", c.Verdict, c.Diff)
	}
}

func TestChangesAreTheLargestFirst(t *testing.T) {
	c := made([]string{"+++", "+++", "+-+", "---"}, []string{"++-", "---", "+-+", "++-"}, 0)
	want := []Change{
		{Task: "task-01", A: Tally{3, 3}, B: Tally{0, 3}, Missed: []string{"dates before 1970 parse"}, Trials: []string{"-1-0", "-1-1", "-1-2"}},
		{Task: "task-00", A: Tally{3, 3}, B: Tally{2, 3}, Missed: []string{"dates before 1970 parse"}, Trials: []string{"-0-2"}},
	}
	if d := cmp.Diff(want, c.Worse); d != "" {
		t.Error(d)
	}
	if len(c.Better) != 1 || c.Better[0].Task != "task-03" || c.Same != 1 || c.Tasks != 4 {
		t.Errorf("%+v, %d same of %d", c.Better, c.Same, c.Tasks)
	}
}

func TestAnotherDigestIsLeftOut(t *testing.T) {
	a, b := trials(Cell{}, repeat(8, "+")...), trials(Cell{}, repeat(9, "-")...)
	b[2].Digest, b[3].Digest = "changed", ""
	c := Make(Input{A: Side{"a", a}, B: Side{"b", b}})
	want := []Absent{{"task-02", "is not the same task on both sides: its digest differs"}, {"task-08", "was planned in b only, not in a"}}
	if d := cmp.Diff(want, c.LeftOut); d != "" || c.Tasks != 7 || c.Verdict != stat.Worse {
		t.Errorf("%s\n%d tasks, %s", d, c.Tasks, c.Headline())
	}
}

func TestCells(t *testing.T) {
	x, y, z := Cell{Agent: "x"}, Cell{Agent: "y"}, Cell{Agent: "z"}
	both := func(cs ...Cell) (out []Trial) {
		for _, c := range cs {
			out = append(out, trials(c, "+", "+")...)
		}
		return out
	}
	tests := []struct {
		name    string
		a, b    []Trial
		tasks   int
		leftOut int
		notes   string
		reason  string
	}{
		{"the same", both(x, y), both(x, y), 2, 0, "", ""},
		{"one more", both(x, y), both(x), 2, 1, "", ""},
		{"one each, another", both(x), both(y), 2, 0, "differ in what was run: x, and y", ""},
		{"none in common", both(x, y), both(z), 0, 3, "", "in common"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Make(Input{A: Side{"a", tt.a}, B: Side{"b", tt.b}})
			if c.Tasks != tt.tasks || len(c.LeftOut) != tt.leftOut || !strings.Contains(strings.Join(c.Notes, "\n"), tt.notes) || !strings.Contains(c.Reason, tt.reason) {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestAnotherVersionIsNoted(t *testing.T) {
	a, b := trials(Cell{Agent: "x"}, "+"), trials(Cell{Agent: "x"}, "+")
	b[0].Version = "2.0"
	c := Make(Input{A: Side{"a", a}, B: Side{"b", b}})
	if !strings.Contains(strings.Join(c.Notes, "\n"), "The program of x is not the same: 1.0, and 2.0.") {
		t.Errorf("%q", c.Notes)
	}
}

func TestUnknownCostIsNoZero(t *testing.T) {
	a, b := trials(Cell{}, "+", "+"), trials(Cell{}, "+", "+")
	b[0].Priced, b[0].USD = false, 0
	c := Make(Input{A: Side{"a", a}, B: Side{"b", b}})
	if c.Cost.Tasks != 1 || c.Cost.B != 0.25 || c.Turns.Tasks != 2 || !strings.Contains(strings.Join(c.Notes, ""), "cost of 1 of 2") {
		t.Errorf("%+v %q", c.Cost, c.Notes)
	}
}

func TestRow40NoBaselineMakesNoInfinity(t *testing.T) {
	cell := Cell{}
	a, b := trials(cell, "-", "-"), trials(cell, "+", "-")
	for i := range a {
		a[i].Turns, a[i].USD, a[i].Seconds = 0, math.NaN(), math.Inf(1)
	}
	var out bytes.Buffer
	if err := Render(Make(Input{A: Side{"a", a}, B: Side{"b", b}}), "json", &out); err != nil {
		t.Fatal(err)
	}
	for _, f := range Formats() {
		if err := Render(Make(Input{A: Side{"a", a}, B: Side{"b", b}}), f, &out); err != nil {
			t.Fatal(err)
		}
	}
	for _, word := range []string{"NaN", "Inf", "∞"} {
		if strings.Contains(out.String(), word) {
			t.Errorf("%s in %s", word, out.String())
		}
	}
}

func sample() Comparison {
	c := made([]string{"+", "+", "+", "+", "+", "+", "+", "+", "-", "+", "i"}, []string{"-", "-", "-", "-", "-", "-", "+", "-", "+", "+", "i"}, 0.05)
	c.LeftOut = append(c.LeftOut, Absent{"odd|<b>@team</b>", "was planned in a only"})
	return c
}

func TestGolden(t *testing.T) {
	for _, format := range Formats() {
		var out bytes.Buffer
		if err := Render(sample(), format, &out); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("testdata", "compare."+format)
		if *update {
			if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), out.String()); d != "" {
			t.Errorf("%s (run with -update to accept):\n%s", format, d)
		}
	}
	if err := Render(sample(), "yaml", &bytes.Buffer{}); !assay.IsUser(err) {
		t.Errorf("got %v", err)
	}
}

func TestSwappingSidesMirrorsTheVerdict(t *testing.T) {
	marks := "+-i"
	for n := range 400 {
		var a, b []string
		for i, x := 0, n; i < 7; i++ {
			a, b = append(a, string(marks[x%3])), append(b, string(marks[(x/3)%3]))
			x = (x*7 + n + i) % 9973
		}
		one, two := made(a, b, 0), made(b, a, 0)
		mirror := map[stat.Verdict]stat.Verdict{stat.Better: stat.Worse, stat.Worse: stat.Better, stat.Unproven: stat.Unproven}
		if two.Verdict != mirror[one.Verdict] || math.Abs(one.Diff.Mean+two.Diff.Mean) > 1e-9 || one.Same+len(one.Worse)+len(one.Better) != one.Tasks {
			t.Fatalf("%v %v: %s and %s", a, b, one.Headline(), two.Headline())
		}
		if _, err := json.Marshal(one); err != nil {
			t.Fatal(err)
		}
	}
}
