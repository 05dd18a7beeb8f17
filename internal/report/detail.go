package report

import (
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/stat"
)

// manyK is the number of repeats up to which every k is listed; above it the
// largest k is listed besides.
const manyK = 5

// repeated is pass@k and pass^k of one row, nothing where no task has two
// trials within the rate.
func repeated(k Key, trials []Trial) []Repeated {
	cs := clusters(trials)
	most := 0
	for _, c := range cs {
		most = max(most, c.N)
	}
	if most < 2 {
		return nil
	}
	var out []Repeated
	for n := 1; n <= most; n++ {
		if n <= manyK || n == most {
			out = append(out, passes(k, n, cs))
		}
	}
	return out
}

func passes(key Key, k int, cs []stat.Cluster) Repeated {
	r := Repeated{Key: key, K: k}
	for _, c := range cs {
		at, ok := stat.PassAtK(c.N, int(c.Sum), k)
		if !ok {
			continue
		}
		hat, _ := stat.PassHatK(c.N, int(c.Sum), k)
		r.Tasks, r.PassAtK, r.PassHatK = r.Tasks+1, r.PassAtK+at, r.PassHatK+hat
	}
	if r.Tasks > 0 {
		r.PassAtK, r.PassHatK = round(r.PassAtK/float64(r.Tasks)), round(r.PassHatK/float64(r.Tasks))
	}
	return r
}

// maxDifferences bounds the comparisons of a very wide run.
const maxDifferences = 200

// differences compares rows that differ in one thing only: each variant with
// the baseline, and agents, models and efforts with each other.
func differences(rows []Row, groups map[Key][]Trial) []Difference {
	var out []Difference
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			what := apart(a.Key, b.Key)
			if what == "" || what == "variant" && a.Variant != assay.Baseline {
				continue
			}
			if d, ok := difference(a.Key, b.Key, groups); ok && len(out) < maxDifferences {
				d.What = what
				out = append(out, d)
			}
		}
	}
	return out
}

// apart names the one thing in which a and b differ, "" for none or several.
func apart(a, b Key) string {
	var what []string
	for _, p := range []struct{ name, a, b string }{
		{"agent", a.Agent, b.Agent}, {"model", a.Model, b.Model},
		{"effort", a.Effort, b.Effort}, {"variant", a.Variant, b.Variant},
	} {
		if p.a != p.b {
			what = append(what, p.name)
		}
	}
	// An agent without a model (oracle, nop) differs from one with a model
	// in both, and is still worth comparing.
	if slices.Equal(what, []string{"agent", "model"}) && (a.Model == "" || b.Model == "") {
		return "agent"
	}
	if len(what) != 1 {
		return ""
	}
	return what[0]
}

func difference(from, to Key, groups map[Key][]Trial) (Difference, bool) {
	a, b := tasksOf(groups[from]), tasksOf(groups[to])
	var pairs []stat.Pair
	for _, name := range sortedKeys(a) {
		if other, ok := b[name]; ok {
			pairs = append(pairs, stat.Pair{A: a[name], B: other})
		}
	}
	if len(pairs) == 0 {
		return Difference{}, false
	}
	d := Difference{From: from, To: to, Diff: roundInterval(stat.PairedDiff(pairs))}
	share, up, down := stat.Discordance(pairs)
	d.Gained, d.Dropped, d.P = up, down, round(stat.McNemar(up, down))
	d.Verdict = stat.Judge(d.Diff, 0)
	if least, ok := stat.SmallestDifference(len(pairs), share); ok {
		d.Smallest = round(least)
	}
	return d, true
}

// missOf follows a trial that didn't pass down to the clauses that it broke.
func missOf(t Trial) Miss {
	m := Miss{ID: t.ID, Key: t.Key, Repeat: t.Repeat, Attempt: t.Attempt,
		Outcome: t.Outcome, Limit: t.Limit, Infra: t.Infra, Detail: firstLine(t.Detail), Modes: t.Modes}
	for _, c := range t.checks {
		if c.Status != assay.CheckPassed {
			m.Clauses = append(m.Clauses, broken(c)...)
		}
	}
	return m
}

// broken is one line per missed test, or one for a check without any.
func broken(c assay.CheckResult) []Broken {
	b := Broken{Check: c.Name, Kind: c.Kind, Status: c.Status, Clause: c.Clause, Message: firstLine(c.Detail)}
	if len(c.Misses) == 0 {
		return []Broken{b}
	}
	out := make([]Broken, 0, len(c.Misses))
	for _, t := range c.Misses {
		one := b
		one.Test, one.Verdict = t.ID, t.Status
		if t.Clause != "" {
			one.Clause = t.Clause
		}
		if msg := firstLine(t.Message); msg != "" {
			one.Message = msg
		}
		out = append(out, one)
	}
	return out
}

// firstLine is the first line of s that holds anything.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(strings.ToValidUTF8(line, "\uFFFD")); line != "" {
			return line
		}
	}
	return ""
}
