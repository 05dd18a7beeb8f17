package mine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

func TestReviewed(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		all        []ReviewState
	}{
		{"none", "", nil},
		{"approved", "approved", []ReviewState{{"a", "COMMENTED", day(1)}, {"a", "APPROVED", day(2)}}},
		{"one wants changes", "changes_requested", []ReviewState{{"a", "CHANGES_REQUESTED", day(2)}, {"b", "APPROVED", day(3)}}},
		{"the last word counts", "approved", []ReviewState{{"a", "APPROVED", day(3)}, {"a", "CHANGES_REQUESTED", day(2)}}},
		{"dismissed", "commented", []ReviewState{{"a", "CHANGES_REQUESTED", day(1)}, {"a", "DISMISSED", day(2)}, {"b", "COMMENTED", day(3)}}},
		{"a comment takes nothing back", "approved", []ReviewState{{"a", "APPROVED", day(1)}, {"a", "COMMENTED", day(2)}}},
	} {
		if got := reviewed(tc.all); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestRebasedRows(t *testing.T) {
	line := []Change{{Commit: "a", Authored: day(1)}, {Commit: "b", Authored: day(2)}, {Commit: "c", Authored: day(3)}, {Commit: "m", Authored: day(4), Parents: []string{"c", "x"}}, {Commit: "d", Authored: day(5)}}
	for _, tc := range []struct {
		name, want string
		pulls      []Pull
	}{
		{"two of three", "bc", []Pull{{Number: 1, MergeCommit: "c", Commits: 2, FirstCommit: day(2)}}},
		{"squashed", "", []Pull{{Number: 1, MergeCommit: "c", Commits: 2, FirstCommit: day(1)}}},
		{"one alone", "", []Pull{{Number: 1, MergeCommit: "c", Commits: 1, FirstCommit: day(3)}}},
		{"more than the line has", "", []Pull{{Number: 1, MergeCommit: "b", Commits: 9, FirstCommit: day(1)}}},
		{"over a merge", "", []Pull{{Number: 1, MergeCommit: "d", Commits: 3, FirstCommit: day(3)}}},
		{"over another's commit", "", []Pull{{Number: 1, MergeCommit: "c", Commits: 2, FirstCommit: day(2)}, {Number: 2, MergeCommit: "b", Commits: 1}}},
	} {
		var told Told
		for _, p := range tc.pulls {
			told.Join(p)
		}
		got := ""
		owners := told.rebased(line)
		for _, c := range line {
			if owners[c.Commit].Number == 1 {
				got += c.Commit
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestToldCorrectsTheMessages(t *testing.T) {
	p := Pull{Number: 7, Title: "T", Body: "B", Author: "ann", Bot: true, FirstCommit: day(2), Created: day(3), HeadBranch: "h", Base: "main"}
	for _, tc := range []struct {
		name  string
		c     Change
		kind  string
		first time.Time
	}{
		{"squash", Change{Subject: "x (#7)", Authored: day(5), Committed: day(5), Parents: []string{"p"}}, MergeSquash, day(2)},
		{"another number in the title", Change{Subject: "x (#3)", Authored: day(5), Parents: []string{"p"}}, MergeSquash, day(2)},
		{"no number", Change{Subject: "x", Authored: day(2), Parents: []string{"p"}}, MergeRebase, day(2)},
		{"merge without a number", Change{Subject: "Merge branch 'h'", Authored: day(5), Parents: []string{"p", "q"}, Inner: []InnerCommit{{Commit: "i", Author: "x <y>", Authored: day(1)}}}, MergeCommit, day(1)},
	} {
		got := MergeOf(tc.c).told(tc.c, p)
		if got.Kind != tc.kind || got.Number != 7 || got.Title != "T" || got.Body != "B" || got.Author != "ann" || !got.Bot || !got.FirstWork.Equal(tc.first) {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}

func TestStrays(t *testing.T) {
	var told Told
	told.Elsewhere(Pull{Number: 3, Base: "v1"})
	told.Join(Pull{Number: 4, MergeCommit: "here"})
	for _, tc := range []struct {
		commit string
		number int
		want   string
	}{{"x", 3, "pull request #3 was merged into v1"}, {"here", 3, ""}, {"x", 5, ""}} {
		if got := told.stray(tc.commit, tc.number); got != tc.want {
			t.Errorf("%s #%d: %q", tc.commit, tc.number, got)
		}
	}
}

// told is a found candidate as Mine makes it of a pull request.
func toldOf(p Pull, d int) Found {
	f := found(p.Number, p.MergeCommit, d)
	enrich(&f.Candidate, p)
	f.Links = linksOf(p, "o/r", nil)
	statementOf(&f.Candidate, p, closed(p, "o/r"))
	f.Digest, f.pull = DigestOf(f.Candidate), &p
	return f
}

func TestTheOwnIssueIsTheStatement(t *testing.T) {
	p := Pull{Number: 9, MergeCommit: "c", Title: "Fix", Body: "Fixes #2. Closes other/lib#1", Created: day(5), Updated: day(6), URL: "https://github.com/o/r/pull/9",
		Closes: []Issue{{Number: 1, Repo: "other/lib", Title: "Far"}, {Number: 2, Repo: "O/R", Title: "Near", Created: day(1), Labels: []string{"bug"}}}}
	f := toldOf(p, 6)
	if f.Statement.Title != "Near" || !f.IssueDate.Equal(day(1)) || !f.FirstWork.Equal(day(5)) || f.Source.URL != p.URL {
		t.Errorf("%+v", f.Candidate)
	}
	if d := cmp.Diff([]assay.Link{
		{Issue: 2, Evidence: EvidenceReference}, {Issue: 2, Evidence: EvidenceBody, Text: "Fixes #2"},
		{Issue: 1, Repo: "other/lib", Evidence: EvidenceReference}, {Issue: 1, Repo: "other/lib", Evidence: EvidenceBody, Text: "Closes other/lib#1"},
	}, f.Links); d != "" {
		t.Error(d)
	}
	p.Closes = nil
	if f := toldOf(p, 6); f.Statement.Origin != "pull" || !f.IssueDate.IsZero() || f.Doubts[0].Kind != DoubtFromPull {
		t.Errorf("%+v", f.Candidate)
	}
}

func TestCompleteBringsIssuesThatWordsName(t *testing.T) {
	list := []Found{toldOf(Pull{Number: 9, MergeCommit: "c", Title: "Fix", Body: "Fixes #2", Created: day(5), Updated: day(6)}, 6), found(3, "d", 7)}
	list[0].doubts = []assay.Confounder{{Kind: DoubtInline}}
	o := Options{URL: "https://github.com/o/r"}
	if d := cmp.Diff([]int{2}, Untold(list, o)); d != "" {
		t.Fatal(d)
	}
	before := list[0].Digest
	Complete(list, []Issue{{Number: 2, Title: "Cart", Created: day(2), Labels: []string{"bug"}}}, o)
	f := list[0]
	if f.Statement.Origin != "issue" || !f.IssueDate.Equal(day(2)) || f.Digest == before || f.Doubts[len(f.Doubts)-1].Kind != DoubtInline || len(f.Labels) != 1 {
		t.Errorf("%+v", f.Candidate)
	}
	f.Status = assay.StatusRejected
	if got := Untold([]Found{f}, o); len(got) != 0 {
		t.Errorf("asks for the issues of what was rejected: %v", got)
	}
}

func TestUpsertOfWhatAServerTold(t *testing.T) {
	p := Pull{Number: 4, MergeCommit: "c", Title: "Told", Created: day(2), Updated: day(5)}
	have, _ := Upsert(nil, []Found{toldOf(p, 3)})
	have[0].Status = assay.StatusValid

	// What moves without a word of the problem changes no digest.
	p.Updated, p.Labels, p.Reviews = day(6), []string{"bug"}, []ReviewState{{"a", "APPROVED", day(6)}}
	moved, d := Upsert(have, []Found{toldOf(p, 3)})
	if c := moved[0]; d.Same != 1 || c.Status != assay.StatusValid || !c.Updated.Equal(day(6)) || len(c.Labels) != 1 || c.Reviewed != "approved" {
		t.Errorf("%+v %+v", d, c)
	}
	// A run that asked no server takes nothing back, unless the base is new.
	if got, d := Upsert(moved, []Found{found(4, "c", 3)}); d.Same != 1 || got[0].Title != "Told" {
		t.Errorf("%+v %+v", d, got)
	}
	rebased := found(4, "c", 3)
	rebased.Base.Commit = "b"
	if _, d := Upsert(moved, []Found{rebased}); len(d.Changed) != 1 {
		t.Errorf("%+v", d)
	}
	// An edited title is a change.
	p.Title = "Edited"
	if got, d := Upsert(moved, []Found{toldOf(p, 3)}); len(d.Changed) != 1 || got[0].Status != assay.StatusMined {
		t.Errorf("%+v %+v", d, got)
	}
}

func TestUpsertLearnsWhoseACommitIs(t *testing.T) {
	direct := Found{Candidate: assay.Candidate{ID: "commit-a", Source: assay.Source{Kind: "commit", Commit: "a", Merged: day(1)}}, Commits: []string{"a"}}
	have, _ := Upsert(nil, []Found{direct})
	whole := toldOf(Pull{Number: 4, MergeCommit: "b", Updated: day(2)}, 2)
	whole.Commits = []string{"a", "b"}
	got, d := Upsert(have, []Found{whole})
	if ids(got) != "pull-4:b" || len(d.Added) != 1 {
		t.Errorf("%s %+v", ids(got), d)
	}
	// What was nowhere is found at another commit.
	have, _ = Upsert(nil, []Found{Unfetchable(Pull{Number: 4, MergeCommit: "gone", Updated: day(2), Merged: day(2)}, Options{}, "rewritten")})
	if have[0].Status != assay.StatusRejected || have[0].Reason != assay.ReasonUnfetchable || YieldOf(have).Candidates != 0 {
		t.Errorf("%+v", have)
	}
	if got, d := Upsert(have, []Found{whole}); ids(got) != "pull-4:b" || len(d.Changed) != 1 {
		t.Errorf("%s %+v", ids(got), d)
	}
}

func TestOpenIssuesAreParked(t *testing.T) {
	i := Issue{Number: 5, Repo: "o/r", Title: "Cart", Body: "Late", Created: day(1), Updated: day(4), Edited: day(4), URL: "https://github.com/o/r/issues/5", State: "OPEN",
		Comments: []Comment{{Author: "bob", Body: "Me too", Created: day(3)}}}
	o := Options{Repo: "x", URL: "https://github.com/o/r"}
	f := Open(i, o)
	if !Parked(f.Candidate) || f.Status != assay.StatusMined || f.Source.Kind != "issue" || !f.Statement.Clean || !strings.Contains(f.Statement.Hints, "Me too") || !f.FirstWork.IsZero() {
		t.Errorf("%+v", f.Candidate)
	}
	all, _ := Upsert(nil, []Found{found(1, "a", 1), f})
	if y := YieldOf(all); y.Changes != 1 || y.Candidates != 1 || y.Parked != 1 || len(y.Rows) != 1 {
		t.Errorf("%+v", y)
	}
	for state, left := range map[string]int{"OPEN": 2, "CLOSED": 1} {
		i.State = state
		if got := Unpark(append([]assay.Candidate{}, all...), []Pull{{Number: 6, Closes: []Issue{i}}}, o); len(got) != left {
			t.Errorf("%s: %s", state, ids(got))
		}
	}
}
