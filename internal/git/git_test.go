package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/testkit/repo"
	"github.com/assaybot/assay/internal/tree"
)

const dana = "Dana Dev <dana@example.com>"

func day(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

func tool() Tool { return Tool{Env: []string{"PATH=" + os.Getenv("PATH")}} }

func sample(t *testing.T) (*repo.Repo, *Repo) {
	t.Helper()
	r := repo.New(t.Context(), filepath.Join(t.TempDir(), "thing.git dir"), day(1))
	r.Commit(dana, "Start", repo.Files{"a.py": repo.F("one\n"), "crlf.txt": repo.F("a\r\nb $Format:%H$"), ".gitattributes": repo.F("*.txt export-subst\n*.py export-ignore\n")})
	r.Commit(dana, "Add b (#2)\n\nFixes #1", repo.Files{"b ü.py": repo.F("b\n"), "a.py": repo.F("one\ntwo\n"), "bin.dat": repo.F("\x00\x01\xff")})
	r.Merge(dana, 3, "topic", "Change a", repo.Files{"a.py": repo.F("1\n2\n3\n")})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	g, err := tool().Open(t.Context(), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return r, g
}

func changes(t *testing.T, g *Repo, q mine.Query) []mine.Change {
	t.Helper()
	var out []mine.Change
	if err := g.Changes(t.Context(), q, func(c mine.Change) error { out = append(out, c); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestChangesAreTheFirstParentLine(t *testing.T) {
	_, g := sample(t)
	got := changes(t, g, mine.Query{})
	if len(got) != 3 {
		t.Fatalf("%d changes, want 3", len(got))
	}
	squash := got[1]
	if squash.Subject != "Add b (#2)" || squash.Body != "Fixes #1" || squash.Author != dana {
		t.Errorf("squash merge read as %+v", squash)
	}
	want := []mine.FileStat{
		{Path: "a.py", Status: "M", Added: 1, OldMode: "100644", NewMode: "100644"},
		{Path: "b ü.py", Status: "A", Added: 1, OldMode: "000000", NewMode: "100644"},
		{Path: "bin.dat", Status: "A", Binary: true, OldMode: "000000", NewMode: "100644"},
	}
	if d := cmp.Diff(want, squash.Files); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	merge := got[2]
	if len(merge.Parents) != 2 || len(merge.Inner) != 1 || merge.Inner[0].Subject != "Change a" || len(merge.Files) != 1 {
		t.Errorf("merge commit read as %+v", merge)
	}
}

func TestSinceIsACutoff(t *testing.T) {
	_, g := sample(t)
	if got := changes(t, g, mine.Query{Since: day(3)}); len(got) != 1 || got[0].Subject != "Merge pull request #3 from dev/topic" {
		t.Errorf("after day 3: %+v", got)
	}
}

func TestRenames(t *testing.T) {
	r, g := sample(t)
	r.Git("mv", "a.py", "moved.py")
	r.Commit(dana, "Move (#9)", nil)
	got := changes(t, g, mine.Query{})
	last := got[len(got)-1]
	if len(last.Files) != 1 || last.Files[0].Status != "R" || last.Files[0].Old != "a.py" || last.Files[0].Path != "moved.py" {
		t.Errorf("rename read as %+v", last.Files)
	}
}

// What git archive or a checkout would change (attributes, line ends) must
// come through as it is in the repository.
func TestTreeIsByteForByte(t *testing.T) {
	_, g := sample(t)
	got, subs, err := g.Tree(t.Context(), "HEAD")
	if err != nil || len(subs) != 0 {
		t.Fatal(subs, err)
	}
	want := tree.Tree{
		"a.py": tree.Text("1\n2\n3\n"), "crlf.txt": tree.Text("a\r\nb $Format:%H$"), "b ü.py": tree.Text("b\n"),
		"bin.dat": tree.Text("\x00\x01\xff"), ".gitattributes": tree.Text("*.txt export-subst\n*.py export-ignore\n"),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tree (-want +got):\n%s", d)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for name, dir := range map[string]string{"no repository": t.TempDir(), "missing": "/nowhere/at all"} {
		_, err := tool().Open(t.Context(), dir)
		if !assay.IsUser(err) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A repository's own configuration must not run a program of its choice.
func TestConfigurationOfTheRepositoryRunsNothing(t *testing.T) {
	r, g := sample(t)
	flag := filepath.Join(t.TempDir(), "ran")
	r.Git("config", "core.fsmonitor", "touch "+flag)
	r.Git("config", "diff.external", "touch "+flag)
	r.Git("config", "core.pager", "touch "+flag)
	c := changes(t, g, mine.Query{})
	if _, err := g.Patch(t.Context(), c[1], nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(flag); err == nil {
		t.Error("the repository's configuration ran a program")
	}
}

func TestAnErrorOfYieldStopsTheWalk(t *testing.T) {
	_, g := sample(t)
	n := 0
	err := g.Changes(t.Context(), mine.Query{}, func(mine.Change) error { n++; return context.Canceled })
	if n != 1 || err == nil {
		t.Errorf("%d calls, %v", n, err)
	}
}

func TestCloneIsBareSharedAndUpdated(t *testing.T) {
	r, _ := sample(t)
	k := tool()
	k.Cache = filepath.Join(t.TempDir(), "clones")
	url := "file://" + strings.ReplaceAll(r.Dir, " ", "%20")
	first, err := k.Find(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	r.Commit(dana, "Later (#10)", repo.Files{"later.py": repo.F("x\n")})
	second, err := k.Find(t.Context(), url)
	if err != nil || second.Dir() != first.Dir() {
		t.Fatal(second, err)
	}
	if got := changes(t, second, mine.Query{}); got[len(got)-1].Subject != "Later (#10)" {
		t.Error("the clone was not updated")
	}
}

func TestWithoutCredentials(t *testing.T) {
	for in, want := range map[string]string{
		"https://u:p@host/o/r":  "https://host/o/r",
		"https://host/o/r.git":  "https://host/o/r.git",
		"git@host:o/r":          "git@host:o/r",
		"https://tok@host/a@b/": "https://host/a@b/",
	} {
		if got := WithoutCredentials(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte("c\x02p\x02a\x021\x022\x02s\x02b\x03\x00:100644 100644 a b M\x00x\x001\t2\tx\x00"))
	f.Add([]byte("\x03:R\x00"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = parseRecord(b) })
}
