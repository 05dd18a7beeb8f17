package mine

import (
	"fmt"
	"slices"

	"github.com/assaybot/assay/internal/assay"
)

// Delta says what an upsert did, by the IDs of candidates.
type Delta struct {
	Added, Changed []string
	Same           int
}

// Upsert lays what a run found over the candidates that are there, in the
// order in which the changes landed. It is idempotent. A candidate that was
// found as it was keeps all that later stages made of it; one that changed is
// what mining says now, without them. What was not found again stays, and what
// a server told of a change is not undone by a run that asked none.
//
// Two changes of one number, as of a pull request that landed twice, are told
// apart by their commits: the second is pull-<n>-2, whichever run found it.
func Upsert(have []assay.Candidate, found []Found) ([]assay.Candidate, Delta) {
	out := outgrown(have, found)
	index := make(map[string]int, len(out)+len(found))
	for i, c := range out {
		index[c.ID] = i
	}
	var d Delta
	for _, f := range found {
		c, at := place(out, index, f)
		switch {
		case at < 0:
			index[c.ID] = len(out)
			out = append(out, c)
			d.Added = append(d.Added, c.ID)
		case out[at].Digest == c.Digest:
			// A clone that moved is the same repository.
			out[at].Repo = c.Repo
			if !c.Updated.IsZero() {
				out[at].Updated, out[at].Labels, out[at].Reviewed = c.Updated, c.Labels, c.Reviewed
			}
			d.Same++
		case c.Updated.IsZero() && !out[at].Updated.IsZero() && c.Base == out[at].Base:
			out[at].Repo = c.Repo
			d.Same++
		default:
			out[at] = c
			d.Changed = append(d.Changed, c.ID)
		}
	}
	slices.SortStableFunc(out, byMerge)
	return out, d
}

// place finds the ID of f and where it is in out, -1 if it is new.
func place(out []assay.Candidate, index map[string]int, f Found) (assay.Candidate, int) {
	c, first := f.Candidate, f.ID
	for n := 2; ; n++ {
		i, taken := index[c.ID]
		if !taken {
			break
		}
		if old := out[i].Source.Commit; old == "" || slices.Contains(f.Commits, old) || lost(out[i]) || bothTold(f, out[i]) {
			c.Digest = DigestOf(c)
			return c, i
		}
		c.ID = fmt.Sprintf("%s-%d", first, n)
	}
	c.Digest = DigestOf(c)
	return c, -1
}

// outgrown is have without the commits that were taken for nobody's, or for
// another number's, before a server told whose they are.
func outgrown(have []assay.Candidate, found []Found) []assay.Candidate {
	owner := map[string]Found{}
	for _, f := range found {
		if f.Updated.IsZero() {
			continue
		}
		for _, c := range f.Commits {
			owner[c] = f
		}
	}
	return slices.DeleteFunc(slices.Clone(have), func(c assay.Candidate) bool {
		f, ok := owner[c.Source.Commit]
		return ok && c.Updated.IsZero() && c.Source.Number != f.Source.Number
	})
}

// bothTold: a server told of both, and has just one pull request of a number,
// whatever commit is its own by now.
func bothTold(f Found, old assay.Candidate) bool { return !f.Updated.IsZero() && !old.Updated.IsZero() }

// lost tells a candidate of mining's whose commit was nowhere.
func lost(c assay.Candidate) bool {
	return c.Reason == assay.ReasonUnfetchable && c.Base.Commit == ""
}

// byMerge orders by the moment of the merge; what never was merged, such as
// an open issue, comes last.
func byMerge(a, b assay.Candidate) int {
	x, y := a.Source.Merged, b.Source.Merged
	if x.IsZero() != y.IsZero() {
		if x.IsZero() {
			return 1
		}
		return -1
	}
	return x.Compare(y)
}
