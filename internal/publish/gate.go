package publish

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/stat"
)

// The conclusions of a check run that are given here. GitHub lets a required
// check pass that is neutral.
const (
	Success = "success"
	Failure = "failure"
	Neutral = "neutral"
)

// Gate says when a check turns red. The zero Gate is "never".
type Gate struct {
	Regression bool
	// Below are rates within (0, 1]: red where the rate is proven to be less.
	Below []float64
}

// ParseGate reads "never", or a list of "regression" and "resolve-rate<0.5"
// with commas between.
func ParseGate(s string) (Gate, error) {
	var g Gate
	for _, word := range strings.Split(s, ",") {
		word = strings.ReplaceAll(word, " ", "")
		switch rate, ok := strings.CutPrefix(word, "resolve-rate<"); {
		case word == "never" || word == "":
		case word == "regression":
			g.Regression = true
		case ok:
			x, err := share(rate)
			if err != nil {
				return Gate{}, err
			}
			g.Below = append(g.Below, x)
		default:
			return Gate{}, assay.Userf("a check can't fail on %q: say regression, resolve-rate<0.5 or never", word)
		}
	}
	return g, nil
}

// share reads 0.5 or 50%.
func share(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(number, 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x > 0 && x <= 1) {
		return 0, assay.Userf("resolve-rate<%s: the rate is a share such as 0.5 or 50%%", s)
	}
	return x, nil
}

// Judge gives the conclusion of s and says why. One condition that is proven
// to be broken is enough for a failure; all must be proven to hold for a
// success; else it is neutral.
func (g Gate) Judge(s Score) (conclusion, why string) {
	var held, open []string
	for _, v := range g.verdicts(s) {
		switch v.conclusion {
		case Failure:
			return Failure, v.why
		case Success:
			held = append(held, v.why)
		default:
			open = append(open, v.why)
		}
	}
	switch {
	case s.Totals.Trials == 0:
		return Neutral, "there was nothing to run"
	case len(open) > 0:
		return Neutral, strings.Join(open, "; ")
	case !s.Complete:
		return Neutral, "the run is not complete: " + s.Summary
	case len(held) == 0:
		return Success, "the run is complete; no gate was asked for"
	}
	return Success, strings.Join(held, "; ")
}

type verdict struct{ conclusion, why string }

func (g Gate) verdicts(s Score) []verdict {
	out := make([]verdict, 0, 1+len(g.Below))
	if g.Regression {
		out = append(out, regression(s.Versus))
	}
	for _, x := range g.Below {
		out = append(out, below(s.Totals, x))
	}
	return out
}

func regression(v *Versus) verdict {
	switch {
	case v == nil:
		return verdict{Neutral, "there is no base to compare with"}
	case v.Reason != "":
		return verdict{Neutral, v.Reason}
	case v.Verdict == stat.Worse:
		return verdict{Failure, "it is worse than the base"}
	case v.Verdict == stat.Better:
		return verdict{Success, "it is better than the base"}
	case v.Verdict == stat.NoWorse:
		return verdict{Success, "it is no worse than the base by more than the margin"}
	}
	return verdict{Neutral, "no difference to the base is proven"}
}

// below holds a rate against x. What gave no answer could have gone either
// way, and no row of trials proves anything by its mean alone.
func below(r Row, x float64) verdict {
	least := fmt.Sprintf("%.1f%%", 100*x)
	// As if what is missing had passed, and as if it had failed.
	best, worst := stat.Rate(r.Resolved+r.Trials-r.N, r.Trials), stat.Rate(r.Resolved, r.Trials)
	switch {
	case r.N == 0:
		return verdict{Neutral, "no trial gave an answer"}
	case r.Rate.Hi < x && best.Hi < x && r.Best < x:
		return verdict{Failure, "the resolve rate is below " + least}
	case r.Rate.Lo >= x && worst.Lo >= x && r.Worst >= x:
		return verdict{Success, "the resolve rate is at least " + least}
	}
	return verdict{Neutral, "it isn't proven that the resolve rate is above or below " + least}
}
