package stat

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"testing/quick"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tol {
		t.Errorf("%s = %.6f, want %.6f", what, got, want)
	}
}

func TestWilsonKnownValues(t *testing.T) {
	for _, c := range []struct {
		k, n   int
		lo, hi float64
	}{
		// Newcombe 1998, table I: method 3 (score, no correction).
		{81, 263, 0.2553, 0.3662},
		{15, 148, 0.0624, 0.1605},
		{0, 20, 0, 0.1611},
		{1, 29, 0.0061, 0.1718},
		// By hand: z^2 = 3.8415.
		{10, 10, 0.7225, 1},
		{5, 10, 0.2366, 0.7634},
		{0, 0, 0, 1},
		{-3, -1, 0, 1},
		{12, 10, 0.7225, 1},
	} {
		lo, hi := Wilson(c.k, c.n, 0.95)
		near(t, fmt.Sprintf("Wilson(%d,%d) low", c.k, c.n), lo, c.lo, 5e-5)
		near(t, fmt.Sprintf("Wilson(%d,%d) high", c.k, c.n), hi, c.hi, 5e-5)
	}
	lo, hi := Wilson(5, 10, 0.99)
	if wlo, whi := Wilson(5, 10, 0.95); lo >= wlo || hi <= whi {
		t.Error("99 % isn't wider than 95 %")
	}
}

func TestClusterMean(t *testing.T) {
	// Task means 1, 0.5, 0: mean 0.5, sd 0.5, se 0.288675, t(2) = 4.302653:
	// half width 1.242, cut to [0, 1].
	got := ClusterMean([]Cluster{{2, 2}, {1, 2}, {0, 2}})
	if got.Method != MethodClustered || got.Lo != 0 || got.Hi != 1 || !got.Few || got.N != 6 || got.Clusters != 3 {
		t.Errorf("three tasks: %+v", got)
	}
	// 12 tasks, 6 at 1 and 6 at 0: mean 0.5, sd 0.522233, se 0.1507557,
	// t(11) = 2.200985.
	var cs []Cluster
	for range 6 {
		cs = append(cs, Cluster{4, 4}, Cluster{0, 4})
	}
	got = ClusterMean(cs)
	near(t, "low", got.Lo, 0.5-2.200985*0.1507557, 1e-5)
	near(t, "high", got.Hi, 0.5+2.200985*0.1507557, 1e-5)
	if got.Few || got.N != 48 {
		t.Errorf("twelve tasks: %+v", got)
	}
	// Unequal sizes: mean 4/6; residuals 4-4*2/3 = 4/3 and 0-2*2/3 = -4/3;
	// se = sqrt(2 * 32/9)/6 = 0.444444; t(1) = 12.7062: cut to [0, 1].
	got = ClusterMean([]Cluster{{4, 4}, {0, 2}})
	near(t, "pooled mean", got.Mean, 2.0/3, 1e-12)
}

func TestClusterMeanAllEqualFallsBackToWilsonOnTasks(t *testing.T) {
	got := ClusterMean([]Cluster{{5, 5}, {5, 5}, {5, 5}, {5, 5}, {5, 5}, {5, 5}, {5, 5}, {5, 5}, {5, 5}, {5, 5}})
	lo, hi := Wilson(10, 10, 0.95)
	if got.Method != MethodWilsonTasks || got.Lo != lo || got.Hi != hi || got.Mean != 1 || got.N != 50 {
		t.Errorf("all pass: %+v, want Wilson of 10 tasks", got)
	}
	if got := ClusterMean([]Cluster{{3, 7}}); got.Method != MethodWilsonTasks || got.Clusters != 1 || !got.Few || got.Lo <= 0 || got.Hi >= 1 {
		t.Errorf("one task: %+v", got)
	}
	for _, none := range [][]Cluster{nil, {{0, 0}}} {
		if got := ClusterMean(none); got != (Interval{Hi: 1, Method: MethodNone}) {
			t.Errorf("nothing: %+v", got)
		}
	}
}

// One failure more never raises what a rate is proven to be above: a single
// failure tells nothing about how much tasks differ.
func TestClusterMeanFallsWithEachFailure(t *testing.T) {
	for _, shape := range []struct{ tasks, repeats int }{{9, 3}, {20, 3}, {40, 2}, {9, 10}} {
		last := ClusterMean(passing(shape.tasks, shape.repeats, 0)).Lo
		for failed := 1; failed <= shape.tasks; failed++ {
			lo := ClusterMean(passing(shape.tasks, shape.repeats, failed)).Lo
			if lo > last+1e-9 {
				t.Errorf("%d tasks of %d trials: lower bound %.4f with %d failures, %.4f with one less", shape.tasks, shape.repeats, lo, failed, last)
			}
			last = lo
		}
	}
}

// passing are tasks of which the first ones failed once.
func passing(tasks, repeats, failed int) []Cluster {
	out := make([]Cluster, tasks)
	for i := range out {
		out[i] = Cluster{Sum: float64(repeats), N: repeats}
		if i < failed {
			out[i].Sum--
		}
	}
	return out
}

// Half the trials at a mean that every task has nearly: the tasks alone leave
// more open.
func TestClusterMeanOfTasksThatNearlyAgree(t *testing.T) {
	got := ClusterMean([]Cluster{{3, 6}, {3, 6}, {2, 4}, {2, 4}, {2, 4}, {3, 5}, {2, 4}, {2, 4}, {2, 4}})
	lo, hi := Wilson(5, 9, Confidence)
	if got.Lo > lo || got.Hi < hi-0.05 {
		t.Errorf("%+v is narrower than %.3f to %.3f", got, lo, hi)
	}
}

func TestClusterMeanIsWiderThanWilsonWhenRepeatsAgree(t *testing.T) {
	var cs []Cluster
	for i := range 20 {
		cs = append(cs, Cluster{Sum: float64(10 * (i % 2)), N: 10})
	}
	got := ClusterMean(cs)
	if w := Rate(100, 200); got.Hi-got.Lo < 2*(w.Hi-w.Lo) {
		t.Errorf("clustered %v isn't much wider than %v", got, w)
	}
}

func TestPassAtKAndPassHatK(t *testing.T) {
	for _, c := range []struct {
		n, c, k int
		at, hat float64
		ok      bool
	}{
		{5, 2, 1, 0.4, 0.4, true},
		{5, 2, 2, 0.7, 0.1, true},      // 1 - 3/10; 1/10
		{10, 3, 5, 11.0 / 12, 0, true}, // 1 - 21/252
		{4, 4, 4, 1, 1, true},
		{4, 0, 4, 0, 0, true},
		{3, 3, 2, 1, 1, true},
		{2, 1, 3, 0, 0, false},
		{0, 0, 1, 0, 0, false},
		{3, 1, 0, 0, 0, false},
	} {
		at, ok := PassAtK(c.n, c.c, c.k)
		hat, ok2 := PassHatK(c.n, c.c, c.k)
		if ok != c.ok || ok2 != c.ok {
			t.Errorf("%+v: ok = %v, %v", c, ok, ok2)
		}
		near(t, fmt.Sprintf("pass@k %+v", c), at, c.at, 1e-12)
		near(t, fmt.Sprintf("pass^k %+v", c), hat, c.hat, 1e-12)
	}
}

func TestMcNemarExact(t *testing.T) {
	for _, c := range []struct {
		b, c int
		p    float64
	}{
		{0, 0, 1}, {1, 0, 1}, {5, 0, 0.0625}, {6, 0, 0.03125}, {0, 6, 0.03125},
		{3, 3, 1}, {1, 9, 0.021484375}, {2, 8, 0.109375}, {-1, 0, 1},
		// 2*(1+20+190+1140+4845+15504)/2^20.
		{5, 15, 0.04138947},
	} {
		near(t, fmt.Sprintf("McNemar(%d,%d)", c.b, c.c), McNemar(c.b, c.c), c.p, 1e-8)
	}
}

// tasks makes pairs: win tasks that B alone passes, lose that A alone passes,
// same that both pass.
func tasks(win, lose, same int) []Pair {
	var ps []Pair
	for range win {
		ps = append(ps, Pair{Cluster{0, 1}, Cluster{1, 1}})
	}
	for range lose {
		ps = append(ps, Pair{Cluster{1, 1}, Cluster{0, 1}})
	}
	for range same {
		ps = append(ps, Pair{Cluster{1, 1}, Cluster{1, 1}})
	}
	return ps
}

func TestPairedDiffAndVerdict(t *testing.T) {
	for _, c := range []struct {
		name   string
		pairs  []Pair
		margin float64
		want   Verdict
	}{
		{"nothing", nil, 0.1, Unproven},
		{"no task has both", []Pair{{Cluster{1, 1}, Cluster{}}}, 0.1, Unproven},
		{"one task proves nothing", tasks(1, 0, 0), 0, Unproven},
		{"five of five prove nothing", tasks(5, 0, 0), 0, Unproven},
		{"six of six", tasks(6, 0, 0), 0, Better},
		{"four of five, Student alone would say better", tasks(4, 0, 1), 0, Unproven},
		{"six lost", tasks(0, 6, 2), 0, Worse},
		{"many even", tasks(3, 3, 200), 0.05, NoWorse},
		{"many even, no margin", tasks(3, 3, 200), 0, Unproven},
		{"all the same, few tasks", tasks(0, 0, 5), 0.05, Unproven},
		{"all the same, many tasks", tasks(0, 0, 100), 0.05, NoWorse},
		{"large gain", tasks(30, 5, 60), 0, Better},
		{"proven loss within the margin", tasks(0, 20, 400), 0.2, Worse},
	} {
		i := PairedDiff(c.pairs)
		if got := Judge(i, c.margin); got != c.want {
			t.Errorf("%s: %q from %+v, want %q", c.name, got, i, c.want)
		}
	}
	// 30 wins, 5 losses, 60 same: mean 25/95, ss = 35 - 625/95.
	i := PairedDiff(tasks(30, 5, 60))
	se := math.Sqrt((35 - 625.0/95) / 94 / 95)
	near(t, "low", i.Lo, 25.0/95-1.985523*se, 1e-5)
	near(t, "high", i.Hi, 25.0/95+1.985523*se, 1e-5)
}

func TestSignFlipIsMcNemarForSingleTrials(t *testing.T) {
	for b := range 7 {
		for c := range 7 {
			near(t, fmt.Sprintf("signFlip %d %d", b, c), signFlip(differences(tasks(b, c, 3))), McNemar(b, c), 1e-9)
		}
	}
}

func TestDiscordance(t *testing.T) {
	share, better, worse := Discordance(tasks(3, 1, 6))
	if share != 0.4 || better != 3 || worse != 1 {
		t.Errorf("got %v %v %v", share, better, worse)
	}
}

func TestSmallestDifference(t *testing.T) {
	// Connor: n = (1.959964*sqrt(psi) + 0.841621*sqrt(psi-d^2))^2 / d^2. For
	// psi 0.3 and d 0.1 that is 233.9; for psi 0.5 and d 0.2, 95.4.
	d, ok := SmallestDifference(234, 0.3)
	near(t, "psi 0.3", d, 0.1, 2e-4)
	d2, ok2 := SmallestDifference(95, 0.5)
	near(t, "psi 0.5", d2, 0.2, 1e-3)
	if !ok || !ok2 {
		t.Error("not ok")
	}
	for _, c := range []struct {
		n   int
		psi float64
	}{{0, 0.3}, {-1, 0.3}, {5, 0.3}, {50, 0}, {50, math.NaN()}} {
		if d, ok := SmallestDifference(c.n, c.psi); ok || d != 0 {
			t.Errorf("%+v: %v, %v", c, d, ok)
		}
	}
}

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		k, n, m     int
		worst, best float64
	}{{40, 60, 3, 40.0 / 63, 43.0 / 63}, {0, 0, 0, 0, 1}, {0, 0, 2, 0, 1}, {5, 5, 0, 1, 1}} {
		worst, best := Bounds(c.k, c.n, c.m)
		near(t, "worst", worst, c.worst, 1e-12)
		near(t, "best", best, c.best, 1e-12)
	}
}

// seeded makes a property's inputs the same at every run.
func seeded(n int) *quick.Config {
	return &quick.Config{MaxCount: n, Rand: rand.New(rand.NewSource(1))}
}

func proper(i Interval, least float64) bool {
	for _, x := range []float64{i.Mean, i.Lo, i.Hi} {
		if math.IsNaN(x) || math.IsInf(x, 0) || x < least || x > 1 {
			return false
		}
	}
	return i.N == 0 || i.Lo <= i.Mean+1e-12 && i.Mean <= i.Hi+1e-12
}

func TestIntervalsAreAlwaysProper(t *testing.T) {
	rate := func(k, n int8) bool { return proper(Rate(int(k), int(n)), 0) }
	mean := func(raw []uint8) bool {
		var cs []Cluster
		var ps []Pair
		for i, r := range raw {
			n := int(r % 5)
			c := Cluster{Sum: math.Min(float64(r>>4%4), float64(n)), N: n}
			cs = append(cs, c)
			ps = append(ps, Pair{c, cs[i/2]})
		}
		return proper(ClusterMean(cs), 0) && proper(PairedDiff(ps), -1)
	}
	others := func(a, b, c int8) bool {
		p := McNemar(int(a), int(b))
		at, _ := PassAtK(int(a), int(b), int(c))
		hat, _ := PassHatK(int(a), int(b), int(c))
		worst, best := Bounds(int(a), int(b), int(c))
		return p >= 0 && p <= 1 && hat >= 0 && hat <= at+1e-12 && at <= 1 && worst >= 0 && worst <= best && best <= 1
	}
	for i, f := range []any{rate, mean, others} {
		if err := quick.Check(f, seeded(1000)); err != nil {
			t.Errorf("property %d: %v", i, err)
		}
	}
}

func TestPairedDiffIsAntisymmetric(t *testing.T) {
	f := func(win, lose, same uint8) bool {
		a := PairedDiff(tasks(int(win%20), int(lose%20), int(same%20)))
		b := PairedDiff(tasks(int(lose%20), int(win%20), int(same%20)))
		return math.Abs(a.Mean+b.Mean) < 1e-9 && math.Abs(a.Lo+b.Hi) < 1e-9
	}
	if err := quick.Check(f, seeded(200)); err != nil {
		t.Error(err)
	}
}

// A run with one failure more is never proven to be "no worse" where an equal
// one isn't.
func TestNoWorseIsNoEasierForALoss(t *testing.T) {
	equal, loss := make([]Pair, 9), make([]Pair, 9)
	for i := range equal {
		equal[i] = Pair{A: Cluster{3, 3}, B: Cluster{3, 3}}
		loss[i] = equal[i]
	}
	loss[0].B.Sum = 2
	for _, margin := range []float64{0.05, 0.1, 0.2, 0.25, 0.29} {
		if a, b := Judge(PairedDiff(equal), margin), Judge(PairedDiff(loss), margin); a != NoWorse && b == NoWorse {
			t.Errorf("margin %v: equal runs are %s, a loss is %s", margin, a, b)
		}
	}
}
