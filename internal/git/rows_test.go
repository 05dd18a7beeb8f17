package git

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/testkit/repo"
)

// applied lays a patch over a fresh clone at base and gives a file's bytes.
func applied(t *testing.T, r *repo.Repo, base string, patch []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	file := filepath.Join(t.TempDir(), "p.patch")
	if err := os.WriteFile(file, patch, 0o600); err != nil {
		t.Fatal(err)
	}
	r.Git("clone", "--quiet", "--no-checkout", r.Dir, dir)
	r.Git("-C", dir, "-c", "core.autocrlf=false", "checkout", "--quiet", "--detach", base)
	r.Git("-C", dir, "-c", "core.whitespace=", "apply", "--index", "--whitespace=nowarn", file)
	tree := r.Git("-C", dir, "write-tree")
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return tree
}

func roundTrip(t *testing.T, before, after repo.Files) []byte {
	t.Helper()
	r, g := sample(t)
	r.Commit(dana, "Before (#8)", before)
	r.Commit(dana, "Change (#9)", after)
	got := changes(t, g, mine.Query{})
	c := got[len(got)-1]
	patch, err := g.Patch(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tree := applied(t, r, c.Parents[0], patch); tree != r.Git("rev-parse", c.Commit+"^{tree}") {
		t.Errorf("the patch laid over the base gives another tree:\n%s", patch)
	}
	return patch
}

func TestMining08BinaryFilesAreInThePatch(t *testing.T) {
	patch := roundTrip(t, repo.Files{"old.png": repo.F("\x89PNG\x00old")}, repo.Files{"new.png": repo.F("\x89PNG\x00\x01\x02"), "old.png": nil, "a.py": repo.F("x\n")})
	if bytes.Count(patch, []byte("GIT binary patch")) != 2 {
		t.Errorf("binary hunks were dropped:\n%s", patch)
	}
}

func TestMining09BytesComeThroughUnchanged(t *testing.T) {
	roundTrip(t,
		repo.Files{"crlf.py": repo.F("a\r\nb\r\n"), "end.py": repo.F("no end"), "blanks.py": repo.F("x  \n\t\n")},
		repo.Files{"crlf.py": repo.F("a\r\nc\r\nmixed\n"), "end.py": repo.F("no end\nstill none"), "blanks.py": repo.F("x  \n\t \ny \n")})
}

// What is read at a base is that base's tree and nothing of what came after.
func TestMining14TreeHoldsNothingNewer(t *testing.T) {
	r, g := sample(t)
	base := r.Git("rev-parse", "HEAD")
	r.Commit(dana, "Gold (#9)", repo.Files{"a.py": repo.F("the answer\n"), "gold.py": repo.F("gold\n")})
	files, _, err := g.Tree(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	for p, e := range files {
		if p == "gold.py" || strings.HasPrefix(p, ".git/") || bytes.Contains(e.Data, []byte("the answer")) {
			t.Errorf("%s holds what came later", p)
		}
	}
}

func TestMining05AMissingCommitIsSaid(t *testing.T) {
	_, g := sample(t)
	gone := strings.Repeat("ab", 20)
	if _, _, err := g.Tree(t.Context(), gone); err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("tree of a missing commit: %v", err)
	}
	if _, err := g.Resolve(t.Context(), gone); err == nil {
		t.Error("a missing commit was found")
	}
}

func TestReadTakesWhatIsThere(t *testing.T) {
	_, g := sample(t)
	got, err := g.Read(t.Context(), "HEAD", []string{"a.py", "b ü.py", "*.py", "nothing"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"a.py": []byte("1\n2\n3\n"), "b ü.py": []byte("b\n")}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAfterLeavesOutWhatWasSeen(t *testing.T) {
	r, g := sample(t)
	seen := r.Git("rev-parse", "HEAD~1")
	got := changes(t, g, mine.Query{After: seen})
	if len(got) != 1 || !strings.HasPrefix(got[0].Subject, "Merge pull request #3") || len(got[0].Inner) != 1 {
		t.Errorf("after %s: %+v", seen, got)
	}
}

// Each merge is told what it brought in itself, also where branches start
// from others, merge the main line, or lie on top of each other.
func TestInnerCommitsAreThoseOfTheMerge(t *testing.T) {
	r, g := sample(t)
	merge := func(number, branch string) {
		r.Git("checkout", "--quiet", "main")
		r.Git("merge", "--quiet", "--no-ff", "--message", "Merge pull request #"+number+" from dev/"+branch, branch)
		r.Now = r.Now.Add(1)
	}
	r.Git("checkout", "--quiet", "-b", "x")
	r.Commit(dana, "x1", repo.Files{"x": repo.F("1")})
	r.Git("checkout", "--quiet", "-b", "y")
	r.Commit(dana, "y1", repo.Files{"y": repo.F("1")})
	r.Git("checkout", "--quiet", "main")
	r.Commit(dana, "On main (#20)", repo.Files{"m": repo.F("1")})
	merge("21", "x")
	r.Git("checkout", "--quiet", "y")
	r.Git("merge", "--quiet", "--message", "Merge branch 'main' into y", "main")
	r.Commit(dana, "y2", repo.Files{"y": repo.F("2")})
	merge("22", "y")
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, c := range changes(t, g, mine.Query{}) {
		for _, in := range c.Inner {
			got[c.Subject] = append(got[c.Subject], in.Subject)
		}
		slices.Sort(got[c.Subject])
	}
	want := map[string][]string{
		"Merge pull request #3 from dev/topic": {"Change a"},
		"Merge pull request #21 from dev/x":    {"x1"},
		"Merge pull request #22 from dev/y":    {"Merge branch 'main' into y", "y1", "y2"},
	}
	delete(got, "Start")
	delete(got, "Add b (#2)")
	delete(got, "On main (#20)")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
