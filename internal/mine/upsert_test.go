package mine

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

// found is a candidate as Mine makes it.
func found(number int, commit string, d int) Found {
	c := assay.Candidate{ID: "pull-" + string(rune('0'+number)), Status: assay.StatusMined, Repo: "r",
		Source: assay.Source{Number: number, Commit: commit, Merged: day(d)}}
	c.Digest = DigestOf(c)
	return Found{Candidate: c, Commits: []string{commit}}
}

func ids(cs []assay.Candidate) string {
	var out []string
	for _, c := range cs {
		out = append(out, c.ID+":"+c.Source.Commit)
	}
	return strings.Join(out, " ")
}

func TestMining12UpsertIsIdempotent(t *testing.T) {
	run := []Found{found(1, "a", 1), found(2, "b", 2), found(1, "c", 3)}
	first, d := Upsert(nil, run)
	if got := ids(first); got != "pull-1:a pull-2:b pull-1-2:c" || len(d.Added) != 3 {
		t.Fatalf("first run: %s, %+v", got, d)
	}
	again, d := Upsert(first, run)
	if diff := cmp.Diff(first, again); diff != "" || d.Same != 3 || len(d.Added)+len(d.Changed) != 0 {
		t.Errorf("second run: %+v\n%s", d, diff)
	}
	// The same in two runs that overlap, and in one that sees only the end.
	half, _ := Upsert(nil, run[:2])
	for _, rest := range [][]Found{run[1:], run[2:]} {
		if whole, _ := Upsert(half, rest); cmp.Diff(first, whole) != "" {
			t.Errorf("in parts: %s", ids(whole))
		}
	}
}

func TestMining12OlderChangesComeInOrder(t *testing.T) {
	late, _ := Upsert(nil, []Found{found(2, "b", 2)})
	all, _ := Upsert(late, []Found{found(1, "a", 1), found(2, "b", 2)})
	if got := ids(all); got != "pull-1:a pull-2:b" {
		t.Errorf("order: %s", got)
	}
}

func TestUpsertKeepsWhatLaterStagesMade(t *testing.T) {
	have, _ := Upsert(nil, []Found{found(1, "a", 1), found(2, "b", 2)})
	for i := range have {
		have[i].Status, have[i].Task, have[i].Validation = assay.StatusValid, have[i].ID, &assay.Validation{Status: "valid"}
	}
	edited := found(2, "b", 2)
	edited.Title = "Another title"
	got, d := Upsert(have, []Found{found(1, "a", 1), edited})
	if got[0].Status != assay.StatusValid || got[0].Validation == nil || d.Same != 1 {
		t.Errorf("unchanged: %+v", got[0])
	}
	if got[1].Status != assay.StatusMined || got[1].Validation != nil || got[1].Task != "" || len(d.Changed) != 1 {
		t.Errorf("changed: %+v", got[1])
	}
}

// A rebased pull request that went on after the last run is still the same.
func TestUpsertKnowsAGrownPullRequest(t *testing.T) {
	have, _ := Upsert(nil, []Found{found(1, "a", 1)})
	grown := found(1, "b", 2)
	grown.Commits = []string{"a", "b"}
	got, d := Upsert(have, []Found{grown})
	if ids(got) != "pull-1:b" || len(d.Changed) != 1 {
		t.Errorf("%s %+v", ids(got), d)
	}
}

func TestYieldAddsUp(t *testing.T) {
	all := []assay.Candidate{
		{ID: "a", Status: assay.StatusMined}, {ID: "b", Status: assay.StatusBuilt, Task: "b"}, {ID: "c", Status: assay.StatusBuilt, Task: "c"},
		{ID: "d", Status: assay.StatusRejected, Reason: assay.ReasonNoTests}, {ID: "e", Status: assay.StatusRejected, Reason: assay.ReasonNoTests},
		{ID: "f", Status: assay.StatusRejected, Reason: assay.ReasonBot}, {ID: "g", Status: assay.StatusRejected, Reason: assay.ReasonNoEnvironment},
		{ID: "h", Status: assay.StatusMined},
	}
	tasks := []assay.Task{
		{ID: "b", Validation: &assay.Validation{Status: "valid"}},
		{ID: "c", Validation: &assay.Validation{Status: "quarantined", Reason: "flaky"}},
	}
	y := YieldOf(WithTasks(all, tasks))
	sum, candidates := 0, 0
	for _, r := range y.Rows {
		sum += r.Count
		if !r.Mining {
			candidates += r.Count
		}
	}
	if y.Changes != 8 || sum != 8 || y.Candidates != 5 || candidates != 5 || y.Valid != 1 {
		t.Errorf("%+v", y)
	}
	if all[1].Status != assay.StatusBuilt {
		t.Error("the candidates themselves were changed")
	}
	var text, data bytes.Buffer
	if err := y.Write(&text, "terminal"); err != nil {
		t.Fatal(err)
	}
	want := `status       reason                      count  of changes  of candidates
mined                                        2       25.0%          40.0%
valid                                        1       12.5%          20.0%
quarantined  flaky                           1       12.5%          20.0%
rejected     no_environment                  1       12.5%          20.0%
rejected     no_tests                        2       25.0%
rejected     bot                             1       12.5%
all                                          8      100.0%
5 of 8 changes are candidates (62.5%); 1 valid.
`
	if d := cmp.Diff(want, text.String()); d != "" {
		t.Errorf("table (-want +got):\n%s", d)
	}
	if err := y.Write(&data, "json"); err != nil {
		t.Fatal(err)
	}
	var back Yield
	if err := json.Unmarshal(data.Bytes(), &back); err != nil || cmp.Diff(y, back) != "" {
		t.Errorf("json: %v", err)
	}
}
