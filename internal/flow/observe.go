package flow

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/grade"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/testlog"
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

	// part tells the shard of each test, lost why a shard of the whole suite
	// gave none. What the change's own tests do, the first shard, is in the
	// fields above.
	part map[string]int
	// illegal: a program ended by an instruction that the processor lacks.
	illegal bool
	lost    map[int]string
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
	// hidden are files for the runners' folder.
	hidden tree.Tree
	// argv changes the tests' command.
	argv func([]string) []string
	// steps are run in place of the task's.
	steps []grade.Step
}

// observer runs a task's tests on trees, each in a fresh box. The next box is
// made, and filled with the base, while the present one works.
type observer struct {
	sandbox run.Sandbox
	spec    run.BoxSpec
	task    assay.Task
	limits  assay.Limits
	steps   []grade.Step
	base    tree.Tree
	hidden  tree.Tree
	next    chan boxed
	stop    context.CancelFunc
	// closing are boxes that are removed while the next run goes on.
	closing errgroup.Group
	// tests are the seconds of the commands.
	tests float64
	// lock and undated are what the image resolved, as its first box says.
	looked  bool
	lock    string
	undated []string
	// after is the tree whose files the image must not hold; leak says which
	// it does.
	after tree.Tree
	leak  string
}

type boxed struct {
	box run.Box
	err error
}

func newObserver(ctx context.Context, sandbox run.Sandbox, spec run.BoxSpec, task assay.Task, base tree.Tree) (*observer, error) {
	steps := grade.Steps(task)
	if n := commands(task); n != 1 || len(steps) == 0 {
		return nil, fmt.Errorf("validating %s: it has %d checks with a command, not 1", task.ID, n)
	}
	probes, err := tree.FromFS(probeFiles, tree.Bounds{})
	if err != nil {
		return nil, err
	}
	o := &observer{
		sandbox: sandbox, spec: spec, task: task, limits: spec.Limits, steps: steps, base: base,
		hidden: tree.Over(grade.Runners(), probes.Sub("probes")).In(".assay"), next: make(chan boxed),
	}
	ctx, o.stop = context.WithCancel(ctx)
	go o.supply(ctx)
	return o, nil
}

// commands counts the checks that need a command.
func commands(t assay.Task) (n int) {
	for _, c := range t.Checks {
		if !grade.IsStatic(c.Kind) {
			n++
		}
	}
	return n
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

// close removes the box that is ready, waits for its maker, and tells whether
// all boxes could be removed.
func (o *observer) close(ctx context.Context) error {
	o.stop()
	for b := range o.next {
		if b.box != nil {
			_ = b.box.Close(context.WithoutCancel(ctx))
		}
	}
	return o.closing.Wait()
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
	defer o.closing.Go(func() error { return box.Close(context.WithoutCancel(ctx)) })
	if err := o.look(ctx, box); err != nil {
		return obs, err
	}
	paths, steps := run.PathsOf(box), a.steps
	if steps == nil {
		steps = o.steps
	}
	made := make([]run.Step, 0, len(steps))
	for _, s := range runSteps(steps, paths) {
		made = append(made, a.altered(s, paths))
	}
	obs = observation{Arm: a.name, Tests: map[string]assay.TestStatus{}, part: map[string]int{}, lost: map[int]string{}}
	_, err = run.Checks(ctx, box, run.CheckRun{
		Graded: a.tree, Hidden: tree.Over(o.hidden, a.hidden.In(".assay")), Setup: o.task.Environment.Setup, Env: expanded(o.task.Environment.Env, paths), Limits: o.limits,
		Steps: made, Out: func(string) (io.WriteCloser, error) { return discard{}, nil },
		Judge: func(i int, f run.StepFacts) { obs.take(steps[i], f, paths) },
	})
	o.tests += obs.Seconds
	return obs, err
}

// look reads once what the image resolved. Without an image there is nothing.
func (o *observer) look(ctx context.Context, box run.Box) (err error) {
	if o.looked || o.spec.Image.Digest == "" {
		return nil
	}
	o.looked = true
	if o.lock, o.undated, err = locked(ctx, box); err != nil {
		return err
	}
	o.leak, err = audit(ctx, box, o.base, o.after)
	return err
}

// altered is a step as an arm wants it.
func (a arm) altered(step run.Step, paths run.Paths) run.Step {
	if plain := step.Argv; a.argv != nil {
		step.Argv = func(p run.Paths) []string { return expandWords(a.argv(plain(p)), p) }
	}
	for k, v := range a.env {
		step.Env[k] = expandWord(v, paths, step.Env[k])
	}
	return step
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

// take adds what a step's command left. What goes wrong in a shard of the
// whole suite costs that shard; in the change's own tests it is the task's.
func (obs *observation) take(s grade.Step, f run.StepFacts, p run.Paths) {
	obs.Seconds += f.Exit.Wall.Seconds()
	obs.CPUSec += f.Exit.CPU.Seconds()
	obs.PeakMB = max(obs.PeakMB, f.Exit.PeakMB)
	obs.illegal = obs.illegal || isIllegal(f.Exit)
	log, err := grade.Read(s, grade.ExitFacts{Code: f.Exit.Code, Work: p.Work, Verify: p.Verify}, f.Report)
	if s.Part > 0 {
		if why := lostShard(s, f, log, err); why != "" {
			obs.lost[s.Part] = why
			return
		}
	} else {
		obs.Exit, obs.TimedOut, obs.OOM = f.Exit.Code, f.TimedOut, f.Exit.OOM
		obs.Tail = tail(append(append([]byte(nil), f.Stdout...), f.Stderr...), 2000)
		if err != nil {
			obs.Suspect = append(obs.Suspect, err.Error())
			return
		}
		obs.Built = len(log.BuildFailed) == 0
		obs.Suspect = append(obs.Suspect, log.Suspect...)
	}
	for _, t := range log.Tests {
		if old, twice := obs.Tests[t.ID]; twice && broke(old) {
			continue // of two tests with one name the failing one counts
		}
		obs.Tests[t.ID], obs.part[t.ID] = t.Status, s.Part
	}
}

// lostShard says why a shard of the whole suite tells nothing, "" if it does.
func lostShard(s grade.Step, f run.StepFacts, log testlog.Log, err error) string {
	switch {
	case f.TimedOut:
		return fmt.Sprintf("it took more than %s", s.Timeout)
	case f.Exit.OOM:
		return "it ran out of memory"
	case err != nil:
		return err.Error()
	case len(log.Suspect) > 0:
		return log.Suspect[0]
	case len(log.Tests) == 0:
		return "no test in it gives a verdict"
	}
	for _, t := range log.Tests {
		if strings.HasPrefix(t.ID, "assay::") { // our own runner's word on the whole
			return cmp.Or(firstOf(t.Message), t.ID+" "+string(t.Status))
		}
	}
	if f.Exit.Code != 0 && !s.Explains(log) {
		return fmt.Sprintf("exit status %d although no test failed", f.Exit.Code)
	}
	return ""
}

func firstOf(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

func tail(b []byte, n int) string {
	if len(b) > n {
		b = b[len(b)-n:]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
