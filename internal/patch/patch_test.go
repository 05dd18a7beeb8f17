package patch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// roundTrip makes a patch, applies it, and wants after back.
func roundTrip(t *testing.T, base, after tree.Tree) []byte {
	t.Helper()
	diff, err := Make(t.Context(), base, after)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Apply(t.Context(), base, diff)
	if err != nil {
		t.Fatalf("%v\n%s", err, diff)
	}
	if got.Digest() != after.Digest() {
		t.Fatalf("the patch gives another tree: %v\n%s", tree.Diff(after, got), diff)
	}
	return diff
}

func exec755(s string) tree.Entry { return tree.Entry{Mode: tree.Exec, Data: []byte(s)} }
func link(s string) tree.Entry    { return tree.Entry{Mode: tree.Link, Data: []byte(s)} }

func TestRoundTripCases(t *testing.T) {
	t.Parallel()
	cases := map[string][2]tree.Tree{
		"binary":             {{"a": tree.Text("x\x00y")}, {"a": tree.Text("x\x00z\xff")}},
		"late NUL":           {{"a": tree.Text(strings.Repeat("l\n", 9000) + "\x00\n")}, {"a": tree.Text(strings.Repeat("l\n", 9000) + "\x00\x00z\n")}},
		"0xff":               {{"a": tree.Text("\xff\xfe\n")}, {"a": tree.Text("\xff\xfd\n")}},
		"CRLF":               {{"a": tree.Text("a\r\nb\r\n")}, {"a": tree.Text("a\nb\r\n")}},
		"lone CR":            {{"a": tree.Text("a\rb\r")}, {"a": tree.Text("a\rc\r")}},
		"no newline":         {{"a": tree.Text("a\nb")}, {"a": tree.Text("a\nb\n")}},
		"newline gone":       {{"a": tree.Text("a\nb\n")}, {"a": tree.Text("a\nb")}},
		"empty made":         {{}, {"e": tree.Text("")}},
		"emptied":            {{"e": tree.Text("x")}, {"e": tree.Text("")}},
		"deleted":            {{"d/e": tree.Text("x\n"), "k": tree.Text("")}, {"k": tree.Text("")}},
		"mode":               {{"a": tree.Text("x")}, {"a": exec755("x")}},
		"mode and text":      {{"a": tree.Text("x\n")}, {"a": exec755("y\n")}},
		"file to link":       {{"a": tree.Text("b")}, {"a": link("b")}},
		"link to file":       {{"a": link("b")}, {"a": exec755("b")}},
		"link retarget":      {{"a": link("b")}, {"a": link("../c\n")}},
		"link to folder":     {{"a": link("b")}, {"a/x": tree.Text("1")}},
		"folder to link":     {{"a/x": tree.Text("1\n")}, {"a": link("b")}},
		"file to folder":     {{"a": tree.Text("1\n")}, {"a/b/c": tree.Text("2\n")}},
		"folder to file":     {{"a/b/c": tree.Text("2\n")}, {"a": tree.Text("1\n")}},
		"odd names":          {{"sp ace": tree.Text("1\n")}, {"sp ace": tree.Text("2\n"), " lead": tree.Text("3"), "trail ": tree.Text("4"), "tab\tq\"uo\\te\nnl": tree.Text("5\n"), "\xff\xfe": tree.Text("6"), "é/ü b/ x": tree.Text("7"), "a b/c b/d": tree.Text(""), "-dash": tree.Text("8\n"), "x\r": tree.Text("9\n"), "C:\\x": tree.Text("1")}},
		"odd names gone":     {{"tab\tq\"uo\\te\nnl": tree.Text("5\n"), "a b/a b": tree.Text("")}, {}},
		"attributes of tree": {{".gitattributes": tree.Text("* text=auto eol=crlf ident filter=x working-tree-encoding=UTF-16 -diff\n"), "a": tree.Text("$Id$\r\nb\n")}, {".gitattributes": tree.Text("* text=auto eol=crlf ident\n"), "a": tree.Text("$Id$\nb\r\nc"), "b": tree.Text("x\r\ny\n")}},
		"space at ends":      {{"a": tree.Text("x \n\t\n")}, {"a": tree.Text("x  \n \t\n\n\n")}},
		"text like a header": {{"a": tree.Text("x\n")}, {"a": tree.Text("x\ndiff --git a/z b/z\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-- x\n")}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, c[0], c[1])
			roundTrip(t, c[1], c[0])
		})
	}
}

// randomTree draws from few names, so that files, links and folders collide.
func randomTree(r *rand.Rand) tree.Tree {
	parts := []string{"a", "b", "c d", "é", "q\"", "n\nl", "w\\", "\xff", ".gitattributes", ".gitignore"}
	contents := []string{"", "x", "x\n", "x\r\ny\n", "a\nb\nc\nd\ne\nf\ng\n", "\x00\x01", "* text eol=crlf\n", "../up", "\xff\n\n", strings.Repeat("0123456789\n", 40)}
	t := tree.Tree{}
	for range r.IntN(9) {
		p := parts[r.IntN(len(parts))]
		for range r.IntN(3) {
			p += "/" + parts[r.IntN(len(parts))]
		}
		e := tree.Entry{Mode: []tree.Mode{tree.File, tree.File, tree.Exec, tree.Link}[r.IntN(4)]}
		body := contents[r.IntN(len(contents))] + contents[r.IntN(len(contents))]
		if e.Mode == tree.Link {
			body = "t" + strings.ReplaceAll(body[:min(len(body), 200)], "\x00", "0")
		}
		e.Data = []byte(body)
		t = tree.Over(t, tree.Tree{p: e})
	}
	return t
}

func TestRoundTripRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's own dice
		base := randomTree(r)
		after := tree.Over(base, randomTree(r))
		for _, p := range after.Paths() {
			if r.IntN(3) == 0 {
				delete(after, p)
			}
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			roundTrip(t, base, after)
		})
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("a", []byte("x\n"), []byte("y\r\n"))
	f.Add("sp ace/\xff", []byte("\x00"), []byte{})
	f.Fuzz(func(t *testing.T, p string, before, after []byte) {
		p, err := tree.Clean(p)
		if err != nil || IsGit(p) || len(p) > 200 {
			t.Skip()
		}
		roundTrip(t, tree.Tree{p: {Mode: tree.File, Data: before}}, tree.Tree{p: {Mode: tree.File, Data: after}})
	})
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n b\n"))
	f.Add([]byte("diff --git \"a/\\377\" \"b/\\377\"\nrename from \"x\nrename to y\n@@ -1 +1,9 @@"))
	f.Fuzz(func(t *testing.T, diff []byte) {
		_, _ = scan(diff)
		_, _ = Numstat(diff)
	})
}

func TestMakeWithoutChangeIsEmpty(t *testing.T) {
	base := tree.Tree{"a": tree.Text("1"), ".git/HEAD": tree.Text("old")}
	t.Setenv("PATH", t.TempDir()) // no git here: no process may start
	diff, err := Make(t.Context(), base, tree.Tree{"a": tree.Text("1"), "sub/.git/x": tree.Text("2")})
	if err != nil || len(diff) != 0 {
		t.Errorf("%q, %v", diff, err)
	}
	got, err := Apply(t.Context(), base, diff)
	if err != nil || got.Digest() != base.Digest() {
		t.Errorf("%v, %v", got, err)
	}
}

func TestMakeIgnoresTheMachinesGit(t *testing.T) {
	home := t.TempDir()
	conf := filepath.Join(home, ".gitconfig")
	if err := os.WriteFile(conf, []byte("[diff]\n\tnoprefix = true\n\texternal = false\n[core]\n\tautocrlf = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", conf)
	t.Setenv("GIT_DIR", filepath.Join(home, "nowhere"))
	t.Setenv("GIT_EXTERNAL_DIFF", "false")
	diff := roundTrip(t, tree.Tree{"a": tree.Text("1\r\n")}, tree.Tree{"a": tree.Text("2\r\n")})
	if !bytes.Contains(diff, []byte("diff --git a/a b/a\n")) {
		t.Errorf("%s", diff)
	}
}

func TestApplyRefusesWhatDoesNotFit(t *testing.T) {
	diff, err := Make(t.Context(), tree.Tree{"a": tree.Text("1\n")}, tree.Tree{"a": tree.Text("2\n")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(t.Context(), tree.Tree{"a": tree.Text("3\n")}, diff); err == nil {
		t.Error("a patch that doesn't fit was applied")
	}
	for _, bad := range []string{
		"no patch at all\n",
		"diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
		"diff --git a/.git/hooks/x b/.git/hooks/x\nnew file mode 100755\n--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n",
	} {
		if got, err := Apply(t.Context(), tree.Tree{}, []byte(bad)); err == nil {
			t.Errorf("%q was applied: %v", bad, got.Paths())
		}
	}
}

func TestApplyTakesRenames(t *testing.T) {
	diff := "diff --git a/old name b/new\nsimilarity index 100%\nrename from old name\nrename to new\n"
	got, err := Apply(t.Context(), tree.Tree{"old name": tree.Text("x\n"), "k": tree.Text("k")}, []byte(diff))
	if err != nil {
		t.Fatal(err)
	}
	if want := (tree.Tree{"new": tree.Text("x\n"), "k": tree.Text("k")}); got.Digest() != want.Digest() {
		t.Error(got.Paths())
	}
}

func TestSum(t *testing.T) {
	base := tree.Tree{"a": tree.Text("1\n2\n"), "m": tree.Text("x"), "gone": tree.Text("--\n")}
	after := tree.Tree{"a": tree.Text("1\n3\n4\n"), "m": exec755("x"), "bin": tree.Text("\x00")}
	diff := roundTrip(t, base, after)
	got := Sum(base, after, diff)
	want := assay.Patch{Added: 2, Removed: 2, Bytes: int64(len(diff)), Files: []assay.FileChange{
		{Path: "a", Kind: "modified"}, {Path: "bin", Kind: "added"}, {Path: "gone", Kind: "deleted"}, {Path: "m", Kind: "mode"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMining43Ignored(t *testing.T) {
	base := tree.Tree{
		".gitignore":     tree.Text("*.log\n/build/\n!keep.log\nsp ace\n"),
		"sub/.gitignore": tree.Text("/x\n"),
		"evil":           link("/etc"),
	}
	paths := []string{"a.log", "keep.log", "build/x/y", "sub/build/x", "sub/x", "x", "sp ace", "main.go",
		"p/__pycache__/m.cpython-311.pyc", "web/node_modules/x/y.js", "new.pyc", "é.log", "n\nl.log", ".git/x"}
	got, err := Ignored(t.Context(), base, paths)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.log", "build/x/y", "n\nl.log", "new.pyc", "p/__pycache__/m.cpython-311.pyc", "sp ace", "sub/x", "web/node_modules/x/y.js", "é.log"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got, err = Ignored(t.Context(), base, []string{"main.go"}); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWithoutGit(t *testing.T) {
	got, nested := WithoutGit(tree.Tree{"a": tree.Text(""), ".git/HEAD": tree.Text(""), "v/.git": tree.Text(""),
		"w/.GIT/objects/x": tree.Text(""), "w/.github/x": tree.Text("")})
	if d := cmp.Diff([]string{"a", "w/.github/x"}, got.Paths()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"v/.git", "w/.GIT"}, nested); d != "" {
		t.Error(d)
	}
}

// gitIn runs git as an agent would, in a folder.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestRepository(t *testing.T) {
	for _, n := range []int{1, 300} { // few and many objects
		files := tree.Tree{"sp ace/é": tree.Text("x\n"), "run": exec755("#!/bin/sh\n"), "l": link("run"),
			".gitattributes": tree.Text("*.txt text eol=crlf\n"), "c.txt": tree.Text("raw\n")}
		for i := range n {
			files[fmt.Sprintf("f/%d", i)] = tree.Text(fmt.Sprint(i))
		}
		repo, err := Repository(t.Context(), files)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Repository(t.Context(), files)
		if err != nil || again.Digest() != repo.Digest() {
			t.Errorf("the same tree gives another repository: %v", err)
		}
		dir := t.TempDir()
		if err := tree.Over(files, repo).WriteDir(dir); err != nil {
			t.Fatal(err)
		}
		if out := gitIn(t, dir, "status", "--porcelain"); out != "" {
			t.Errorf("status is not clean:\n%s", out)
		}
		if out := gitIn(t, dir, "rev-list", "--all", "--count"); out != "1\n" {
			t.Errorf("%s commits", out)
		}
		gitIn(t, dir, "fsck", "--strict", "--no-dangling")
		for _, args := range [][]string{{"remote"}, {"tag"}, {"reflog", "show", "--all"}, {"stash", "list"}} {
			if out := gitIn(t, dir, args...); out != "" {
				t.Errorf("git %v says %q", args, out)
			}
		}
		gitIn(t, dir, "commit", "--allow-empty", "-m", "the agent's")
	}
}
