// Package sandboxtest is the conformance suite of run.Sandbox: what every
// implementation has to do, told as tests. It proves behaviour from outside
// only: files through Put and Get, processes through commands in the box. It
// never looks at how a sandbox is made, and is imported by tests only.
//
// A box needs sh, the usual small programs (cat, grep, mkfifo, setsid, ...)
// and python3.
package sandboxtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// patience is how long one subtest may take before it counts as hung.
const patience = 2 * time.Minute

// Run runs the suite. Every subtest opens a box of its own from img. What an
// unisolated sandbox can't promise (Facts().Isolated is false) is left out
// for it, with a reason.
func Run(t *testing.T, sb run.Sandbox, img run.Image) {
	s := suite{sb: sb, img: img}
	groups := []struct {
		name string
		of   func(*testing.T)
	}{
		{"files", s.files}, {"commands", s.commands}, {"processes", s.processes},
		{"boxes", s.boxes}, {"model", s.model}, {"isolation", s.isolation},
	}
	for _, g := range groups {
		t.Run(g.name, g.of)
	}
}

type suite struct {
	sb  run.Sandbox
	img run.Image
}

// test runs f with a fresh box, which is closed afterwards.
func (s suite) test(t *testing.T, name string, f func(t *testing.T, b box)) {
	t.Run(name, func(t *testing.T) { f(t, s.open(t, run.BoxSpec{})) })
}

// open opens a box; unset limits are small ones.
func (s suite) open(t *testing.T, spec run.BoxSpec) box {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	spec.Run, spec.Image = "sandboxtest", s.img
	if spec.Role == "" {
		spec.Role = "proof"
	}
	spec.Limits = spec.Limits.Or(assay.Limits{CPUs: 1, MemoryMB: 512, Pids: 256, WorkspaceMB: 64})
	b, err := s.sb.Open(ctx, spec)
	if err != nil {
		t.Fatalf("opening a box: %v", err)
	}
	t.Cleanup(func() {
		// t's own context has ended by now; closing must work without it.
		if err := b.Close(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("closing the box: %v", err)
		}
	})
	return box{Box: b, ctx: ctx}
}

// box is a run.Box with a context of its own and helpers that fail the test.
type box struct {
	run.Box
	ctx context.Context
}

// output is what a command wrote.
type output struct {
	run.Exit
	out, err string
}

// sh runs a shell script in the workspace; args are its $1, $2, ...
func (b box) sh(t *testing.T, script string, args ...string) output {
	t.Helper()
	return b.cmd(t, append([]string{"sh", "-c", script, "sh"}, args...)...)
}

// ok is sh for a script that must exit 0.
func (b box) ok(t *testing.T, script string, args ...string) string {
	t.Helper()
	o := b.sh(t, script, args...)
	if o.Code != 0 || o.Killed {
		t.Fatalf("script %q ended with %+v, stderr %q", script, o.Exit, o.err)
	}
	return o.out
}

func (b box) cmd(t *testing.T, argv ...string) output {
	t.Helper()
	o, err := b.try(run.Command{Argv: argv})
	if err != nil {
		t.Fatalf("running %q: %v", argv, err)
	}
	return o
}

// try runs c with its outputs kept, in the workspace unless c says where.
func (b box) try(c run.Command) (output, error) {
	var out, errs bytes.Buffer
	if c.Stdout == nil {
		c.Stdout = &out
	}
	c.Stderr = &errs
	if c.Dir == "" {
		c.Dir = run.WorkDir
	}
	e, err := b.Run(b.ctx, c)
	return output{Exit: e, out: out.String(), err: errs.String()}, err
}

func (b box) put(t *testing.T, dir string, own bool, files tree.Tree) {
	t.Helper()
	var buf bytes.Buffer
	if err := tree.WriteTar(&buf, files); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(b.ctx, dir, own, &buf); err != nil {
		t.Fatalf("putting files into %s: %v", dir, err)
	}
}

// get reads a folder of the box, 16 MB at most.
func (b box) get(t *testing.T, dir string) (tree.Tree, []string) {
	t.Helper()
	var buf bytes.Buffer
	if err := b.Get(b.ctx, dir, 16<<20, &buf); err != nil {
		t.Fatalf("getting %s: %v", dir, err)
	}
	files, special, err := tree.ReadTar(&buf, tree.Bounds{})
	if err != nil {
		t.Fatalf("reading what Get wrote of %s: %v", dir, err)
	}
	return files, special
}

func wantTree(t *testing.T, got, want tree.Tree) {
	t.Helper()
	if d := cmp.Diff(printable(want), printable(got)); d != "" {
		t.Errorf("files differ (-want +got):\n%s", d)
	}
}

func printable(files tree.Tree) map[string]string {
	out := make(map[string]string, len(files))
	for p, e := range files {
		out[p] = fmt.Sprintf("%o %q", e.Mode, e.Data)
	}
	return out
}

// token is a word that no process but a test's own carries in its arguments.
func token() string { return "token-" + strings.ToLower(rand.Text()) }

// wantGone fails unless no process of the box has word in its arguments. The
// pattern goes by a file, so that grep doesn't find itself.
func (b box) wantGone(t *testing.T, word string) {
	t.Helper()
	if runtime.GOOS != "linux" && b.Root() != "" {
		t.Skip("processes can't be listed by /proc here")
	}
	b.put(t, run.WorkDir, true, tree.Tree{"pattern": tree.Text(word + "\n")})
	o := b.sh(t, `grep -s -l -a -f pattern /proc/[0-9]*/cmdline; exit 0`)
	if alive := strings.TrimSpace(o.out); alive != "" {
		t.Errorf("still alive after Run returned: %s", alive)
	}
}

// tripwire is a writer that calls f on its first byte.
type tripwire struct {
	f    func()
	done bool
}

func (w *tripwire) Write(p []byte) (int, error) {
	if !w.done && len(p) > 0 {
		w.done = true
		w.f()
	}
	return len(p), nil
}

func wantTooLarge(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, run.ErrTooLarge) {
		t.Errorf("got %v, want %v", err, run.ErrTooLarge)
	}
}
