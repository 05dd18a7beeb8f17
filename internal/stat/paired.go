package stat

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/stat/distuv"
)

// Verdict is what an interval of a difference proves.
type Verdict string

// The verdicts. Unproven is what stands where nothing is proven.
const (
	Better   Verdict = "better"
	Worse    Verdict = "worse"
	NoWorse  Verdict = "no_worse"
	Unproven Verdict = "~"
)

// Pair is one task under two conditions.
type Pair struct{ A, B Cluster }

// McNemar is the exact two-sided probability of a split at least as uneven as
// b against c discordant pairs, when both directions are equally likely.
func McNemar(b, c int) float64 {
	b, c = max(b, 0), max(c, 0)
	n := b + c
	if n == 0 {
		return 1
	}
	below := distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(min(b, c)))
	return clamp(2*below, 0)
}

// PairedDiff is the mean difference B - A over the tasks that have
// observations of both, each task weighing the same, with Student's t over
// tasks. It never claims more than an exact test would: if flipping the signs
// of the differences at random explains them (p of 1 - Confidence or more), the
// interval is widened to hold 0. One that holds 0 is never narrower than that
// of as many tasks without any difference. N and Clusters count tasks.
func PairedDiff(pairs []Pair) Interval {
	d := differences(pairs)
	g := len(d)
	if g == 0 {
		return Interval{Lo: -1, Hi: 1, Method: MethodNone}
	}
	mean, ss := spread(d)
	out := Interval{Mean: mean, N: g, Clusters: g, Few: g < FewClusters, Method: MethodPaired}
	if g < 2 || ss < 1e-12 {
		out.Lo, out.Hi = allEqual(mean, g)
	} else {
		n := float64(g)
		half := student(g-1, Confidence) * math.Sqrt(ss/(n-1)/n)
		out.Lo, out.Hi = clamp(mean-half, -1), clamp(mean+half, -1)
	}
	if out.Lo <= 0 && out.Hi >= 0 {
		// A few small differences prove no more than none at all would.
		_, least := wilson(0, float64(g), Confidence)
		out.Lo, out.Hi = math.Min(out.Lo, -least), math.Max(out.Hi, least)
	}
	if (out.Lo > 0 || out.Hi < 0) && signFlip(d) >= 1-Confidence {
		out.Lo, out.Hi = math.Min(out.Lo, 0), math.Max(out.Hi, 0)
	}
	return out
}

// Discordance is the share of tasks of which A and B differ, and how many
// lean to each side.
func Discordance(pairs []Pair) (share float64, better, worse int) {
	d := differences(pairs)
	for _, x := range d {
		switch {
		case x > 1e-12:
			better++
		case x < -1e-12:
			worse++
		}
	}
	if len(d) == 0 {
		return 0, 0, 0
	}
	return float64(better+worse) / float64(len(d)), better, worse
}

func differences(pairs []Pair) []float64 {
	d := make([]float64, 0, len(pairs))
	for _, p := range pairs {
		if p.A.N > 0 && p.B.N > 0 {
			d = append(d, p.B.Sum/float64(p.B.N)-p.A.Sum/float64(p.A.N))
		}
	}
	return d
}

// spread is the mean of d and the sum of squares around it.
func spread(d []float64) (mean, ss float64) {
	for _, x := range d {
		mean += x
	}
	mean /= float64(len(d))
	for _, x := range d {
		ss += (x - mean) * (x - mean)
	}
	return clamp(mean, -1), ss
}

// allEqual bounds a difference that is the same for all g tasks: the share of
// tasks that could still differ otherwise comes from Wilson.
func allEqual(mean float64, g int) (lo, hi float64) {
	lo, hi = wilson(math.Abs(mean), float64(g), Confidence)
	switch {
	case mean > 1e-12:
		return lo, hi
	case mean < -1e-12:
		return -hi, -lo
	}
	return -hi, hi
}

// maxFlips is the number of unequal tasks up to which all sign patterns are
// gone through; above, Student's t is close enough.
const maxFlips = 14

// signFlip is the exact two-sided probability of a sum at least as far from 0
// when each difference could as well have had the other sign. It is 0 ("not
// needed") above maxFlips unequal tasks. For differences of -1, 0 and 1 it is
// McNemar's test.
func signFlip(d []float64) float64 {
	var x []float64
	var seen float64
	for _, v := range d {
		if math.Abs(v) > 1e-12 {
			x = append(x, v)
			seen += v
		}
	}
	switch {
	case len(x) == 0:
		return 1
	case len(x) > maxFlips:
		return 0
	}
	// A Gray code changes one sign at a time.
	sum, far := seen, 0
	for i := uint(0); i < 1<<len(x); i++ {
		if i > 0 {
			at := bits.TrailingZeros(i)
			x[at] = -x[at]
			sum += 2 * x[at]
		}
		if math.Abs(sum) >= math.Abs(seen)-1e-9 {
			far++
		}
	}
	return float64(far) / float64(uint(1)<<len(x))
}

// Judge is the verdict of an interval of a difference: better above 0, worse
// below 0, no worse if a loss of margin or more is ruled out. A loss that is
// proven is "worse" even within the margin.
func Judge(i Interval, margin float64) Verdict {
	switch {
	case i.N <= 0 || i.Method == MethodNone:
		return Unproven
	case i.Lo > 0:
		return Better
	case i.Hi < 0:
		return Worse
	case margin > 0 && i.Lo > -margin:
		return NoWorse
	}
	return Unproven
}

// Power is the chance of seeing a true difference that SmallestDifference
// speaks of.
const Power = 0.8

// SmallestDifference is the least true difference in pass rate that n paired
// tasks would show with 80 % power at the usual confidence, when the share
// discordance of the tasks differs between the two conditions (Connor's
// formula). ok is false where even a one-sided discordance would not be seen.
func SmallestDifference(n int, discordance float64) (d float64, ok bool) {
	if n <= 0 || !(discordance > 0) {
		return 0, false
	}
	psi := math.Min(discordance, 1)
	za, zb := normal(two(Confidence)), normal(Power)
	need := func(d float64) float64 {
		x := (za*math.Sqrt(psi) + zb*math.Sqrt(math.Max(psi-d*d, 0))) / d
		return x * x
	}
	if need(psi) > float64(n) {
		return 0, false
	}
	lo, hi := 0.0, psi // need falls as d grows
	for range 60 {
		if mid := (lo + hi) / 2; need(mid) > float64(n) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi, true
}
