package flow

import (
	"context"
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/grade"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

//go:embed probes
var probeFiles embed.FS

// observation is what one run of a task's tests showed on one tree.
type observation struct {
	Arm      string                      `json:"arm"`
	Tests    map[string]assay.TestStatus `json:"tests"`
	Built    bool                        `json:"built"`
	Suspect  []string                    `json:"suspect,omitempty"`
	TimedOut bool                        `json:"timed_out,omitempty"`
	Exit     int                         `json:"exit"`
	OOM      bool                        `json:"oom,omitempty"`
	Seconds  float64                     `json:"seconds"`
	CPUSec   float64                     `json:"cpu_seconds"`
	PeakMB   int                         `json:"peak_mb"`
	Tail     string                      `json:"tail,omitempty"`
}

// ran counts the tests that gave any verdict of their own.
func (o observation) ran() int {
	n := 0
	for _, s := range o.Tests {
		if s != assay.TestSkipped {
			n++
		}
	}
	return n
}

// arm is a run to be made: a tree, and what is special about it.
type arm struct {
	name    string
	tree    tree.Tree
	network bool
	env     map[string]string
	// argv changes the tests' command.
	argv func([]string) []string
}

// observer runs a task's tests on trees, each in a fresh box. The next box is
// made, and filled with the base, while the present one works.
type observer struct {
	sandbox run.Sandbox
	spec    run.BoxSpec
	task    assay.Task
	limits  assay.Limits
	step    grade.Step
	base    tree.Tree
	hidden  tree.Tree
	next    chan boxed
	stop    context.CancelFunc
	// tests and wall are the seconds of the commands, and of all.
	tests float64
}

type boxed struct {
	box run.Box
	err error
}

func newObserver(ctx context.Context, sandbox run.Sandbox, spec run.BoxSpec, task assay.Task, base tree.Tree) (*observer, error) {
	steps := grade.Steps(task)
	if len(steps) != 1 {
		return nil, fmt.Errorf("validating %s: it has %d checks with a command, not 1", task.ID, len(steps))
	}
	probes, err := tree.FromFS(probeFiles, tree.Bounds{})
	if err != nil {
		return nil, err
	}
	o := &observer{
		sandbox: sandbox, spec: spec, task: task, limits: spec.Limits, step: steps[0], base: base,
		hidden: tree.Over(grade.Runners(), probes.Sub("probes")).In(".assay"), next: make(chan boxed),
	}
	ctx, o.stop = context.WithCancel(ctx)
	go o.supply(ctx)
	return o, nil
}

// supply keeps one box ready. It ends with ctx and removes what nobody took.
func (o *observer) supply(ctx context.Context) {
	defer close(o.next)
	for ctx.Err() == nil {
		box, err := run.OpenFilled(ctx, o.sandbox, o.spec, o.base)
		select {
		case o.next <- boxed{box, err}:
		case <-ctx.Done():
			if box != nil {
				_ = box.Close(context.WithoutCancel(ctx))
			}
		}
	}
}

// close removes the box that is ready and waits for its maker.
func (o *observer) close(ctx context.Context) {
	o.stop()
	for b := range o.next {
		if b.box != nil {
			_ = b.box.Close(context.WithoutCancel(ctx))
		}
	}
}

// open takes the ready box, or makes one of another kind.
func (o *observer) open(ctx context.Context, a arm) (run.Box, error) {
	if a.network {
		spec := o.spec
		spec.Network = true
		return run.OpenFilled(ctx, o.sandbox, spec, o.base)
	}
	b, ok := <-o.next
	if !ok {
		return nil, context.Cause(ctx)
	}
	return b.box, b.err
}

// observe runs the tests once.
func (o *observer) observe(ctx context.Context, a arm) (obs observation, err error) {
	box, err := o.open(ctx, a)
	if err != nil {
		return obs, err
	}
	defer func() {
		if e := box.Close(context.WithoutCancel(ctx)); err == nil {
			err = e
		}
	}()
	paths := run.PathsOf(box)
	step := runSteps([]grade.Step{o.step}, paths)[0]
	plain := step.Argv
	if a.argv != nil {
		step.Argv = func(p run.Paths) []string { return expandWords(a.argv(plain(p)), p) }
	}
	env := expanded(o.task.Environment.Env, paths)
	for k, v := range a.env {
		step.Env[k] = expandWord(v, paths, step.Env[k])
	}
	_, err = run.Checks(ctx, box, run.CheckRun{
		Graded: a.tree, Hidden: o.hidden, Setup: o.task.Environment.Setup, Env: env, Limits: o.limits,
		Steps: []run.Step{step}, Out: func(string) (io.WriteCloser, error) { return discard{}, nil },
		Judge: func(_ int, f run.StepFacts) { obs = o.read(f, paths) },
	})
	obs.Arm = a.name
	o.tests += obs.Seconds
	return obs, err
}

// expandWord fills a probe's placeholders: {runner} and {old}, the value that
// the variable had.
func expandWord(v string, p run.Paths, old string) string {
	return strings.NewReplacer("{runner}", p.Runner, "{old}", old).Replace(v)
}

func expandWords(argv []string, p run.Paths) []string {
	out := make([]string, len(argv))
	for i, w := range argv {
		out[i] = strings.ReplaceAll(w, "{runner}", p.Runner)
	}
	return out
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

// read turns what the command left into an observation.
func (o *observer) read(f run.StepFacts, p run.Paths) observation {
	obs := observation{
		Tests: map[string]assay.TestStatus{}, Exit: f.Exit.Code, TimedOut: f.TimedOut, OOM: f.Exit.OOM,
		Seconds: f.Exit.Wall.Seconds(), CPUSec: f.Exit.CPU.Seconds(), PeakMB: f.Exit.PeakMB,
		Tail: tail(append(append([]byte(nil), f.Stdout...), f.Stderr...), 2000),
	}
	log, err := grade.Read(o.step, grade.ExitFacts{Code: f.Exit.Code, Work: p.Work, Verify: p.Verify}, f.Report)
	if err != nil {
		obs.Suspect = append(obs.Suspect, err.Error())
		return obs
	}
	obs.Built = len(log.BuildFailed) == 0
	obs.Suspect = append(obs.Suspect, log.Suspect...)
	for _, t := range log.Tests {
		obs.Tests[t.ID] = t.Status
	}
	return obs
}

func tail(b []byte, n int) string {
	if len(b) > n {
		b = b[len(b)-n:]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
