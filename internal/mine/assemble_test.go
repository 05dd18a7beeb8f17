package mine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/git"
	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/testkit/repo"
)

const dana = "Dana Dev <dana@example.com>"

func tool() git.Tool { return git.Tool{Env: []string{"PATH=" + os.Getenv("PATH")}} }

func newRepo(t *testing.T) *repo.Repo {
	t.Helper()
	r := repo.New(t.Context(), filepath.Join(t.TempDir(), "r"), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	r.Commit(dana, "Start", repo.Files{"a.py": repo.F("one\n"), "tests/test_a.py": repo.F("t\n"), "README.md": repo.F("r\n")})
	return r
}

// run mines a repository and finalizes the candidates' IDs.
func run(t *testing.T, r *repo.Repo, o mine.Options) []assay.Candidate {
	t.Helper()
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return runDir(t, r.Dir, o)
}

func runDir(t *testing.T, dir string, o mine.Options) []assay.Candidate {
	t.Helper()
	g, err := tool().Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	o.Repo = dir
	found, err := mine.Mine(t.Context(), g, o)
	if err != nil {
		t.Fatal(err)
	}
	all, _ := mine.Upsert(nil, found.Found)
	return all
}

func both(s string) repo.Files {
	return repo.Files{"a.py": repo.F(s + "\n"), "tests/test_a.py": repo.F("test " + s + "\n")}
}

func brief(c assay.Candidate) string {
	out := c.ID
	if strings.HasPrefix(out, "commit-") {
		out = "commit"
	}
	return strings.TrimSpace(out + " " + c.MergeKind + " " + string(c.Status) + " " + string(c.Reason))
}

func TestEveryWayToTheMainLine(t *testing.T) {
	r := newRepo(t)
	r.Commit(dana, "Fix by squash (#2)\n\nThe cart is empty.\n\nFixes #1", both("2"))
	r.Merge(dana, 3, "topic", "Fix by a merge", both("3"))
	r.Commit(dana, "Fix by rebase\n\nPR-URL: https://github.com/o/r/pull/4", both("4"))
	r.Commit(dana, "Fix by rebase, part 1\n\nPull-Request: #5", repo.Files{"a.py": repo.F("5a\n")})
	r.Commit(dana, "Fix by rebase, part 2\n\nPull-Request: #5\nFixes: #9", repo.Files{"tests/test_a.py": repo.F("test 5\n"), "a.py": repo.F("5b\n")})
	mergeAs(r, "gl", "Merge branch 'gl' into 'main'\n\nFix on GitLab\n\nSee merge request g/r!6", both("6"))
	mergeAs(r, "bb", "Merged in bb (pull request #7)\n\nFix on Bitbucket", both("7"))
	r.Commit(dana, "Fix pushed by hand", both("8"))
	mergeAs(r, "local", "Merge branch 'local'", both("9"))
	r.Commit("dependabot[bot] <d@github.com>", "Bump x from 1 to 2 (#10)", both("10"))
	r.Commit(dana, "Revert \"Fix by squash (#2)\" (#11)\n\nThis reverts commit abcdefabcdef.", both("11"))
	r.Commit(dana, "Release 1.2.0 (#12)", both("12"))
	r.Commit(dana, "Document (#13)", repo.Files{"README.md": repo.F("more\n")})
	r.Commit(dana, "More tests (#14)", repo.Files{"tests/test_a.py": repo.F("more\n")})
	r.Commit(dana, "No tests (#15)", repo.Files{"a.py": repo.F("15\n")})
	r.Commit(dana, "Nothing (#16)", nil)
	r.Commit(dana, "Fix by squash (#2)\n\nAgain.", both("17"))

	var got []string
	all := run(t, r, mine.Options{})
	for _, c := range all {
		got = append(got, brief(c))
	}
	want := []string{
		"commit direct rejected not_a_pull_request",
		"pull-2 squash mined", "pull-3 merge_commit mined", "pull-4 rebase mined", "pull-5 rebase mined",
		"pull-6 merge_commit mined", "pull-7 merge_commit mined",
		"commit direct rejected not_a_pull_request", "commit branch rejected not_a_pull_request",
		"pull-10 squash rejected bot", "pull-11 squash rejected revert", "pull-12 squash rejected release",
		"pull-13 squash rejected no_source", "pull-14 squash rejected no_source", "pull-15 squash rejected no_tests",
		"pull-16 squash rejected empty_change", "pull-2-2 squash mined",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("candidates (-want +got):\n%s", d)
	}
	squash, rebased := all[1], all[4]
	if squash.Statement.Origin != "pull" || squash.Statement.Body != "The cart is empty.\n\nFixes #1" || squash.Language != "python" {
		t.Errorf("squash: %+v", squash.Statement)
	}
	if d := cmp.Diff([]int{1}, squash.Source.Issues); d != "" {
		t.Errorf("issues of the squash: %s", d)
	}
	if len(rebased.Files) != 2 || rebased.Base.Commit != r.Git("rev-parse", rebased.Source.Commit+"~2") || rebased.Title != "Fix by rebase, part 1" {
		t.Errorf("rebased as %+v", rebased)
	}
	if d := cmp.Diff([]int{9}, rebased.Source.Issues); d != "" {
		t.Errorf("issues of the rebase: %s", d)
	}
}

// mergeAs merges a branch with one commit under any message.
func mergeAs(r *repo.Repo, branch, message string, files repo.Files) {
	r.Git("checkout", "--quiet", "-b", branch)
	r.Commit(dana, "Work on "+branch, files)
	r.Git("checkout", "--quiet", "main")
	r.Git("merge", "--quiet", "--no-ff", "--message", message, branch)
	r.Now = r.Now.Add(24 * time.Hour)
}

// The main line went on after branching: the change is what the merge brought
// in, from its first parent, and laid over that gives the merged files.
func TestMining04BaseIsTheFirstParent(t *testing.T) {
	r := newRepo(t)
	r.Git("checkout", "--quiet", "-b", "topic")
	r.Commit(dana, "Fix, closes #5", repo.Files{"b.py": repo.F("fix\n"), "tests/test_b.py": repo.F("t\n")})
	r.Git("checkout", "--quiet", "main")
	advanced := r.Commit(dana, "Elsewhere (#1)", both("later"))
	r.Git("merge", "--quiet", "--no-ff", "--message", "Merge pull request #2 from dev/topic\n\nFix", "topic")
	all := run(t, r, mine.Options{})
	c := all[len(all)-1]
	var paths []string
	for _, f := range c.Files {
		paths = append(paths, f.Path)
	}
	if c.Base.Commit != advanced || c.Base.Rule != "parent" {
		t.Errorf("base %+v, want %s", c.Base, advanced)
	}
	if d := cmp.Diff([]string{"b.py", "tests/test_b.py"}, paths); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if len(c.Links) != 1 || c.Links[0].Evidence != mine.EvidenceCommit {
		t.Errorf("links %+v", c.Links)
	}
}

func TestMining07InlineTestsOfARepository(t *testing.T) {
	const before = "pub fn add(a: i32) -> i32 {\n    a\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(1, 1);\n    }\n}\n"
	r := newRepo(t)
	r.Commit(dana, "Start Rust", repo.Files{"src/lib.rs": repo.F(before), "src/other.rs": repo.F("pub fn x() {}\n")})
	r.Commit(dana, "Add right (#1)", repo.Files{"src/lib.rs": repo.F(strings.NewReplacer("    a\n", "    a + 1\n", "1, 1", "2, super::add(1)").Replace(before))})
	r.Commit(dana, "Only tests (#2)", repo.Files{"src/lib.rs": repo.F(strings.NewReplacer("    a\n", "    a + 1\n", "1, 1", "3, super::add(2)").Replace(before))})
	r.Commit(dana, "Only source (#3)", repo.Files{"src/other.rs": repo.F("pub fn x() -> i32 { 1 }\n")})
	all := run(t, r, mine.Options{})
	var got []string
	for _, c := range all[2:] {
		got = append(got, brief(c)+" "+string(c.Files[0].Class))
	}
	want := []string{"pull-1 squash mined inline", "pull-2 squash rejected no_source inline", "pull-3 squash rejected no_tests source"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMining12MergedAfterCountsNotOpened(t *testing.T) {
	r := newRepo(t)
	r.Git("checkout", "--quiet", "-b", "early")
	r.Commit(dana, "Opened early", both("early"))
	r.Git("checkout", "--quiet", "main")
	r.Now = r.Now.AddDate(0, 2, 0)
	since := r.Now.Add(-time.Hour)
	r.Git("merge", "--quiet", "--no-ff", "--message", "Merge pull request #2 from dev/early\n\nFix", "early")
	all := run(t, r, mine.Options{Since: since})
	if len(all) != 1 || all[0].ID != "pull-2" || !all[0].FirstWork.Before(since) {
		t.Errorf("%+v", all)
	}
}

// A commit of an old date lies on top of newer ones: git's own limit would end
// its walk there.
func TestMining12DatesOutOfOrder(t *testing.T) {
	r := newRepo(t)
	r.Now = r.Now.AddDate(0, 6, 0)
	since := r.Now.Add(-time.Hour)
	r.Commit(dana, "New (#2)", both("new"))
	r.Now = r.Now.AddDate(0, -5, 0)
	r.Commit(dana, "Old date (#3)", both("old"))
	if all := run(t, r, mine.Options{Since: since}); len(all) != 1 || all[0].ID != "pull-2" {
		t.Errorf("%+v", all)
	}
}

func TestMining43SubmodulesAreReported(t *testing.T) {
	r := newRepo(t)
	r.Git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("ab", 20)+",lib")
	for p, s := range map[string]string{"a.py": "x\n", "tests/test_a.py": "y\n"} {
		if err := os.WriteFile(filepath.Join(r.Dir, p), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.Git("add", "a.py", "tests")
	r.Git("commit", "--quiet", "--message", "Move the library (#2)")
	all := run(t, r, mine.Options{})
	c := all[len(all)-1]
	if c.Status != assay.StatusMined || len(c.Doubts) == 0 || c.Doubts[len(c.Doubts)-1].Kind != mine.DoubtSubmodule {
		t.Errorf("%s, doubts %+v", brief(c), c.Doubts)
	}
}

func TestMergeOfLongLivedBranches(t *testing.T) {
	r := newRepo(t)
	r.Git("checkout", "--quiet", "-b", "work")
	r.Commit(dana, "One (#2)", both("1"))
	r.Commit(dana, "Two (#3)", both("2"))
	r.Git("checkout", "--quiet", "main")
	r.Git("merge", "--quiet", "--no-ff", "--message", "Merge pull request #4 from dev/work\n\nNext", "work")
	r.Now = r.Now.Add(time.Hour)
	mergeAs(r, "develop", "Merge branch 'develop' into 'main'\n\nWeekly\n\nSee merge request g/r!5", both("3"))
	mergeAs(r, "topic", "Merge branch 'develop'", both("4"))
	all := run(t, r, mine.Options{})
	for _, c := range all[1:] {
		if c.Reason != assay.ReasonBranchMerge {
			t.Errorf("%s: %s", brief(c), c.Detail)
		}
	}
	if len(all) != 4 {
		t.Errorf("%d candidates", len(all))
	}
}

// One commit of a squash may revert another; the whole is no revert.
func TestARevertWithinASquashIsNone(t *testing.T) {
	r := newRepo(t)
	r.Commit(dana, "Fix (#2)\n\n* Try\n\n* Revert \"Try\"\n\nThis reverts commit abcdefabcdef.\n\n* Fix", both("1"))
	all := run(t, r, mine.Options{})
	if c := all[1]; c.Status != assay.StatusMined {
		t.Errorf("%s: %s", brief(c), c.Detail)
	}
}

func TestBaseAtTheCutoff(t *testing.T) {
	r := newRepo(t)
	start := r.Git("rev-parse", "HEAD")
	r.Commit(dana, "One (#2)", both("1"))
	r.Commit(dana, "Two (#3)", both("2"))
	for _, c := range run(t, r, mine.Options{Base: mine.BaseCutoff, Cutoff: start})[1:] {
		if c.Base != (assay.Base{Commit: start, Rule: "cutoff"}) {
			t.Errorf("%s: base %+v", c.ID, c.Base)
		}
	}
}

func TestDigestIsOverWhatMiningSaw(t *testing.T) {
	r := newRepo(t)
	r.Commit(dana, "One (#2)", both("1"))
	a, b := run(t, r, mine.Options{})[1], run(t, r, mine.Options{})[1]
	if a.Digest == "" || a.Digest != b.Digest {
		t.Error("the same change has two digests")
	}
	moved := a
	moved.Repo, moved.Task, moved.Validation = "elsewhere", "t", &assay.Validation{}
	if mine.DigestOf(moved) != a.Digest {
		t.Error("the digest is over more than mining saw")
	}
	moved.Title = "Else"
	if mine.DigestOf(moved) == a.Digest {
		t.Error("another title, the same digest")
	}
}

// TestRealClones holds yields of well-known projects against what a person
// counted. ASSAY_TEST_CLONES is a folder of clones named owner+name.
func TestRealClones(t *testing.T) {
	folder := os.Getenv("ASSAY_TEST_CLONES")
	if folder == "" {
		t.Skip("ASSAY_TEST_CLONES names no folder of clones")
	}
	dir := filepath.Join(folder, "networkx+networkx")
	if _, err := os.Stat(filepath.Join(dir, "repo")); err == nil {
		dir = filepath.Join(dir, "repo")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("there is no clone of networkx")
	}
	all := runDir(t, dir, mine.Options{
		Since: time.Date(2025, 9, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC),
	})
	got := map[string]string{}
	for _, c := range all {
		var source, tests int
		for _, f := range c.Files {
			switch f.Class {
			case assay.ClassSource:
				source++
			case assay.ClassTest:
				tests++
			}
		}
		got[c.ID] = strings.Join([]string{brief(c), strings.Repeat("s", source) + strings.Repeat("t", tests)}, " ")
	}
	for id, want := range map[string]string{
		"pull-8693": "pull-8693 squash mined st", "pull-8756": "pull-8756 squash mined sst",
		"pull-8397": "pull-8397 squash mined st", "pull-8454": "pull-8454 squash mined st",
		"pull-8148": "pull-8148 squash mined sst", "pull-8753": "pull-8753 squash mined st",
		"pull-8396": "pull-8396 squash rejected no_tests s", "pull-8372": "pull-8372 squash rejected no_source ",
		"pull-8382": "pull-8382 squash rejected revert ", "pull-8335": "pull-8335 squash rejected bot ",
	} {
		if got[id] != want {
			t.Errorf("%s: %q, want %q", id, got[id], want)
		}
	}
	y := mine.YieldOf(all)
	if share := float64(y.Candidates) / float64(y.Changes); share < 0.25 || share > 0.45 {
		t.Errorf("%d of %d changes are candidates", y.Candidates, y.Changes)
	}
}
