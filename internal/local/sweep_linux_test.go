package local

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/run"
)

// A process that merely stands beside a box is none of its own, whatever the
// names look like.
func TestMembersAreProven(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "assay-box-1")
	beside := dir + "2"
	for _, d := range []string{dir, beside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	start := func(cwd, env string) int {
		c := exec.CommandContext(t.Context(), "sleep", "300")
		c.Dir, c.Env = cwd, []string{env}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
		return c.Process.Pid
	}
	in := map[int]bool{
		start(dir, "A=b"): true, start("/", marker+"="+dir): true,
	}
	start(beside, "A=b")
	start("/", marker+"="+beside)
	start("/", "OTHER="+marker+"="+dir)
	found := members(dir)
	for _, p := range found {
		if !in[p.pid] {
			t.Errorf("process %d is taken for one of the box", p.pid)
		}
	}
	if len(found) != len(in) {
		t.Errorf("found %d processes, want %d", len(found), len(in))
	}
}

// The test itself stands in the box: it must not be taken for a part of it.
func TestMembersLeaveOutTheirOwn(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if found := members(dir); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}

func TestKillEachSparesAReusedNumber(t *testing.T) {
	c := exec.CommandContext(t.Context(), "cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p, ok := readProc(c.Process.Pid)
	if !ok {
		t.Fatal("the process is not listed")
	}
	p.start-- // an earlier process with the same number
	killEach([]proc{p, {pid: 1}, {pid: -1}, {pid: 0}, {pid: os.Getpid()}})
	_ = in.Close()
	if err := c.Wait(); err != nil {
		t.Errorf("the process was killed: %v", err)
	}
}

// A command that kills its keeper gets no further with that. Its shell may
// live long enough to say that its sleep was killed.
func TestCommandKillsInit(t *testing.T) {
	b := openBox(t, sandbox(t, true), run.BoxSpec{})
	var out bytes.Buffer
	e, err := b.Run(t.Context(), sh(`kill -TERM $PPID; kill -INT $PPID; echo alive; kill -9 $PPID; while :; do sleep 1; done`, &out))
	if err != nil || e.Code == 0 || strings.TrimSuffix(out.String(), "Killed\n") != "alive\n" {
		t.Errorf("%+v, %v, %q", e, err, out.String())
	}
	if found := members(filepath.Dir(b.Root())); len(found) > 0 {
		t.Errorf("alive after Run: %+v", found)
	}
	if e, err := b.Run(t.Context(), sh(`exit 0`, nil)); err != nil || e.Code != 0 {
		t.Errorf("the next command gave %+v, %v", e, err)
	}
}
