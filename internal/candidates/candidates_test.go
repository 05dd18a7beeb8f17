package candidates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

func store(t *testing.T) Store { t.Helper(); return At(filepath.Join(t.TempDir(), "c.jsonl")) }

func candidate(id string) assay.Candidate {
	return assay.Candidate{Schema: 1, ID: id, Repo: "r", Status: assay.StatusMined, Title: "<b> & ü", Digest: "d",
		Source: assay.Source{Kind: "pull"}, Statement: assay.Statement{Origin: "pull"}}
}

func TestRoundTrip(t *testing.T) {
	s := store(t)
	want := []assay.Candidate{candidate("pull-1"), candidate("pull-2")}
	if err := s.Save(want); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestFaultyLinesAreToldAtOnce(t *testing.T) {
	s := store(t)
	if err := os.WriteFile(s.Path(), []byte("{\n\n{\"schema\":1,\"nope\":2}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := s.Load()
	if err == nil || !strings.Contains(err.Error(), ":1:") || !strings.Contains(err.Error(), ":3:") || !strings.Contains(err.Error(), "nope") {
		t.Errorf("%v", err)
	}
}

func TestUndoTakesTheLastDecisionBack(t *testing.T) {
	s := store(t)
	for _, d := range []assay.Decision{assay.Accept, assay.Reject, assay.Undo} {
		if err := s.Append(assay.Review{Candidate: "a", Decision: d}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Append(assay.Review{Candidate: "b", Decision: assay.Undo}); err != nil {
		t.Fatal(err)
	}
	log, err := s.Reviews()
	if err != nil {
		t.Fatal(err)
	}
	got := Decisions(log)
	if len(got) != 1 || got["a"].Decision != assay.Accept {
		t.Errorf("%+v", got)
	}
}

func TestALineCutByACrashIsLeftOut(t *testing.T) {
	s := store(t)
	if err := s.Append(assay.Review{Candidate: "a", Decision: assay.Accept}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(s.ReviewPath(), os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"candidate":"b","deci`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := s.Reviews()
	if err != nil || len(log) != 1 {
		t.Errorf("%v, %v", log, err)
	}
}

func TestASecondWriterIsRefusedByName(t *testing.T) {
	s := store(t)
	err := s.Update("assay mine", func(all []assay.Candidate) ([]assay.Candidate, error) {
		inner := s.Update("another", func(a []assay.Candidate) ([]assay.Candidate, error) { return a, nil })
		if inner == nil || !strings.Contains(inner.Error(), "assay mine") {
			t.Errorf("second writer: %v", inner)
		}
		return append(all, candidate("x")), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := s.Load(); err != nil || len(all) != 1 {
		t.Errorf("%v %v", all, err)
	}
}
