package mine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// Yield counts what became of changes. Every change is in one row, so that
// the rows add up to Changes; Candidates are those that mining did not reject.
// Parked are open issues, which are no changes and count in nothing else.
type Yield struct {
	Changes    int        `json:"changes"`
	Candidates int        `json:"candidates"`
	Valid      int        `json:"valid"`
	Parked     int        `json:"parked,omitempty"`
	Rows       []YieldRow `json:"rows"`
}

// YieldRow is one status with one reason. Mining: the reason is one of
// mining's, so that no candidate was made. The shares are fractions; that of
// candidates is 0 in mining's rows.
type YieldRow struct {
	Status       assay.CandidateStatus `json:"status"`
	Reason       assay.Reason          `json:"reason,omitempty"`
	Mining       bool                  `json:"mining,omitempty"`
	Count        int                   `json:"count"`
	OfChanges    float64               `json:"of_changes"`
	OfCandidates float64               `json:"of_candidates"`
}

// YieldOf counts candidates, the rejected ones with them.
func YieldOf(all []assay.Candidate) Yield {
	type key struct {
		status assay.CandidateStatus
		reason assay.Reason
		mining bool
	}
	counts := map[key]int{}
	var y Yield
	for _, c := range all {
		if Parked(c) {
			y.Parked++
			continue
		}
		y.Changes++
		mining := miningReason(c.Reason) || lost(c)
		counts[key{c.Status, c.Reason, mining}]++
		if !mining {
			y.Candidates++
		}
		if c.Status == assay.StatusValid {
			y.Valid++
		}
	}
	for k, n := range counts {
		r := YieldRow{Status: k.status, Reason: k.reason, Mining: k.mining, Count: n, OfChanges: share(n, y.Changes)}
		if !r.Mining {
			r.OfCandidates = share(n, y.Candidates)
		}
		y.Rows = append(y.Rows, r)
	}
	slices.SortFunc(y.Rows, compareRows)
	return y
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// compareRows puts candidates first, along the road, then mining's rejections;
// within a status the most frequent reason first.
func compareRows(a, b YieldRow) int {
	return cmp.Or(compareBool(a.Mining, b.Mining), cmp.Compare(stage(a.Status), stage(b.Status)),
		cmp.Compare(b.Count, a.Count), strings.Compare(string(a.Reason), string(b.Reason)))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func stage(s assay.CandidateStatus) int {
	return slices.Index([]assay.CandidateStatus{
		assay.StatusMined, assay.StatusJudged, assay.StatusReviewed, assay.StatusBuilt, assay.StatusValid,
		assay.StatusQuarantined, assay.StatusRejected,
	}, s)
}

// miningReason tells the reasons for which mining itself rejects.
func miningReason(r assay.Reason) bool {
	switch r {
	case assay.ReasonBot, assay.ReasonRevert, assay.ReasonRelease, assay.ReasonBranchMerge, assay.ReasonNoTests,
		assay.ReasonNoSource, assay.ReasonInlineTests, assay.ReasonTooLarge, assay.ReasonEmpty, assay.ReasonNotPull:
		return true
	}
	return false
}

// WithTasks is all with the verdicts of validation that the tasks of a suite
// hold; a task without a candidate counts as one.
func WithTasks(all []assay.Candidate, tasks []assay.Task) []assay.Candidate {
	out := slices.Clone(all)
	index := make(map[string]int, len(out))
	for i, c := range out {
		index[cmp.Or(c.Task, c.ID)] = i
	}
	for _, t := range tasks {
		i, ok := index[t.ID]
		if !ok {
			i = len(out)
			out = append(out, assay.Candidate{ID: t.ID, Status: assay.StatusBuilt})
		}
		v := t.Validation
		if v == nil {
			continue
		}
		switch s := assay.CandidateStatus(v.Status); s {
		case assay.StatusValid, assay.StatusRejected, assay.StatusQuarantined:
			out[i].Status, out[i].Reason, out[i].Validation = s, assay.Reason(v.Reason), v
			out[i].Strength = t.Strength
		}
	}
	return out
}

// YieldFormats are what Write knows.
func YieldFormats() []string { return []string{"terminal", "json"} }

// Write prints the table: the counts with their shares of all changes and of
// candidates.
func (y Yield) Write(w io.Writer, format string) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(y)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %-26s %6s  %10s  %13s\n", "status", "reason", "count", "of changes", "of candidates")
	for _, r := range y.Rows {
		of := percent(r.OfCandidates)
		if r.Mining {
			of = ""
		}
		line := fmt.Sprintf("%-12s %-26s %6d  %10s  %13s", r.Status, r.Reason, r.Count, percent(r.OfChanges), of)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	line := fmt.Sprintf("%-12s %-26s %6d  %10s", "all", "", y.Changes, percent(share(y.Changes, y.Changes)))
	fmt.Fprintf(&b, "%s\n%d of %d changes are candidates (%s); %d valid.\n", line, y.Candidates, y.Changes, percent(share(y.Candidates, y.Changes)), y.Valid)
	if y.Parked > 0 {
		fmt.Fprintf(&b, "%d open issues are parked: they count in nothing above.\n", y.Parked)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func percent(f float64) string { return fmt.Sprintf("%.1f%%", 100*f) }
