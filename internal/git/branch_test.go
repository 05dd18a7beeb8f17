package git

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/history"
	"github.com/assaybot/assay/internal/tree"
)

// bare is an empty repository to push to.
func bare(t *testing.T) (dir string, git func(args ...string) string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "remote.git")
	git = func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "--quiet", "--bare", ".")
	return dir, git
}

func pusher() Tool { return Tool{Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}} }

func opened(t *testing.T, remote, name string) *Branch {
	t.Helper()
	b, err := pusher().Branch(t.Context(), remote, name, history.Folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func oneRun(id string) history.Run {
	when := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	return history.Run{
		Head:   history.Head{ID: id, When: when, Cells: []history.Cell{{Agent: "oracle", Variant: "baseline"}}},
		Trials: []history.Trial{{ID: "t", Task: "x", Repeat: 1, Outcome: assay.Passed, Resolved: true, At: when.Unix()}},
	}
}

func soon(ctx context.Context, _ int) error { return ctx.Err() }

// Row 41: two writers race against one remote, and both runs are there; the
// branch is an orphan and grows by one commit each.
func TestRow41TwoWritersOneRemote(t *testing.T) {
	dir, git := bare(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			b, err := pusher().Branch(t.Context(), dir, "assay", history.Folder)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = b.Close() }()
			if _, err := history.Push(t.Context(), b, oneRun(fmt.Sprintf("run%d", i)), soon); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := git("rev-list", "--count", "assay"); n != "4" {
		t.Errorf("%s commits", n)
	}
	_, files, err := opened(t, dir, "assay").Read(t.Context())
	runs, ps := history.Load(files)
	if err != nil || len(ps) > 0 || len(runs) != 4 {
		t.Errorf("%d runs, %v, %v", len(runs), ps, err)
	}
	if names := git("ls-tree", "-r", "--name-only", "assay"); !strings.HasPrefix(names, "README.md\nhistory/2026-11/run0.jsonl\n") {
		t.Errorf("the branch holds %s", names)
	}
}

// A writer that read before another wrote starts over from what that one left.
func TestRow41ARejectedPushStartsOver(t *testing.T) {
	dir, git := bare(t)
	slow, fast := opened(t, dir, "assay"), opened(t, dir, "assay")
	for round := range 2 { // with and without a branch there
		held := &holding{Branch: slow, before: func() {
			if _, err := history.Push(t.Context(), fast, oneRun(fmt.Sprintf("fast%d", round)), soon); err != nil {
				t.Error(err)
			}
		}}
		p, err := history.Push(t.Context(), held, oneRun(fmt.Sprintf("slow%d", round)), soon)
		if err != nil || p.Tries != 2 {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if n := git("rev-list", "--count", "assay"); n != "4" {
		t.Errorf("%s commits", n)
	}
}

// holding does something once between reading and writing.
type holding struct {
	history.Branch
	before func()
}

func (h *holding) Write(ctx context.Context, c history.Commit) (bool, error) {
	if h.before != nil {
		h.before()
		h.before = nil
	}
	return h.Branch.Write(ctx, c)
}

func TestBranchPutsAndDrops(t *testing.T) {
	dir, git := bare(t)
	b, err := pusher().Branch(t.Context(), dir, "assay", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	odd := "a folder/wörd \"x\"\\\n"
	write := func(c history.Commit) {
		t.Helper()
		if moved, err := b.Write(t.Context(), c); err != nil || moved {
			t.Fatal(moved, err)
		}
	}
	write(history.Commit{Message: "One\n\nfrom nobody", Put: tree.Tree{odd: tree.Text("1"), "run.sh": {Mode: tree.Exec, Data: []byte("#!")}, "gone": tree.Text("")}})
	got, tip, err := b.Tree(t.Context())
	if err != nil || string(got[odd].Data) != "1" || got["run.sh"].Mode != tree.Exec || tip != git("rev-parse", "assay") {
		t.Fatalf("%v, %v", got, err)
	}
	write(history.Commit{Tip: tip, Message: "Two", Drop: []string{"gone", odd}, Put: tree.Tree{"run.sh": tree.Text("x")}})
	if names := git("ls-tree", "-r", "assay"); strings.Count(names, "\n") != 0 || !strings.HasPrefix(names, "100644") {
		t.Errorf("left: %s", names)
	}
	// Another branch is replaced, whatever stood there.
	for _, text := range []string{"a", "b"} {
		write(history.Commit{Tip: tip, To: "assay-tasks", Message: "Tasks", Put: tree.Tree{"t": tree.Text(text)}})
	}
}

func TestRow52ARemoteThatIsAwayIsNoEmptyBranch(t *testing.T) {
	dir, _ := bare(t)
	b := opened(t, dir, "assay")
	if tip, files, err := b.Read(t.Context()); err != nil || tip != "" || len(files) != 0 {
		t.Fatalf("%q, %v, %v", tip, files, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Read(t.Context()); err == nil {
		t.Error("a remote that is gone was read as empty")
	}
}

func TestARemoteMayRefuse(t *testing.T) {
	dir, _ := bare(t)
	hook := filepath.Join(dir, "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := history.Push(t.Context(), opened(t, dir, "assay"), oneRun("r"), func(context.Context, int) error { t.Error("tried again"); return nil })
	if err == nil || !assay.IsUser(err) || !strings.Contains(err.Error(), "protected") {
		t.Error(err)
	}
}

func TestBranchRefusesNames(t *testing.T) {
	dir, _ := bare(t)
	for _, bad := range [][2]string{{dir, "-x"}, {dir, "a..b"}, {dir, ""}, {dir, "a b"}, {dir, "x.lock"}, {"--upload-pack=touch x", "assay"}, {"nowhere", "assay"}, {"-://x", "assay"}} {
		if b, err := pusher().Branch(t.Context(), bad[0], bad[1], ""); err == nil {
			_ = b.Close()
			t.Errorf("%q was opened", bad)
		}
	}
}
