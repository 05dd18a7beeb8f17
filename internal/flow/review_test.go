package flow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
)

func reviewed(n int) assay.Candidate {
	return assay.Candidate{Schema: 1, ID: fmt.Sprintf("c%d", n), Repo: "r", Status: assay.StatusMined, Title: fmt.Sprintf("Title %d", n),
		Source: assay.Source{Kind: "pull", Number: 100 + n}, Statement: assay.Statement{Origin: "pull"}, Digest: fmt.Sprintf("d%d", n)}
}

func newDesk(t *testing.T, all ...assay.Candidate) (*Desk, candidates.Store) {
	t.Helper()
	store := candidates.At(filepath.Join(t.TempDir(), "candidates.jsonl"))
	if err := store.Save(all); err != nil {
		t.Fatal(err)
	}
	return deskOf(t, store, "ann"), store
}

func deskOf(t *testing.T, store candidates.Store, who string) *Desk {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }
	d, err := NewDesk(DeskOptions{Store: store.Path(), Who: who, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func said(n int, d assay.Decision) Verdict {
	v := Verdict{Candidate: fmt.Sprintf("c%d", n), Decision: d, Digest: fmt.Sprintf("d%d", n)}
	if d == assay.Reject {
		v.Reason = "too_easy"
	}
	return v
}

func decide(t *testing.T, d *Desk, v Verdict) {
	t.Helper()
	if err := d.Decide(v); err != nil {
		t.Fatal(err)
	}
}

func TestADecisionIsOnDiskBeforeItIsTold(t *testing.T) {
	d, store := newDesk(t, reviewed(1), reviewed(2))
	v := said(1, assay.Reject)
	v.Note = "seen\nbefore"
	decide(t, d, v)
	decide(t, d, v) // a browser that lost the answer
	log, err := store.Reviews()
	if err != nil {
		t.Fatal(err)
	}
	want := []assay.Review{{Candidate: "c1", Decision: assay.Reject, Reason: "too_easy", Note: "seen\nbefore", Who: "ann", When: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Digest: "d1"}}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := deskOf(t, store, "ann").List(Filter{})
	if again.Progress != (Tally{Total: 2, Rejected: 1}) || len(again.Entries) != 1 {
		t.Errorf("a desk opened anew: %+v", again)
	}
}

func TestDecideRefuses(t *testing.T) {
	d, store := newDesk(t, reviewed(1))
	stale, unknown, whim, undo, long := said(1, assay.Accept), said(7, assay.Accept), said(1, assay.Reject), said(1, assay.Undo), said(1, assay.Skip)
	stale.Digest, whim.Reason, long.Note = "d0", "whim", strings.Repeat("x", noteLimit+1)
	for _, tt := range []struct {
		v    Verdict
		want func(error) bool
	}{
		{stale, func(err error) bool { return errors.Is(err, ErrConflict) }},
		{unknown, func(err error) bool { return errors.Is(err, ErrUnknown) }},
		{whim, assay.IsUser}, {undo, assay.IsUser}, {long, assay.IsUser},
	} {
		if err := d.Decide(tt.v); !tt.want(err) {
			t.Errorf("%+v: %v", tt.v, err)
		}
	}
	if _, err := os.Stat(store.ReviewPath()); err == nil {
		t.Error("something was recorded")
	}
}

func TestUndoTakesBackTheReviewersOwnLast(t *testing.T) {
	ann, store := newDesk(t, reviewed(1), reviewed(2), reviewed(3))
	bob := deskOf(t, store, "bob")
	decide(t, ann, said(1, assay.Accept))
	decide(t, ann, said(2, assay.Skip))
	decide(t, bob, said(3, assay.Accept))
	for _, want := range []string{"c2", "c1"} {
		if r, err := ann.Undo(); err != nil || r.Candidate != want {
			t.Errorf("took back %+v, %v; want %s", r, err, want)
		}
	}
	if _, err := ann.Undo(); !errors.Is(err, ErrNothing) {
		t.Errorf("%v", err)
	}
	if p := ann.List(Filter{}).Progress; p != (Tally{Total: 3, Accepted: 1}) {
		t.Errorf("%+v", p)
	}
	decide(t, ann, said(1, assay.Accept))
	decide(t, bob, said(1, assay.Reject))
	if _, err := ann.Undo(); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "bob") {
		t.Errorf("taking back what another decided since: %v", err)
	}
}

func TestNextGoesAround(t *testing.T) {
	d, _ := newDesk(t, reviewed(1), reviewed(2), reviewed(3), reviewed(4))
	decide(t, d, said(3, assay.Accept))
	for _, tt := range []struct {
		after string
		step  int
		want  string
	}{{"", 1, "c1"}, {"gone", 1, "c1"}, {"c1", 1, "c2"}, {"c2", 1, "c4"}, {"c3", 1, "c4"}, {"c4", 1, "c1"}, {"c1", -1, "c4"}, {"c3", -1, "c2"}, {"c4", -1, "c2"}} {
		if got, ok := d.Next(tt.after, Filter{}, tt.step); got != tt.want || !ok {
			t.Errorf("after %q by %d: %q, want %q", tt.after, tt.step, got, tt.want)
		}
	}
	if got, ok := d.Next("c3", Filter{Decision: "accept"}, 1); ok {
		t.Errorf("the only one is followed by %q", got)
	}
}

func TestFilters(t *testing.T) {
	a, b, c := reviewed(1), reviewed(2), reviewed(3)
	a.Labels, a.Language, a.Statement.Body = []string{"bug"}, "go", "Crash in the PARSER"
	b.Doubts, b.Files = []assay.Confounder{{Kind: "has_image"}}, []assay.SplitFile{{Path: "src/parser.rs", Class: assay.ClassSource, Status: "modified"}}
	b.Links = []assay.Link{{Issue: 77}}
	c.Status, c.Reason = assay.StatusRejected, assay.ReasonBot
	d, _ := newDesk(t, a, b, c)
	decide(t, d, said(1, assay.Skip))
	for _, tt := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "c2"},
		{Filter{Decision: FilterAll}, "c1 c2"},
		{Filter{Decision: FilterAll, Status: FilterAll}, "c1 c2 c3"},
		{Filter{Status: "rejected"}, "c3"},
		{Filter{Decision: "skip"}, "c1"},
		{Filter{Decision: FilterAll, Label: "bug"}, "c1"},
		{Filter{Decision: FilterAll, Language: "go"}, "c1"},
		{Filter{Decision: FilterAll, Confounder: "has_image"}, "c2"},
		{Filter{Decision: FilterAll, Text: "Parser"}, "c1 c2"},
		{Filter{Decision: FilterAll, Text: "parser crash"}, "c1"},
		{Filter{Decision: FilterAll, Text: "#77"}, "c2"},
		{Filter{Decision: FilterAll, Text: "#101"}, "c1"},
		{Filter{Text: "nowhere"}, ""},
	} {
		l := d.List(tt.f)
		ids := make([]string, len(l.Entries))
		for i, e := range l.Entries {
			ids[i] = e.Candidate.ID
		}
		if got := strings.Join(ids, " "); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.f, got, tt.want)
		}
	}
	if f := d.List(Filter{}).Facets; len(f.Statuses) != 2 || f.Statuses[0] != (Facet{"mined", 2}) || len(f.Languages) != 1 {
		t.Errorf("facets %+v", f)
	}
}

func TestWhatChangesOnDiskIsSeen(t *testing.T) {
	d, store := newDesk(t, reviewed(1))
	decide(t, d, said(1, assay.Accept))
	changed := reviewed(1)
	changed.Digest = "d1 but newer"
	if err := store.Save([]assay.Candidate{changed, reviewed(2)}); err != nil {
		t.Fatal(err)
	}
	e, err := d.Get("c1")
	if err != nil || !e.Stale || e.Decision() != "" || e.Review == nil {
		t.Errorf("%+v, %v", e, err)
	}
	if l := d.List(Filter{}); len(l.Entries) != 2 || l.Warning != "" {
		t.Errorf("%+v", l)
	}
	if err := os.WriteFile(store.Path(), []byte("{broken\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if l := d.List(Filter{}); len(l.Entries) != 2 || l.Warning == "" {
		t.Errorf("a broken file: %+v", l)
	}
	if err := d.Decide(said(2, assay.Accept)); err == nil {
		t.Error("decided on a file that can't be read")
	}
}

func TestNewDeskSaysWhatIsMissing(t *testing.T) {
	_, store := newDesk(t, reviewed(1))
	for _, o := range []DeskOptions{{Store: store.Path()}, {Store: filepath.Join(t.TempDir(), "none.jsonl"), Who: "ann"}} {
		if _, err := NewDesk(o); !assay.IsUser(err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestDesksShareAStore(t *testing.T) {
	const n = 20
	all := make([]assay.Candidate, n)
	for i := range all {
		all[i] = reviewed(i)
	}
	first, store := newDesk(t, all...)
	desks := []*Desk{first, deskOf(t, store, "bob")}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := desks[i%2].Decide(said(i, assay.Accept)); err != nil {
				t.Error(err)
			}
			desks[i%2].List(Filter{})
		})
	}
	wg.Wait()
	if p := first.List(Filter{}).Progress; p.Accepted != n {
		t.Errorf("%+v", p)
	}
}

// oneRepo is a repository of one change.
type oneRepo struct{ Repository }

func (oneRepo) Resolve(_ context.Context, rev string) (string, error) { return "<" + rev + ">", nil }

func (oneRepo) Diff(_ context.Context, from, to string, _ []string) ([]byte, error) {
	return []byte(from + ".." + to), nil
}

func TestReviewShowsTheMergedChange(t *testing.T) {
	c := reviewed(1)
	c.Source.Commit, c.Base.Commit = "fix", "cutoff"
	_, store := newDesk(t, c)
	opened := 0
	f := &Flow{Repos: func(context.Context, string) (Repository, error) { opened++; return oneRepo{}, nil }}
	d, err := f.Review(t.Context(), ReviewRequest{Path: filepath.Dir(store.Path()), Who: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := d.Diff(t.Context(), c)
		if err != nil || string(got) != "<fix^1>..fix" {
			t.Errorf("%s, %v", got, err)
		}
	}
	if opened != 1 {
		t.Errorf("opened %d times", opened)
	}
}

// What validation wrote into a task is seen at once, where the tasks are known.
func TestReviewShowsWhatValidationFound(t *testing.T) {
	_, store := newDesk(t, reviewed(1), reviewed(2))
	tasks := t.TempDir()
	d, err := NewDesk(DeskOptions{Store: store.Path(), Who: "ann", Tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	strength := func(id string) *assay.Strength {
		e, err := d.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		return e.Candidate.Strength
	}
	if s := strength("c1"); s != nil {
		t.Errorf("before: %+v", s)
	}
	if err := os.Mkdir(filepath.Join(tasks, "c1"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"id": "c1", "strength": {"hunks": 4, "noticed": 3, "share": 0.75}, "validation": {"status": "valid"}}`
	if err := os.WriteFile(filepath.Join(tasks, "c1", "task.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := strength("c1"); s == nil || s.Noticed != 3 || strength("c2") != nil {
		t.Errorf("after: %+v", s)
	}
}
