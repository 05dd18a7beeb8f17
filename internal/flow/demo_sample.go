package flow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/mine"
)

// DemoSample is a repository for the demo to mine, with what the mining road
// has to find in it.
type DemoSample struct {
	Dir   string
	Since string
	// Want is the verdict by the candidate's ID ("commit" for a change
	// without a number).
	Want map[string]DemoVerdict
	// Issue is an open one, as a server would tell it.
	Issue mine.Issue
	// WrongTask is a valid task, Wrong a solution that fails it.
	WrongTask string
	Wrong     map[string]string
}

// DemoVerdict is a status with its typed reason.
type DemoVerdict struct {
	Status assay.CandidateStatus
	Reason assay.Reason
}

func (v DemoVerdict) String() string { return strings.TrimSpace(fmt.Sprint(v.Status, " ", v.Reason)) }

// valid counts the tasks that the sample has to give.
func (s DemoSample) valid() int {
	n := 0
	for _, v := range s.Want {
		if v.Status == assay.StatusValid {
			n++
		}
	}
	return n
}

// park adds an open issue to the candidates of a file: nothing proves what
// would solve it, so that it stays where it is and is in no rate.
func (f *Flow) park(file, repository string, i mine.Issue) error {
	return candidates.At(file).Update(f.Owner, func(all []assay.Candidate) ([]assay.Candidate, error) {
		all, _ = mine.Upsert(all, []mine.Found{mine.Open(i, mine.Options{Repo: repository})})
		return all, nil
	})
}

// check compares what became of the candidates with what must have.
func (s DemoSample) check(all []assay.Candidate) error {
	var problems assay.Problems
	seen := map[string]bool{}
	for _, c := range all {
		id := c.ID
		if c.Source.Kind == "commit" {
			id = "commit"
		}
		want, ok := s.Want[id]
		if c.Reason == assay.ReasonOpenIssue {
			want, ok = DemoVerdict{assay.StatusMined, assay.ReasonOpenIssue}, true
		}
		seen[id] = true
		if got := (DemoVerdict{c.Status, c.Reason}); !ok || got != want {
			problems.Addf("", 0, "%s came out as %s, not as %s: %s", c.ID, got, want, detailOf(c))
		}
	}
	for id := range s.Want {
		if !seen[id] {
			problems.Addf("", 0, "%s wasn't found", id)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("the demo's sample repository wasn't judged as it must be: %w", problems.Sorted())
	}
	return nil
}

func detailOf(c assay.Candidate) string {
	if c.Validation != nil && c.Validation.Detail != "" {
		return c.Validation.Detail
	}
	return c.Detail
}

// sampleIn makes the sample; a door may have been wired without one.
func (f *Flow) sampleIn(ctx context.Context, dir string) (DemoSample, error) {
	if f.Sample == nil {
		return DemoSample{}, errors.New("this program was built without a sample repository")
	}
	return f.Sample(ctx, dir)
}
