package flow

import (
	"slices"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/compare"
	"github.com/assaybot/assay/internal/publish"
	"github.com/assaybot/assay/internal/report"
)

// gone takes the results of some trials away; lost turns them into failures of
// infrastructure.
func gone(which func(assay.Trial) bool) func(*report.Input) {
	return func(in *report.Input) {
		in.Results = slices.DeleteFunc(in.Results, func(r assay.Result) bool { return which(r.Trial) })
	}
}

func lost(which func(assay.Trial) bool) func(*report.Input) {
	return func(in *report.Input) {
		for i := range in.Results {
			if r := &in.Results[i]; which(r.Trial) {
				r.Outcome, r.Infra, r.Resolved, r.Score, r.Checks = assay.InfraFail, assay.InfraAPI, false, 0, nil
			}
		}
	}
}

// TestRow20And42OneSidedDataProvesNothing holds a run that is proven to be
// worse against the same run with something missing on one side only.
func TestRow20And42OneSidedDataProvesNothing(t *testing.T) {
	nothing := func(*report.Input) {}
	one := func(t assay.Trial) bool { return t.Task == "pull-1199" && t.Repeat == 2 }
	worse := func(t assay.Trial) bool { return strings.HasSuffix(t.Task, "1") }
	every := func(assay.Trial) bool { return true }
	for _, c := range []struct {
		name       string
		base, head func(*report.Input)
		gate, want string
	}{
		{"both complete", nothing, nothing, "regression", publish.Failure},
		{"both complete, nobody asked", nothing, nothing, "never", publish.Success},
		{"one trial out at the head", nothing, gone(one), "regression", publish.Neutral},
		{"one trial out at the base", gone(one), nothing, "regression", publish.Neutral},
		{"one trial lost at the head", nothing, lost(one), "regression", publish.Neutral},
		{"what got worse is out at the head", nothing, gone(worse), "regression", publish.Neutral},
		{"what got worse is lost at the base", lost(worse), nothing, "regression", publish.Neutral},
		{"no base at all", gone(every), nothing, "regression", publish.Neutral},
		{"no head at all", nothing, lost(every), "regression", publish.Neutral},
		{"no head at all, by rate", nothing, gone(every), "resolve-rate<1", publish.Neutral},
		{"the same is out on both sides", gone(one), gone(one), "regression", publish.Failure},
		{"half is out: it could be above", nothing, gone(func(t assay.Trial) bool { return t.Repeat > 0 }), "resolve-rate<0.75", publish.Neutral},
		{"half is out: it is below nevertheless", nothing, gone(func(t assay.Trial) bool { return t.Repeat > 1 }), "resolve-rate<0.95", publish.Failure},
		{"one of two gates is open", nothing, gone(one), "regression,resolve-rate<0.2", publish.Neutral},
		{"one of two gates is broken", nothing, gone(one), "regression,resolve-rate<0.95", publish.Failure},
		{"incomplete without a gate", nothing, gone(one), "never", publish.Neutral},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := large(false, 200, 3), large(true, 200, 3)
			c.base(&a)
			c.head(&b)
			_, before := sideOfInput(a, "main")
			rep, after := sideOfInput(b, "pull")
			s := scoreOf(rep, nil)
			s.Versus = versus(compare.Make(compare.Input{A: before, B: after}), nil)
			g, err := publish.ParseGate(c.gate)
			if err != nil {
				t.Fatal(err)
			}
			d := publish.Make(publish.Context{Name: "assay", SHA: "abc"}, s, g)
			if d.Check.Conclusion != c.want || d.Why == "" {
				t.Errorf("%s (%s), want %s; %s", d.Check.Conclusion, d.Why, c.want, d.Check.Title)
			}
			first, _, _ := strings.Cut(d.Comment, "\n")
			if c.want == publish.Neutral && (strings.Contains(first, "🔴") || strings.Contains(first, "🟢")) {
				t.Errorf("the comment claims what the check doesn't: %s", first)
			}
		})
	}
}

func TestRow40NoRateWithoutANumber(t *testing.T) {
	a, b := large(false, 3, 2), large(true, 3, 2)
	for _, in := range []*report.Input{&a, &b} {
		for i := range in.Results { // a baseline of zero: nothing passes, nothing costs
			r := &in.Results[i]
			r.Outcome, r.Resolved, r.Score, r.Agent, r.Model = assay.Failed, false, 0, assay.AgentFacts{}, assay.ModelCalls{}
			r.Finished = r.Started
		}
	}
	for name, clear := range map[string]func(*report.Input){"zero": func(*report.Input) {}, "nothing": gone(func(assay.Trial) bool { return true })} {
		clear(&a)
		_, before := sideOfInput(a, "main")
		rep, after := sideOfInput(b, "pull")
		s := scoreOf(rep, nil)
		c := compare.Make(compare.Input{A: before, B: after})
		s.Versus = versus(c, nil)
		var full strings.Builder
		if err := report.Render(rep, "markdown", &full); err != nil {
			t.Fatal(err)
		}
		if err := compare.Render(c, "markdown", &full); err != nil {
			t.Fatal(err)
		}
		s.Full = full.String()
		d := publish.Make(publish.Context{Name: "assay", SHA: "abc"}, s, publish.Gate{Regression: true})
		for _, text := range []string{d.Comment, d.Summary, d.Check.Title, d.Check.Text, publish.OutputLines(d.Outputs)} {
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Contains(text, "∞") {
				t.Errorf("%s: %s", name, text)
			}
		}
		if d.Check.Conclusion != publish.Neutral {
			t.Errorf("%s: %s (%s)", name, d.Check.Conclusion, d.Why)
		}
	}
}
