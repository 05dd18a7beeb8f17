package local

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/sandboxtest"
	"github.com/assaybot/assay/internal/tree"
)

// TestMain lets the test binary be what Init is called in, and an owner that
// dies without closing its box.
func TestMain(m *testing.M) {
	if code, ok := Init(os.Args); ok {
		syscall.Exit(code) // os.Exit takes a second under the race detector
	}
	if len(os.Args) == 3 && os.Args[1] == "die-with-a-box" {
		os.Exit(dieWithABox(os.Args[2]))
	}
	os.Exit(m.Run())
}

func sandbox(t *testing.T, withInit bool) *Sandbox {
	t.Helper()
	o := Options{Dir: t.TempDir(), Path: os.Getenv("PATH")}
	if withInit {
		o.Init = []string{os.Args[0], InitArg}
	}
	return New(o)
}

func openBox(t *testing.T, s *Sandbox, spec run.BoxSpec) run.Box {
	t.Helper()
	b, err := s.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return b
}

func sh(script string, out io.Writer) run.Command {
	return run.Command{Argv: []string{"sh", "-c", script}, Stdout: out, Stderr: out}
}

func TestConformance(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		if slices.Contains(strings.Split(os.Getenv("ASSAY_REQUIRE"), ","), "python") {
			t.Fatal("python3 is required and not on this machine's PATH")
		}
		t.Skip("python3 is not on this machine's PATH")
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lets a process inherit what its descendants leave behind")
	}
	s := sandbox(t, true)
	img, err := s.Prepare(t.Context(), assay.Environment{Requires: []string{"sh", "python3"}}, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	sandboxtest.Run(t, s, img)
	if list, err := os.ReadDir(s.opt.Dir); err != nil || len(list) > 0 {
		t.Errorf("the suite's boxes left %v, %v", list, err)
	}
}

func TestPrepareNamesAllThatIsMissing(t *testing.T) {
	var log bytes.Buffer
	_, err := sandbox(t, false).Prepare(t.Context(), assay.Environment{
		Image: "python:3.13", Requires: []string{"sh", "no-such-a", "no-such-b"},
	}, nil, &log)
	var infra *assay.InfraError
	if !errors.As(err, &infra) || infra.Kind != assay.InfraSandbox || !infra.Permanent {
		t.Fatalf("got %v, want a permanent failure of the sandbox", err)
	}
	for _, word := range []string{"no-such-a, no-such-b", "docker"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if !strings.Contains(log.String(), "python:3.13 is not used") {
		t.Errorf("the log says %q", log.String())
	}
}

func TestKits(t *testing.T) {
	s, kit := sandbox(t, false), t.TempDir()
	if err := os.WriteFile(filepath.Join(kit, "agent"), []byte("#!/bin/sh\necho from kit\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := openBox(t, s, run.BoxSpec{Kits: []run.Kit{{Name: "a-1.0", Dir: kit}}})
	var out bytes.Buffer
	e, err := b.Run(t.Context(), run.Command{Argv: []string{b.Root() + run.KitDir + "/a-1.0/agent"}, Stdout: &out})
	if err != nil || e.Code != 0 || out.String() != "from kit\n" {
		t.Errorf("the kit's program gave %+v, %q, %v", e, out.String(), err)
	}
	for _, k := range []run.Kit{{Name: "b-2"}, {Name: "b-2", Dir: kit + "/agent"}} {
		_, err := s.Open(t.Context(), run.BoxSpec{Kits: []run.Kit{k}})
		var infra *assay.InfraError
		if !errors.As(err, &infra) || !infra.Permanent || !strings.Contains(err.Error(), "b-2") {
			t.Errorf("the kit %+v gave %v", k, err)
		}
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(kit, "agent")); err != nil {
		t.Errorf("closing the box took the kit along: %v", err)
	}
}

// Nothing that a box's command leaves behind leads Put, Get or Clear outside.
func TestLinksLeadNowhere(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := openBox(t, sandbox(t, false), run.BoxSpec{})
	var out bytes.Buffer
	e, err := b.Run(t.Context(), sh(`ln -s `+outside+` dir && ln -s `+secret+` file && mkdir d &&
		cd .. && rm -rf report && ln -s `+outside+` report`, &out))
	if err != nil || e.Code != 0 {
		t.Fatalf("%+v, %v, %s", e, err, out.String())
	}
	put := func(dir string, files tree.Tree) error {
		var buf bytes.Buffer
		if err := tree.WriteTar(&buf, files); err != nil {
			t.Fatal(err)
		}
		return b.Put(t.Context(), dir, true, &buf)
	}
	if err := put(run.WorkDir, tree.Tree{"file": tree.Text("new")}); err != nil {
		t.Errorf("a link is not replaced: %v", err)
	}
	for _, dir := range []string{run.WorkDir + "/dir", run.ReportDir, run.ReportDir + "/sub"} {
		if err := put(dir, tree.Tree{"planted": tree.Text("x")}); err == nil {
			t.Errorf("Put writes to %s, which leads outside", dir)
		}
		var buf bytes.Buffer
		_ = b.Get(t.Context(), dir, 0, &buf)
		if strings.Contains(buf.String(), "secret") {
			t.Errorf("Get reads %s, which leads outside", dir)
		}
	}
	if err := b.Clear(t.Context(), run.ReportDir); err != nil {
		t.Errorf("clearing a link: %v", err)
	}
	list, err := os.ReadDir(outside)
	if err != nil || len(list) != 1 {
		t.Errorf("the folder outside holds %v, %v", list, err)
	}
	if text, _ := os.ReadFile(secret); string(text) != "secret" {
		t.Errorf("the file outside reads %q", text)
	}
}

func TestPutRefusesPathsThatLeave(t *testing.T) {
	b := openBox(t, sandbox(t, false), run.BoxSpec{})
	for _, name := range []string{"../up", "/abs", "a/../../up"} {
		var buf bytes.Buffer
		w := tar.NewWriter(&buf)
		if err := errors.Join(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}), w.Close()); err != nil {
			t.Fatal(err)
		}
		if err := b.Put(t.Context(), run.WorkDir, true, &buf); err == nil {
			t.Errorf("Put accepts %q", name)
		}
	}
}

func TestHiddenFilesAreReadOnly(t *testing.T) {
	b := openBox(t, sandbox(t, false), run.BoxSpec{})
	var buf bytes.Buffer
	if err := tree.WriteTar(&buf, tree.Tree{"d/f": tree.Text("x")}); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), run.VerifyDir, false, &buf); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(b.Root() + run.VerifyDir + "/d/f")
	if err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

func TestDirectStart(t *testing.T) {
	b := openBox(t, sandbox(t, false), run.BoxSpec{})
	var out bytes.Buffer
	e, err := b.Run(t.Context(), sh(`sleep 300 & setsid sleep 300 & nohup sleep 300 >/dev/null 2>&1 & echo out; exit 3`, &out))
	if err != nil || e.Code != 3 || out.String() != "out\n" {
		t.Fatalf("%+v, %v, %q", e, err, out.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e, err = b.Run(ctx, sh(`setsid sleep 300 & echo up; sleep 300`, writerFunc(func([]byte) { cancel() })))
	if err != nil || !e.Killed {
		t.Errorf("%+v, %v, want Killed", e, err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// A writer that fails is told, and does not stop the command.
func TestFailingWriter(t *testing.T) {
	b := openBox(t, sandbox(t, false), run.BoxSpec{})
	_, err := b.Run(t.Context(), run.Command{
		Argv: []string{"sh", "-c", "head -c 1000000 /dev/zero; echo end >reached"}, Stdout: brokenWriter{},
	})
	var infra *assay.InfraError
	if !errors.Is(err, errBroken) || !errors.As(err, &infra) {
		t.Errorf("got %v, want the writer's error as a failure of the machinery", err)
	}
	if _, err := os.Stat(b.Root() + run.WorkDir + "/reached"); err != nil {
		t.Errorf("the command did not go on: %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// dieWithABox opens a box in dir, leaves a process in it and dies.
func dieWithABox(dir string) int {
	b, err := New(Options{Dir: dir}).Open(context.Background(), run.BoxSpec{})
	if err != nil {
		return 1
	}
	c := exec.Command("setsid", "sleep", "300")
	c.Env = []string{marker + "=" + filepath.Dir(b.Root()), "PATH=" + os.Getenv("PATH")}
	if err := c.Start(); err != nil {
		return 1
	}
	return 0
}

func TestClean(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "assay-other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	mine := openBox(t, New(Options{Dir: dir}), run.BoxSpec{})
	if out, err := exec.CommandContext(t.Context(), os.Args[0], "die-with-a-box", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	left := boxesIn(t, dir)
	if len(left) != 2 {
		t.Fatalf("before the clean-up there are %q", left)
	}
	removed, err := Clean(dir)
	if err != nil || len(removed) != 1 || filepath.Dir(mine.Root()) == removed[0] {
		t.Errorf("Clean removed %q, %v", removed, err)
	}
	if got := boxesIn(t, dir); !slices.Equal(got, []string{filepath.Dir(mine.Root())}) {
		t.Errorf("after the clean-up there are %q", got)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("Clean took what is not its own: %v", err)
	}
	if removed, err := Clean(dir); err != nil || len(removed) > 0 {
		t.Errorf("a second Clean removed %q, %v", removed, err)
	}
}

func boxesIn(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}
