// Package stat holds the statistics of a report: intervals of rates and of
// means over tasks, paired differences, pass@k, exact tests, and the smallest
// difference that a suite can see. It works on counts only, knows nothing of
// trials, never draws a random number, and never returns NaN or an infinity.
package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is the level of every interval of a report.
const Confidence = 0.95

// FewClusters is the number of tasks below which an interval over tasks is
// flagged: with fewer, Student's t leans on a shape that nobody has seen.
const FewClusters = 10

// Method says how an interval was made.
type Method string

// The methods. MethodNone stands for no observations at all.
const (
	MethodNone      Method = "none"
	MethodWilson    Method = "wilson"
	MethodClustered Method = "clustered"
	// MethodWilsonTasks is Wilson's interval on the number of tasks, used
	// where all tasks agree and a variance between them can't be estimated.
	MethodWilsonTasks Method = "wilson_tasks"
	MethodPaired      Method = "paired"
)

// Interval is an estimate with its confidence limits; N counts observations,
// Clusters the tasks that they come from. Few marks fewer than FewClusters.
type Interval struct {
	Mean     float64 `json:"mean"`
	Lo       float64 `json:"lo"`
	Hi       float64 `json:"hi"`
	N        int     `json:"n"`
	Clusters int     `json:"clusters,omitempty"`
	Method   Method  `json:"method"`
	Few      bool    `json:"few_clusters,omitempty"`
}

// Cluster is the observations of one task: N values within [0, 1] that add up
// to Sum.
type Cluster struct {
	Sum float64
	N   int
}

// Wilson is the score interval of k successes in n trials at the confidence
// conf (0 < conf < 1, else Confidence). Nothing observed is (0, 1).
func Wilson(k, n int, conf float64) (lo, hi float64) {
	if n <= 0 {
		return 0, 1
	}
	k = min(max(k, 0), n)
	return wilson(float64(k)/float64(n), float64(n), conf)
}

// Rate is Wilson's interval of k in n at the usual confidence, as an Interval.
func Rate(k, n int) Interval {
	lo, hi := Wilson(k, n, Confidence)
	if n <= 0 {
		return Interval{Lo: lo, Hi: hi, Method: MethodNone}
	}
	mean := float64(min(max(k, 0), n)) / float64(n)
	return Interval{Mean: mean, Lo: lo, Hi: hi, N: n, Method: MethodWilson}
}

// wilson takes a share p of n, which needn't be whole.
func wilson(p, n, conf float64) (lo, hi float64) {
	p = clamp(p, 0)
	z := normal(two(conf))
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	lo, hi = clamp(centre-half, 0), clamp(centre+half, 0)
	// Exact at the ends, where rounding leaves 1e-17.
	if p == 0 {
		lo = 0
	}
	if p == 1 {
		hi = 1
	}
	return lo, hi
}

// ClusterMean is the mean of all observations with an interval that takes the
// tasks, not the observations, as independent: the variance comes from each
// task's sum of residuals, Student's t has one degree of freedom fewer than
// there are tasks. Where all tasks agree (or there is one task only) the
// interval is Wilson's on the number of tasks, and it is never narrower than
// that: a single failure among many passes tells nothing of how much tasks
// differ, and must not narrow what no failure at all would leave open.
func ClusterMean(clusters []Cluster) Interval {
	var sum float64
	var n, groups int
	for _, c := range clusters {
		if c.N > 0 {
			sum, n, groups = sum+c.Sum, n+c.N, groups+1
		}
	}
	if n == 0 {
		return Interval{Hi: 1, Method: MethodNone}
	}
	mean := clamp(sum/float64(n), 0)
	out := Interval{Mean: mean, N: n, Clusters: groups, Few: groups < FewClusters}
	var ss float64
	for _, c := range clusters {
		if c.N > 0 {
			r := c.Sum - mean*float64(c.N)
			ss += r * r
		}
	}
	if groups < 2 || ss < 1e-12 {
		out.Method = MethodWilsonTasks
		out.Lo, out.Hi = wilson(mean, float64(groups), Confidence)
		return out
	}
	g := float64(groups)
	half := student(groups-1, Confidence) * math.Sqrt(g/(g-1)*ss) / float64(n)
	out.Method = MethodClustered
	lo, hi := wilson(mean, g, Confidence)
	out.Lo, out.Hi = math.Min(clamp(mean-half, 0), lo), math.Max(clamp(mean+half, 0), hi)
	return out
}

// Bounds are the rates if all missing trials had failed, and if all had
// passed: k of n were successes, missing never gave an answer.
func Bounds(k, n, missing int) (worst, best float64) {
	k, n, missing = max(k, 0), max(n, 0), max(missing, 0)
	total := n + missing
	if total == 0 {
		return 0, 1
	}
	k = min(k, n)
	return float64(k) / float64(total), float64(k+missing) / float64(total)
}

// PassAtK is the unbiased estimate of the chance that at least one of k
// attempts passes, from c passes in n attempts. ok is false where the numbers
// can't tell: k < 1 or k > n.
func PassAtK(n, c, k int) (p float64, ok bool) {
	if k < 1 || k > n {
		return 0, false
	}
	return clamp(1-share(n, n-min(max(c, 0), n), k), 0), true
}

// PassHatK is the unbiased estimate of the chance that all of k attempts
// pass, from c passes in n attempts; ok as in PassAtK.
func PassHatK(n, c, k int) (p float64, ok bool) {
	if k < 1 || k > n {
		return 0, false
	}
	return clamp(share(n, min(max(c, 0), n), k), 0), true
}

// share is C(m, k) / C(n, k) for 0 <= m <= n, as a product that can't
// overflow.
func share(n, m, k int) float64 {
	if m < k {
		return 0
	}
	p := 1.0
	for i := range k {
		p *= float64(m-i) / float64(n-i)
	}
	return p
}

// normal is the quantile of the standard normal distribution.
func normal(p float64) float64 { return distuv.UnitNormal.Quantile(p) }

// student is the two-sided quantile of Student's t.
func student(df int, conf float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(df)}.Quantile(two(conf))
}

// two is the probability below the upper limit of a two-sided interval.
func two(conf float64) float64 {
	if !(conf > 0 && conf < 1) {
		conf = Confidence
	}
	return 0.5 + conf/2
}

// clamp keeps x within lo and 1.
func clamp(x, lo float64) float64 { return math.Min(math.Max(x, lo), 1) }
