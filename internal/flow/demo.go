package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/config"
	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/tree"
)

// DemoRequest asks for the demo. Out "" means a folder that is removed
// afterwards.
type DemoRequest struct {
	Sandbox string
	Out     string
	Render  Render
}

// hasty names the demo's scripted agent.
const hasty = "hasty"

// hastyWork are the tasks that the scripted agent attempts, and which of
// their wrong solutions it hands in, each another way to miss.
func hastyWork() map[string]string {
	return map[string]string{
		"merge-intervals": "edits-the-test",
		"fix-pagination":  "fixes-legacy-too",
		"csv-parser":      "splits-lines-first",

		"rename-across-modules": "docstrings-forgotten",
		"scope-creep-magnet":    "fixes-every-typo",
	}
}

// Demo goes the whole road without a model or a key: it mines a sample
// repository, builds and proves its tasks, runs the reference agents and a
// scripted one over the built-in suite and those tasks, prints the report, and
// posts it to a GitHub within the program.
// Everything is run in one sandbox. The error is nil only if what must be seen
// was seen.
func (f *Flow) Demo(ctx, soft context.Context, d DemoRequest, p Progress, w io.Writer) error {
	at, remove, err := demoFolders(d.Out)
	if err != nil {
		return err
	}
	defer remove()
	sandbox, err := f.Sandbox(ctx, d.Sandbox, runID(assay.Request{Out: at.out}))
	if err != nil {
		return err
	}
	defer func() { _ = sandbox.Close(context.WithoutCancel(ctx)) }()
	p.Note(sandbox.Note)
	s := &demo{Flow: f.within(sandbox), at: at, p: quiet{p}, w: w, soft: soft, keep: d.Out != ""}
	for _, stage := range []func(context.Context) error{s.mine, s.build, s.prove, s.run} {
		if err := stage(ctx); err != nil {
			return err
		}
		if soft.Err() != nil {
			return context.Canceled
		}
	}
	endShow(p)
	if err := f.Report(at.out, "terminal", d.Render, w); err != nil {
		return err
	}
	if err := s.expected(); err != nil {
		return err
	}
	if err := s.publish(ctx); err != nil {
		return err
	}
	return s.say("\nAll came out as it must. Next: 'assay mine --repo . --since 90d' in a repository of your own.\n")
}

// within is the program with one sandbox for all that it does, which stays
// open.
func (f *Flow) within(s Sandbox) *Flow {
	g := *f
	g.Sandbox = func(context.Context, string, string) (Sandbox, error) {
		return Sandbox{Sandbox: s.Sandbox, Close: func(context.Context) error { return nil }}, nil
	}
	return &g
}

// quiet is a Progress that shows no empty lines.
type quiet struct{ Progress }

func (q quiet) Note(text string) {
	if text != "" {
		q.Progress.Note(text)
	}
}

// endShow ends what a door draws, before text goes to the same terminal.
func endShow(p Progress) {
	if c, ok := p.(interface{ Close() }); ok {
		c.Close()
	}
}

// demoPlaces are the folders of a demo: the results, and below work the sample
// repository, its candidates and the suite.
type demoPlaces struct{ out, work string }

func (d demoPlaces) repo() string       { return filepath.Join(d.work, "repository") }
func (d demoPlaces) candidates() string { return filepath.Join(d.work, "candidates.jsonl") }
func (d demoPlaces) tasks() string      { return filepath.Join(d.work, "tasks") }

func demoFolders(out string) (demoPlaces, func(), error) {
	if out != "" {
		abs, err := filepath.Abs(out)
		if err != nil {
			return demoPlaces{}, nil, fmt.Errorf("finding %s: %w", out, err)
		}
		return demoPlaces{out: out, work: filepath.Join(abs, "sample")}, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "assay-demo-")
	if err != nil {
		return demoPlaces{}, nil, fmt.Errorf("making a folder for the demo: %w", err)
	}
	return demoPlaces{out: filepath.Join(dir, "results"), work: dir}, func() { _ = os.RemoveAll(dir) }, nil
}

// demo is a demo under way.
type demo struct {
	*Flow
	at     demoPlaces
	p      Progress
	w      io.Writer
	soft   context.Context
	sample DemoSample
	keep   bool // the folders stay
}

func (d *demo) say(format string, args ...any) error {
	_, err := fmt.Fprintf(d.w, format, args...)
	return err
}

// mine makes the repository and mines it.
func (d *demo) mine(ctx context.Context) error {
	var err error
	if d.sample, err = d.makeSample(ctx); err != nil {
		return err
	}
	sum, err := d.Mine(ctx, MineRequest{Repo: d.at.repo(), Since: d.sample.Since, Out: d.at.candidates()})
	if err != nil {
		return err
	}
	if err := d.park(d.at.candidates(), sum.Repo, d.sample.Issue); err != nil {
		return err
	}
	y, err := d.Yield(d.at.candidates(), "")
	if err != nil {
		return err
	}
	if err := d.say("1. Mine: what was merged into a small Python project since %s, and an open issue.\n", d.sample.Since); err != nil {
		return err
	}
	return y.Write(d.w, "terminal")
}

// makeSample makes the repository whole or not at all, so that a demo that was
// stopped can be told to go on.
func (d *demo) makeSample(ctx context.Context) (DemoSample, error) {
	tmp := d.at.repo() + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		return DemoSample{}, fmt.Errorf("making the sample repository: %w", err)
	}
	s, err := d.sampleIn(ctx, tmp)
	if err != nil {
		return s, err
	}
	s.Dir = d.at.repo()
	if isDir(s.Dir) {
		return s, os.RemoveAll(tmp)
	}
	return s, os.Rename(tmp, s.Dir)
}

// build makes the task folders.
func (d *demo) build(ctx context.Context) error {
	sum, err := d.Build(ctx, BuildRequest{Candidates: d.at.candidates(), Tasks: d.at.tasks()}, func(string) {})
	if err != nil {
		return err
	}
	images, err := filepath.Glob(filepath.Join(d.at.tasks(), "environment", "python-*"))
	if err != nil {
		return err
	}
	return d.say("\n2. Build: %d task folders with hidden tests and a reference solution; environments that they share: %d.\n",
		len(sum.Built)+sum.Kept, len(images))
}

// The demo proves with fewer runs than 'assay validate' does by itself.
const (
	demoRepeats = 2
	demoHunks   = 4
)

// prove validates the tasks and puts the built-in ones beside them.
func (d *demo) prove(ctx context.Context) error {
	all, err := candidates.At(d.at.candidates()).Load()
	if err != nil {
		return err
	}
	var ids []string
	for _, c := range all {
		if c.Task != "" {
			ids = append(ids, c.Task)
		}
	}
	if err := d.say("\n3. Validate: each task's tests before and after its change, nop and oracle, and the change without each of its parts.\n"); err != nil {
		return err
	}
	_, err = d.Validate(ctx, d.soft, ValidateRequest{
		Tasks: d.at.tasks(), Task: ids, Jobs: 2, Repeats: demoRepeats, Hunks: demoHunks,
	}, d.p.Note)
	if err != nil || d.soft.Err() != nil {
		return err
	}
	if all, err = d.judged(all); err != nil {
		return err
	}
	if err := mine.YieldOf(all).Write(d.w, "terminal"); err != nil {
		return err
	}
	if err := d.sample.check(all); err != nil {
		return err
	}
	builtin, err := tree.FromFS(d.Tasks, tree.Bounds{})
	if err != nil {
		return err
	}
	return builtin.WriteDir(d.at.tasks())
}

// judged is all with the verdicts of validation; the folder may hold the
// built-in tasks already, which are nobody's candidates.
func (d *demo) judged(all []assay.Candidate) ([]assay.Candidate, error) {
	s, err := d.openSuite(d.at.tasks())
	if err != nil {
		return nil, err
	}
	var tasks []assay.Task
	for _, e := range s.Entries {
		if e.Task.Source != nil {
			tasks = append(tasks, e.Task)
		}
	}
	return mine.WithTasks(all, tasks), nil
}

// run sends the agents over the built-in and the mined tasks.
func (d *demo) run(ctx context.Context) error {
	command, err := d.hastyCommand(d.sample)
	if err != nil {
		return err
	}
	base := assay.Request{Tasks: d.at.tasks(), Out: d.at.out, Jobs: 2}
	reference, scripted := base, base
	reference.Agents = []assay.AgentSpec{{Name: "oracle"}, {Name: "nop"}}
	scripted.Agents = []assay.AgentSpec{{Name: "command", Label: hasty, Command: command}}
	scripted.Task = append(scripted.Task, d.sample.WrongTask)
	for task := range hastyWork() {
		scripted.Task = append(scripted.Task, task)
	}
	slices.Sort(scripted.Task)
	if err := d.say("\n4. Run: over the built-in suite and the mined tasks the reference solution (oracle) must pass all,\n" +
		"doing nothing (nop) must fail all; hasty edits a test, touches files that it was told to leave, skips clauses,\n" +
		"and solves half of a mined task.\n"); err != nil {
		return err
	}
	for _, req := range []assay.Request{reference, scripted} {
		if err := d.runOne(ctx, req); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) runOne(ctx context.Context, req assay.Request) error {
	req = config.WithDefaults(req)
	req.VarDir = ""
	sum, err := d.Run(ctx, d.soft, req, d.p)
	endShow(d.p.(quiet).Progress)
	if err != nil {
		return err
	}
	if sum.Interrupted {
		return context.Canceled
	}
	return nil
}

// expected tells whether the demo saw what it must see; anything else is a
// fault of ours or of this machine, and no demo.
func (d *demo) expected() error {
	rep, err := d.buildReport(d.at.out)
	if err != nil {
		return err
	}
	builtin, err := d.openSuite("")
	if err != nil {
		return err
	}
	all := len(builtin.Entries) + d.sample.valid()
	want := map[string]struct{ trials, resolved int }{"oracle": {all, all}, "nop": {all, 0}, hasty: {len(hastyWork()) + 1, 0}}
	for _, row := range rep.ByAgent {
		w := want[row.Agent]
		delete(want, row.Agent)
		if row.Resolved != w.resolved || row.N != w.trials || row.Trials != w.trials {
			return fmt.Errorf("the demo expected %s to resolve %d of %d tasks, but it resolved %d of %d; 'assay doctor' tells what this machine lacks",
				row.Agent, w.resolved, w.trials, row.Resolved, row.N)
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("the demo's report lacks agents: %d of them have no row", len(want))
	}
	return nil
}

// hastyProgram writes the files of the task that it finds itself in. It reads
// its prompt, as any agent would.
const hastyProgram = `
import json, os, sys
sys.stdin.read()
for marker, files in json.loads(sys.argv[1]).items():
    if os.path.exists(marker):
        for name, text in files.items():
            with open(name, "w", newline="") as f:
                f.write(text)
            print("wrote", name)
print("All done, the tests pass.")
`

// hastyCommand is the scripted agent's command line, made of wrong solutions
// that the built-in suite and the sample ship.
func (f *Flow) hastyCommand(s DemoSample) ([]string, error) {
	work := map[string]map[string]string{}
	for p := range s.Wrong {
		work[p] = s.Wrong // a file that only the sample's workspace has
	}
	for task, wrong := range hastyWork() {
		all, err := tree.FromFS(f.Tasks, tree.Bounds{})
		if err != nil {
			return nil, err
		}
		files := all.Sub(path.Join(task, "wrong", wrong))
		if len(files) == 0 {
			return nil, fmt.Errorf("the built-in task %s has no wrong solution %q", task, wrong)
		}
		texts := map[string]string{}
		for p, e := range files {
			texts[p] = string(e.Data)
		}
		work[marker(all.Sub(path.Join(task, "workspace")))] = texts
	}
	data, err := json.Marshal(work)
	if err != nil {
		return nil, fmt.Errorf("making the scripted agent: %w", err)
	}
	return []string{"python3", "-I", "-c", hastyProgram, string(data)}, nil
}

// marker is a file by which a workspace is known: its package's __init__.
func marker(workspace tree.Tree) string {
	for _, p := range workspace.Paths() {
		if path.Base(p) == "__init__.py" && path.Dir(p) != "tests" {
			return p
		}
	}
	return "README.md"
}
