package docker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/volume"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/sandboxtest"
	"github.com/assaybot/assay/internal/tree"
)

const testImage = "python:3.13-slim"

// testProgram builds our program as a box needs it, once for all tests.
var testProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "assay-docker-test")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "box")
	cmd := exec.Command("go", "build", "-o", out, "./testdata/box")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return out, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if p, err := testProgram(); err == nil {
		_ = os.RemoveAll(filepath.Dir(p))
	}
	os.Exit(code)
}

// needDocker skips a test where there is no engine, or fails it where one
// is required.
func needDocker(t *testing.T, err error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("ASSAY_REQUIRE"), ","), "docker") {
		t.Fatal(err)
	}
	t.Skip("no Docker engine with ", testImage, ": ", err)
}

func sandbox(t *testing.T, opts Options) (*Sandbox, run.Image) {
	t.Helper()
	program, err := testProgram()
	if err != nil {
		t.Fatal(err)
	}
	opts.Program = program
	if opts.Run == "" {
		opts.Run = unique("test")
	}
	s, err := New(t.Context(), opts)
	if err != nil {
		needDocker(t, err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	img, err := s.lookUp(t.Context(), testImage)
	if err != nil {
		needDocker(t, err)
	}
	return s, img
}

func open(t *testing.T, s *Sandbox, spec run.BoxSpec) *box {
	t.Helper()
	b, err := s.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.WithoutCancel(t.Context())) })
	return b.(*box)
}

func sh(t *testing.T, b run.Box, script string) (string, run.Exit) {
	t.Helper()
	var out bytes.Buffer
	x, err := b.Run(t.Context(), run.Command{Argv: []string{"sh", "-c", script}, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String()), x
}

func TestConformance(t *testing.T) {
	s, img := sandbox(t, Options{})
	sandboxtest.Run(t, s, img)
}

func TestBoxIsLocked(t *testing.T) {
	s, img := sandbox(t, Options{})
	b := open(t, s, run.BoxSpec{Image: img, Role: "agent"})
	cases := map[string]string{
		"capabilities":  `grep -E '^Cap(Prm|Eff|Inh|Amb)' /proc/self/status | grep -v 0000000000000000`,
		"signals to us": `kill -9 1 2>/dev/null && echo yes`,
		"our memory":    `head -c1 /proc/1/mem 2>/dev/null && echo yes; ls /proc/1/fd 2>/dev/null`,
		"our program":   `echo x 2>/dev/null >/assay/assay && echo yes`,
		"privileges":    `grep NoNewPrivs /proc/self/status | grep -v 1`,
		"interfaces":    `ls /sys/class/net | grep -v '^lo$'`,
		"hidden files":  `touch /verify/x 2>/dev/null && echo yes`,
	}
	for name, script := range cases {
		if out, _ := sh(t, b, script); out != "" {
			t.Errorf("%s: %q", name, out)
		}
	}
	if out, _ := sh(t, b, `id -un; echo $HOME; cd /tmp && touch x && cd && touch y && echo fine`); out != "agent\n/home/agent\nfine" {
		t.Errorf("the user's own: %q", out)
	}
}

func TestForkBomb(t *testing.T) {
	s, img := sandbox(t, Options{})
	b := open(t, s, run.BoxSpec{Image: img, Limits: assay.Limits{Pids: 100, MemoryMB: 256}})
	script := `import os,sys
try:
    while True:
        if os.fork()==0: os.setsid()
except OSError:
    print("full"); sys.stdout.flush()
    if os.getpid() % 2: os._exit(3)
    while True: pass
`
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := &trip{word: "full", then: cancel}
	if _, err := b.Run(ctx, run.Command{Argv: []string{"python3", "-c", script}, Stdout: seen, Stderr: io.Discard}); err != nil {
		t.Fatal(err)
	}
	out, _ := sh(t, b, `exec python3 -c 'import os; print({int(p) for p in os.listdir("/proc") if p.isdigit()} == {1, os.getpid()})'`)
	if out != "True" {
		t.Errorf("processes are left: %s", out)
	}
}

type trip struct {
	word string
	then func()
	seen strings.Builder
}

func (w *trip) Write(p []byte) (int, error) {
	w.seen.Write(p)
	if strings.Contains(w.seen.String(), w.word) {
		w.then()
	}
	return len(p), nil
}

func TestOutOfMemoryIsTold(t *testing.T) {
	s, img := sandbox(t, Options{})
	b := open(t, s, run.BoxSpec{Image: img, Limits: assay.Limits{MemoryMB: 64}})
	_, x := sh(t, b, `exec python3 -c 'x = bytearray(1<<30)'`)
	if !x.OOM || x.Signal != 9 || x.Killed {
		t.Errorf("got %+v", x)
	}
	if out, x := sh(t, b, `echo alive`); out != "alive" || x.OOM {
		t.Errorf("afterwards %q %+v", out, x)
	}
}

func TestMemoryWorkspace(t *testing.T) {
	s, img := sandbox(t, Options{})
	b := open(t, s, run.BoxSpec{Image: img, Role: "grader", MemoryWorkspace: true})
	out, _ := sh(t, b, `for d in /workspace /verify /report /tmp; do stat -f -c %T $d; done; echo '#!/bin/sh
echo ran' > /workspace/x; chmod +x /workspace/x; /workspace/x; touch /report/y /tmp/z; touch /verify/n 2>/dev/null || echo kept`)
	if out != "tmpfs\ntmpfs\ntmpfs\ntmpfs\nran\nkept" {
		t.Errorf("got %q", out)
	}
}

func TestCloseUnderCancelledContext(t *testing.T) {
	s, img := sandbox(t, Options{})
	b := open(t, s, run.BoxSpec{Image: img})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.c.ContainerInspect(t.Context(), b.id); !isGone(err) {
		t.Errorf("the container is there: %v", err)
	}
	if _, err := b.Run(t.Context(), run.Command{Argv: []string{"true"}}); !isSandbox(err) {
		t.Errorf("a closed box ran: %v", err)
	}
	if _, err := s.Open(ctx, run.BoxSpec{Image: img}); !errors.Is(err, context.Canceled) {
		t.Errorf("opened: %v", err)
	}
	if n := countContainers(t, s); n != 0 {
		t.Errorf("%d containers are left", n)
	}
}

func TestBoxRemovedBehindUs(t *testing.T) {
	s, img := sandbox(t, Options{})
	b := open(t, s, run.BoxSpec{Image: img})
	started := &trip{word: "up", then: func() { go func() { _ = s.removeContainer(t.Context(), b.id) }() }}
	_, err := b.Run(t.Context(), run.Command{Argv: []string{"sh", "-c", "echo up; sleep 60"}, Stdout: started})
	if !isSandbox(err) {
		t.Errorf("got %v", err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func isSandbox(err error) bool {
	var infra *assay.InfraError
	return errors.As(err, &infra) && infra.Kind == assay.InfraSandbox
}

func countContainers(t *testing.T, s *Sandbox) int {
	t.Helper()
	list, err := s.c.ContainerList(t.Context(), container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", labelRun+"="+s.opts.Run)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestUnknownImage(t *testing.T) {
	s, _ := sandbox(t, Options{})
	_, err := s.Prepare(t.Context(), assay.Environment{Image: "localhost:1/no/such:image"}, nil, nil)
	var infra *assay.InfraError
	if !errors.As(err, &infra) || !infra.Permanent || !strings.Contains(err.Error(), "docker load") {
		t.Errorf("got %v", err)
	}
}

func TestDeadEngine(t *testing.T) {
	_, err := New(t.Context(), Options{Host: "unix://" + filepath.Join(t.TempDir(), "none.sock")})
	if !isSandbox(err) || !strings.Contains(err.Error(), "running") {
		t.Errorf("got %v", err)
	}
}

func TestBuild(t *testing.T) {
	s, _ := sandbox(t, Options{CA: []byte("-----BEGIN CERTIFICATE-----\nmine\n-----END CERTIFICATE-----\n")})
	text := `FROM ` + testImage + ` AS one
RUN echo ` + unique("x") + ` > /made && tail -n 2 /etc/ssl/certs/ca-certificates.crt > /seen; echo "$NODE_EXTRA_CA_CERTS" >> /seen
FROM one
COPY word /word
`
	files := tree.Tree{"Dockerfile": tree.Text(text), "word": tree.Text("hello")}
	var log lockedBuffer
	var wg sync.WaitGroup
	images := make([]run.Image, 3)
	for i := range images {
		wg.Go(func() {
			img, err := s.Prepare(t.Context(), assay.Environment{}, files, &log)
			if err != nil {
				t.Error(err)
			}
			images[i] = img
		})
	}
	wg.Wait()
	if images[0].Digest == "" || images[0] != images[1] || images[1] != images[2] {
		t.Fatalf("images %v", images)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		base, err := s.lookUp(ctx, testImage)
		if err != nil {
			t.Error(err)
		}
		for _, tag := range []string{s.envTag("", files), s.caTag(base)} {
			if _, err := s.c.ImageRemove(ctx, tag, image.RemoveOptions{PruneChildren: true}); err != nil {
				t.Error(err)
			}
		}
	})
	if n := strings.Count(log.String(), "COPY word"); n != 1 {
		t.Errorf("built %d times:\n%s", n, log.String())
	}
	out, _ := sh(t, open(t, s, run.BoxSpec{Image: images[0]}), `cat /word; echo; cat /seen; env | grep -c CA_CERTS`)
	if out != "hello\nmine\n-----END CERTIFICATE-----\n"+caFile+"\n0" {
		t.Errorf("got %q", out)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestBuildFailureShowsItsEnd(t *testing.T) {
	s, _ := sandbox(t, Options{})
	files := tree.Tree{"Dockerfile": tree.Text("FROM " + testImage + "\nRUN echo the-reason && exit 7\n")}
	_, err := s.Prepare(t.Context(), assay.Environment{}, files, nil)
	if !isSandbox(err) || !strings.Contains(err.Error(), "\nthe-reason") || !strings.Contains(err.Error(), "7") {
		t.Errorf("got %v", err)
	}
}

func TestKits(t *testing.T) {
	one, img := sandbox(t, Options{})
	two, _ := sandbox(t, Options{})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\necho tool\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(unique("k"), "assay-")
	kits := []run.Kit{
		{Name: name + "-copied", Dir: dir},
		{Name: name + "-made", Install: []string{`echo '#!/bin/sh' > tool`, `echo 'echo made' >> tool; chmod +x "$KIT/tool"`}},
	}
	t.Cleanup(func() { removeKits(t, one, kits) })
	var wg sync.WaitGroup
	for _, s := range []*Sandbox{one, two, one, two} {
		wg.Go(func() {
			b, err := s.Open(t.Context(), run.BoxSpec{Image: img, Kits: kits})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = b.Close(t.Context()) }()
			out, _ := sh(t, b, `/kits/`+kits[0].Name+`/tool; /kits/`+kits[1].Name+`/tool; touch /kits/`+kits[1].Name+`/x 2>/dev/null || echo kept`)
			if out != "tool\nmade\nkept" {
				t.Errorf("got %q", out)
			}
		})
	}
	wg.Wait()
	_, err := one.Open(t.Context(), run.BoxSpec{Image: img, Kits: []run.Kit{{Name: name + "-bad", Install: []string{"echo why; exit 4"}}}})
	if !isSandbox(err) || !strings.Contains(err.Error(), "why") {
		t.Errorf("a failing installation: %v", err)
	}
	if n := countContainers(t, one); n != 0 {
		t.Errorf("%d containers are left", n)
	}
}

func removeKits(t *testing.T, s *Sandbox, kits []run.Kit) {
	for _, k := range kits {
		v, err := kitVolume(k)
		if err != nil {
			t.Error(err)
		}
		for _, name := range []string{v + markerSuffix, v} {
			if err := s.removeVolume(context.WithoutCancel(t.Context()), name); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestMining21And27CleanTakesOnlyTheDead(t *testing.T) {
	s, img := sandbox(t, Options{})
	mine := open(t, s, run.BoxSpec{Image: img, Run: s.opts.Run})
	dead := s.owner
	dead.Start = "1"
	elsewhere := s.owner
	elsewhere.Host, elsewhere.Start = "another-machine", "1"
	create := func(labels map[string]string) string {
		made, err := s.c.ContainerCreate(t.Context(), &container.Config{Image: img.Ref, Cmd: []string{"true"}, Labels: labels}, nil, nil, nil, unique("clean"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.removeContainer(context.WithoutCancel(t.Context()), made.ID) })
		return made.ID
	}
	label := func(o owner) map[string]string {
		return map[string]string{labelRun: s.opts.Run, labelRole: "agent", labelOwner: o.String()}
	}
	gone := create(label(dead))
	foreign := create(label(elsewhere))
	stranger := create(map[string]string{"io.other": "x"})
	vol := unique("clean")
	if _, err := s.c.VolumeCreate(t.Context(), volume.CreateOptions{Name: vol, Labels: label(dead)}); err != nil {
		t.Fatal(err)
	}
	names, err := s.Reap(t.Context())
	if err != nil || len(names) != 2 {
		t.Errorf("removed %v, %v", names, err)
	}
	if _, err := s.c.ContainerInspect(t.Context(), gone); !isGone(err) {
		t.Errorf("the dead one's container: %v", err)
	}
	if _, err := s.c.VolumeInspect(t.Context(), vol); !isGone(err) {
		t.Errorf("the dead one's volume: %v", err)
	}
	for _, id := range []string{mine.id, foreign, stranger} {
		if _, err := s.c.ContainerInspect(t.Context(), id); err != nil {
			t.Errorf("removed: %v", err)
		}
	}
	if _, err := s.Clean(t.Context(), false); err != nil {
		t.Error(err)
	}
}

func TestManyModelCalls(t *testing.T) {
	s, img := sandbox(t, Options{})
	big := strings.Repeat("x", 1<<20)
	model := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprintf(w, "%d %s", n, big)
	})
	b := open(t, s, run.BoxSpec{Image: img, Model: model})
	out, x := sh(t, b, `python3 - <<'E'
import concurrent.futures, urllib.request
def call(i):
    return urllib.request.urlopen("`+b.ModelURL()+`/v1", data=b"y"*700000, timeout=60).read()
with concurrent.futures.ThreadPoolExecutor(20) as p:
    print({(r[:7], len(r)) for r in p.map(call, range(100))})
E`)
	if out != `{(b'700000 ', 1048583)}` {
		t.Errorf("got %.300q, %+v", out, x)
	}
}

// TestMining27KilledOwnerLeavesLittle kills a process that has a box open: the box
// goes by itself, and Reap takes the rest.
func TestMining27KilledOwnerLeavesLittle(t *testing.T) {
	s, _ := sandbox(t, Options{})
	cmd := exec.Command(os.Args[0], "-test.run=^TestOpenAndWait$")
	cmd.Env = append(os.Environ(), "ASSAY_TEST_WAIT="+s.opts.Run)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	gone, errs := s.c.ContainerWait(t.Context(), strings.TrimSpace(id), container.WaitConditionRemoved)
	select {
	case <-gone:
	case err := <-errs:
		if !isGone(err) {
			t.Error(err)
		}
	}
	names, err := s.Reap(t.Context())
	if err != nil || len(names) != 1 || !strings.HasPrefix(names[0], "volume assay-program") {
		t.Errorf("removed %v, %v", names, err)
	}
}

// TestOpenAndWait is the process that is killed.
func TestOpenAndWait(t *testing.T) {
	id := os.Getenv("ASSAY_TEST_WAIT")
	if id == "" {
		t.Skip("a part of another test")
	}
	s, img := sandbox(t, Options{Run: id})
	b := open(t, s, run.BoxSpec{Run: id, Image: img})
	fmt.Println(b.id)
	_, _ = b.Run(t.Context(), run.Command{Argv: []string{"sleep", "1000"}})
}
