package flow

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"github.com/assaybot/assay/internal/agent"
	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/docker"
	"github.com/assaybot/assay/internal/ledger"
	"github.com/assaybot/assay/internal/patch"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

const benchImage = "python:3.13-slim"

// realPatches is the edge patch as the port that run asks for.
type realPatches struct{}

func (realPatches) Make(ctx context.Context, base, after tree.Tree) ([]byte, error) {
	return patch.Make(ctx, base, after)
}

func (realPatches) Apply(ctx context.Context, base tree.Tree, diff []byte) (tree.Tree, error) {
	return patch.Apply(ctx, base, diff)
}

func (realPatches) Ignored(ctx context.Context, base tree.Tree, paths []string) ([]string, error) {
	return patch.Ignored(ctx, base, paths)
}

func (realPatches) Repository(ctx context.Context, t tree.Tree) (tree.Tree, error) {
	return patch.Repository(ctx, t)
}

func (realPatches) WithoutGit(t tree.Tree) (tree.Tree, []string) { return patch.WithoutGit(t) }

func (realPatches) Sum(base, after tree.Tree, diff []byte) assay.Patch {
	return patch.Sum(base, after, diff)
}

// boxProgram builds the boxes' first process, once.
var boxProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "assay")
	cmd := exec.Command("go", "build", "-trimpath", "-o", name, "../../cmd/assay")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return name, nil
})

// bench is a runner on the real engine with a trivial task for the oracle.
type bench struct {
	runner *run.Runner
	engine *client.Client
	label  string
	dir    string
}

func newBench(tb testing.TB) *bench {
	tb.Helper()
	b := &bench{label: fmt.Sprintf("bench-%d-%d", os.Getpid(), time.Now().UnixNano()), dir: tb.TempDir()}
	s := b.sandbox(tb)
	l, err := ledger.Open(b.dir, "a benchmark")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	agents := map[string]run.Agent{}
	for _, a := range agent.All(agent.Options{}) {
		agents[a.Name()] = a
	}
	b.runner = &run.Runner{
		Sandbox: s, Agents: agents, Patches: realPatches{}, Grader: &grader{allowed: func(string) []string { return nil }},
		Begin: func(t assay.Trial) (run.Record, error) { return begin(l, t) }, Run: b.label, EarlyGrader: true,
	}
	return b
}

func (b *bench) sandbox(tb testing.TB) *docker.Sandbox {
	tb.Helper()
	skip := func(why error) {
		if slices.Contains(strings.Split(os.Getenv("ASSAY_REQUIRE"), ","), "docker") {
			tb.Fatal("docker is required here: ", why)
		}
		tb.Skip("no Docker engine: ", why)
	}
	var err error
	if b.engine, err = client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation()); err != nil {
		skip(err)
	}
	tb.Cleanup(func() { _ = b.engine.Close() })
	if _, err := b.engine.ImageInspect(tb.Context(), benchImage); err != nil {
		skip(err)
	}
	name, err := boxProgram()
	if err != nil {
		tb.Fatal(err)
	}
	s, err := docker.New(tb.Context(), docker.Options{Program: name, Run: b.label})
	if err != nil {
		skip(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// job is repeat n of the trivial task.
func (b *bench) job(n int) run.Job {
	t := assay.Trial{Task: "trivial", Variant: "baseline", Agent: assay.AgentSpec{Name: "oracle"}, Repeat: n, Sandbox: "docker"}
	t.ID = assay.TrialID(t)
	return run.Job{
		Trial: t,
		Task: assay.Task{
			ID: "trivial", Prompt: "Say hello.", Environment: assay.Environment{Image: benchImage},
			Checks: []assay.Check{{Name: "says", Kind: assay.CheckCommand, Command: []string{"sh", "{verify}/check.sh"}}},
		},
		Workspace: tree.Tree{"hello.txt": tree.Text("hi\n")},
		Verify:    tree.Tree{"check.sh": tree.Text("read x < hello.txt; test \"$x\" = hello\n")},
		Solution:  tree.Tree{"hello.txt": tree.Text("hello\n")},
	}
}

// trial runs one and expects it to pass.
func (b *bench) trial(tb testing.TB, n int) assay.Result {
	r := b.runner.Attempt(tb.Context(), b.job(n))
	if r.Outcome != assay.Passed {
		tb.Fatalf("%s: %s", r.Outcome, r.Detail)
	}
	return r
}

// BenchmarkTrial is a whole trial of the oracle, graded in a fresh box, beside
// two bare containers that do nothing: what the same two boxes cost anybody.
// ratio is trial / two bare containers.
func BenchmarkTrial(b *testing.B) {
	x := newBench(b)
	x.trial(b, 0) // the program's volume, the repository
	var ours, bare time.Duration
	n := 0
	phases := map[string]float64{}
	for b.Loop() {
		n++
		begun := time.Now()
		r := x.trial(b, n)
		ours += time.Since(begun)
		for k, v := range r.Phases {
			phases[k] += v
		}
		begun = time.Now()
		for range 2 {
			if out, err := exec.CommandContext(b.Context(), "docker", "run", "--rm", "--network", "none", benchImage, "true").CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
		bare += time.Since(begun)
	}
	b.ReportMetric(float64(ours.Milliseconds())/float64(n), "trial-ms")
	b.ReportMetric(float64(bare.Milliseconds())/float64(n), "bare-ms")
	b.ReportMetric(float64(ours)/float64(bare), "ratio")
	for k, v := range phases {
		b.ReportMetric(1000*v/float64(n), k+"-ms")
	}
}

// BenchmarkFiftyTrials is fifty trials at two jobs: wall time, this process's
// peak memory, and what the engine holds afterwards.
func BenchmarkFiftyTrials(b *testing.B) {
	const trials = 50
	for b.Loop() {
		x := newBench(b)
		list := make([]assay.Trial, trials)
		for i := range list {
			list[i] = x.job(i).Trial
		}
		begun := time.Now()
		sum := x.runner.All(b.Context(), list, run.Options{Jobs: 2, Load: func(_ context.Context, t assay.Trial) (run.Job, error) {
			return x.job(t.Repeat), nil
		}})
		if sum.Outcomes[assay.Passed] != trials {
			b.Fatalf("%v", sum.Outcomes)
		}
		b.ReportMetric(time.Since(begun).Seconds(), "wall-s")
		b.ReportMetric(peakMB(b), "peak-MB")
		left, err := x.engine.ContainerList(b.Context(), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", "io.assay.run="+x.label))})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(left)), "leftovers")
	}
}

// peakMB is the most memory that this process had so far.
func peakMB(b *testing.B) float64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("no /proc here")
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	var kb float64
	_, _ = fmt.Sscan(rest, &kb)
	return kb / 1024
}
