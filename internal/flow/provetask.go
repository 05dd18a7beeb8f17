package flow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/build"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/suite"
	"github.com/assaybot/assay/internal/testlog"
	"github.com/assaybot/assay/internal/tree"
)

// proven is a proof with what belongs into task.json.
type proven struct {
	proof
	strength   *assay.Strength
	validation assay.Validation
	image      run.Image
	lock       string
	undated    []string
}

// into writes a proof into a task.
func (p proven) into(t *assay.Task) {
	t.FailToPass, t.PassToPass, t.Strength = nil, nil, p.strength
	if p.validation.Status == string(assay.StatusValid) {
		t.FailToPass, t.PassToPass = p.FailToPass, p.PassToPass
	}
	v := p.validation
	t.Validation = &v
	if p.Reason != assay.ReasonBuildFailed && p.Reason != assay.ReasonBuildDrift {
		// What the last image that could be built resolved stays on record.
		t.Environment.ImageDigest, t.Environment.Lock, t.Environment.Undated = p.image.Digest, p.lock, p.undated
	}
	if v.Needs != nil {
		t.Limits.CheckSec = max(60, 4*int(v.Needs.Seconds+1))
	}
}

// prover proves one task.
type prover struct {
	f      *Flow
	req    ValidateRequest
	task   assay.Task
	job    run.Job
	obs    *observer
	box    Sandbox
	image  run.Image
	before tree.Tree
	after  tree.Tree
	runs   map[string]int
	// dropped are files of the whole suite that don't run, and why.
	dropped map[string]string
	failing map[string]bool // tests that fail in the base
	probes  []observation
	made    map[string]string
	befores,
	afters []observation
}

// proveTask runs the whole matrix for a task. An error is a failure of the
// machinery; what the task lacks is in the proof.
func (f *Flow) proveTask(ctx context.Context, sandbox Sandbox, v ValidateRequest, e suite.Entry) (out proven, err error) {
	began := f.Now()
	p := &prover{f: f, req: v, task: e.Task, box: sandbox, runs: map[string]int{}, dropped: map[string]string{}, failing: map[string]bool{}}
	p.task.FailToPass, p.task.PassToPass, p.task.Validation = nil, nil, nil
	if p.job, err = f.taskJob(ctx, e); err != nil {
		return out, err
	}
	var log bytes.Buffer
	p.image, err = sandbox.Prepare(ctx, e.Task.Environment, p.job.Build, &log)
	if reason, detail := buildReason(sandbox.Name(), err, log.Bytes()); reason != "" {
		out.Reason, out.Detail = reason, detail
		p.finish(&out, began)
		return out, nil
	}
	if err != nil {
		return out, err
	}
	laid, _ := splitHidden(p.job.Verify)
	p.before = laid.over(p.job.Workspace)
	p.after = laid.over(run.Overlaid(p.job.Workspace, p.job.Solution))
	if p.obs, err = newObserver(ctx, sandbox, p.spec(), p.task, p.job.Workspace); err != nil {
		return out, err
	}
	p.obs.after = p.after
	defer func() {
		if e := p.obs.close(ctx); err == nil {
			err = e
		}
	}()
	if err := p.prove(ctx, &out); err != nil {
		return out, err
	}
	if err := p.obs.close(ctx); err != nil { // before the clock is read
		return out, err
	}
	p.finish(&out, began)
	return out, nil
}

// buildReason tells an environment that can't be built from an engine that
// doesn't work. What the local sandbox misses is this machine's fault, never
// the task's.
func buildReason(sandbox string, err error, log []byte) (assay.Reason, string) {
	var infra *assay.InfraError
	if err == nil || sandbox == "local" || !errors.As(err, &infra) || !infra.Permanent || infra.Kind == assay.InfraNetwork {
		return "", ""
	}
	if line := build.Drift(string(log)); line != "" {
		return assay.ReasonBuildDrift, line + "\n" + tail(log, 1000)
	}
	return assay.ReasonBuildFailed, strings.TrimSpace(err.Error() + "\n" + tail(log, 1000))
}

// proofLimits are wide: the envelope is measured, not assumed.
func proofLimits(t assay.Task) assay.Limits {
	return t.Limits.Or(assay.Limits{CheckSec: 900, MemoryMB: 6144, WorkspaceMB: 1024}).Or(assay.DefaultLimits())
}

func (p *prover) spec() run.BoxSpec {
	return run.BoxSpec{
		Run: runID(assay.Request{Out: p.req.Tasks}), Role: "proof", Image: p.image,
		Limits: proofLimits(p.task), MemoryWorkspace: true,
	}
}

// see runs an arm once and counts it.
func (p *prover) see(ctx context.Context, a arm) (observation, error) {
	o, err := p.obs.observe(ctx, a)
	p.runs[a.name]++
	if err == nil && o.illegal {
		err = foreignProcessor(a.name)
	}
	if err == nil && a.steps == nil && !unshifted(o) {
		p.forget(o)
	}
	return o, err
}

// prove is the matrix of DESIGN section 7. It stops as soon as the rest can't
// change the answer.
func (p *prover) prove(ctx context.Context, out *proven) error {
	steps := []func(context.Context, *proven) error{p.baseRun, p.pairs, p.probe, p.references, p.ablate}
	for _, step := range steps {
		err := step(ctx, out)
		if err == nil && p.obs.leak != "" {
			out.proof = proof{Reason: assay.ReasonLeak, Detail: p.obs.leak}
		}
		if err != nil || out.Reason != "" {
			return err
		}
	}
	return nil
}

// pairs runs before and after in turn. The first pair alone can reject: more
// runs only ever take tests away.
func (p *prover) pairs(ctx context.Context, out *proven) error {
	for range max(1, p.req.Repeats) {
		for _, x := range []struct {
			a  arm
			to *[]observation
		}{{arm{name: "before", tree: p.before}, &p.befores}, {arm{name: "after", tree: p.after}, &p.afters}} {
			o, err := p.see(ctx, x.a)
			if err != nil {
				return err
			}
			*x.to = append(*x.to, o)
		}
		if out.proof = prove(p.befores, p.afters, nil, p.req.CompileFails); out.Reason != "" {
			return p.explain(ctx, out)
		}
	}
	return nil
}

// explain looks whether the network is what a failing reference lacks.
func (p *prover) explain(ctx context.Context, out *proven) error {
	switch out.Reason {
	case assay.ReasonGoldFails, assay.ReasonNoTestsRan:
	case assay.ReasonNoFailToPass: // the tests that fail after, too, may be those that matter
		if !failsAny(p.afters[len(p.afters)-1]) {
			return nil
		}
	default:
		return nil
	}
	o, err := p.see(ctx, arm{name: "network", tree: p.after, network: true})
	if err != nil {
		return err
	}
	if with := prove(p.befores, []observation{o}, nil, true); with.Reason == "" {
		out.Reason, out.Detail = assay.ReasonNeedsNetwork, "the tests pass with the reference solution only when the box has a network"
	}
	return nil
}

func failsAny(o observation) bool {
	for _, s := range o.Tests {
		if broke(s) {
			return true
		}
	}
	return false
}

// probe runs the reference with another clock and in another order, and notes
// which of the two it could make.
func (p *prover) probe(ctx context.Context, out *proven) error {
	p.made = map[string]string{}
	clock, stuck := p.f.clockArm(p.box.Name(), p.task, p.after)
	unordered := ""
	if !hasOrder(p.task) {
		unordered = "not made: the order of this test program can't be changed"
	}
	for _, x := range []struct {
		a         arm
		why, made string
		reason    assay.Reason
	}{{clock, stuck, clockMade, assay.ReasonNeedsClock}, {orderArm(p.task, p.after), unordered, "changed", assay.ReasonNeedsOrder}} {
		if p.made[x.a.name] = cmp.Or(x.why, x.made); x.why != "" {
			continue
		}
		o, err := p.see(ctx, x.a)
		if err != nil {
			return err
		}
		if unshifted(o) {
			p.made[x.a.name] = "not shifted: the image can't load libfaketime, or has no sh and date"
			continue
		}
		p.probes = append(p.probes, o)
		out.proof = prove(p.befores, p.afters, p.probes, p.req.CompileFails)
		if out.Reason == assay.ReasonFlaky || out.Reason == assay.ReasonNoFailToPass {
			out.Reason, out.Detail = x.reason, "no test that the change mends passes in the run \""+x.a.name+"\""
		}
		if out.Reason != "" {
			return nil
		}
	}
	return nil
}

// orderArm is the reference with its tests in another order.
func orderArm(t assay.Task, after tree.Tree) arm {
	a := arm{name: "order", tree: after}
	switch orderKind(t) {
	case "pytest":
		a.env = map[string]string{"PYTHONPATH": "{runner}:{old}"}
		a.argv = func(w []string) []string { return append(slices.Clone(w), "-p", "assay_reverse") }
	case "go":
		a.argv = replaced("go test ", "go test -shuffle=1 ")
	case "vitest":
		a.argv = func(w []string) []string {
			return append(slices.Clone(w), "--sequence.shuffle.tests", "--sequence.seed=1")
		}
	}
	return a
}

func replaced(old, fresh string) func([]string) []string {
	return func(w []string) []string {
		out := slices.Clone(w)
		for i := range out {
			out[i] = strings.Replace(out[i], old, fresh, 1)
		}
		return out
	}
}

func hasOrder(t assay.Task) bool { return orderKind(t) != "" }

func orderKind(t assay.Task) string {
	for _, c := range t.Checks {
		words := strings.Join(c.Command, " ")
		switch {
		case c.Kind != assay.CheckTests:
		case strings.Contains(words, "pytest"):
			return "pytest"
		case c.Report != nil && c.Report.Format == testlog.GoTest:
			return "go"
		case strings.Contains(words, "vitest"):
			return "vitest"
		}
	}
	return ""
}

// references sends nop and oracle through the whole grader: the task must
// tell them apart with the very tests that were just found.
func (p *prover) references(ctx context.Context, out *proven) error {
	job := p.job
	job.Task.FailToPass, job.Task.PassToPass = out.FailToPass, out.PassToPass
	job.Task.Validation = p.task.Validation
	for _, x := range []struct {
		agent  string
		passes bool
		reason assay.Reason
	}{{"nop", false, assay.ReasonNopPasses}, {"oracle", true, assay.ReasonOracleFails}} {
		r, err := p.reference(ctx, job, x.agent)
		if err != nil {
			return err
		}
		p.runs[x.agent]++
		for _, c := range r.Checks {
			p.obs.tests += c.Seconds
		}
		if r.Resolved != x.passes {
			out.Reason, out.Detail = x.reason, fmt.Sprintf("graded as %s: %s", r.Outcome, r.Detail)
			return nil
		}
	}
	return nil
}

func (p *prover) reference(ctx context.Context, job run.Job, agent string) (assay.Result, error) {
	job.Trial = assay.Trial{Task: p.task.ID, Variant: assay.Baseline, Agent: assay.AgentSpec{Name: agent}, Limits: proofLimits(p.task), Sandbox: p.box.Name()}
	job.Trial.ID = assay.TrialID(job.Trial)
	solution := p.job.Solution.Paths()
	r := &run.Runner{
		Sandbox: p.box.Sandbox, Agents: p.f.agents(), Patches: p.f.Patches, Now: p.f.Now, Run: p.spec().Run,
		Grader: &grader{allowed: func(string) []string { return solution }},
		Begin:  func(assay.Trial) (run.Record, error) { return newMemory(), nil }, EarlyGrader: true,
	}
	res := r.Attempt(ctx, job)
	switch res.Outcome {
	case assay.InfraFail, assay.Cancelled:
		return res, fmt.Errorf("running %s: %s", agent, res.Detail)
	}
	return res, nil
}

// ablate takes each hunk of the reference out alone.
func (p *prover) ablate(ctx context.Context, out *proven) error {
	if p.req.Hunks == 0 {
		return nil
	}
	solved := run.Overlaid(p.job.Workspace, p.job.Solution)
	diff, err := p.f.Patches.Make(ctx, p.job.Workspace, solved)
	if err != nil {
		return err
	}
	all, err := ablations(p.job.Workspace, solved, diff)
	if err != nil {
		return err
	}
	laid, _ := splitHidden(p.job.Verify)
	s := &assay.Strength{}
	mended, kept := p.ownTests(out.FailToPass), p.ownTests(out.PassToPass)
	for _, a := range spread(all, p.req.Hunks) {
		o, err := p.see(ctx, arm{name: "ablation", tree: laid.over(a.tree), steps: p.obs.steps[:1]})
		if err != nil {
			return err
		}
		s.Hunks++
		if missed(o, mended) || missed(o, kept) {
			s.Noticed++
			continue
		}
		s.Missed = append(s.Missed, a.label)
	}
	if s.Hunks > 0 {
		s.Share = float64(s.Noticed) / float64(s.Hunks)
		out.strength = s
	}
	return nil
}

func missed(o observation, ids []string) bool {
	for _, id := range ids {
		if o.Tests[id] != assay.TestPassed {
			return true
		}
	}
	return false
}

// finish writes the verdict's figures.
func (p *prover) finish(out *proven, began time.Time) {
	out.image = p.image
	v := &out.validation
	v.Status, v.Reason, v.Detail = status(out.Reason), string(out.Reason), out.Detail
	v.When, v.Runs, v.Flaky, v.Image = p.f.Now().UTC().Truncate(time.Second), maps.Clone(p.runs), out.Flaky, p.image.Digest
	v.Scope = cmp.Or(p.task.Scope, assay.ScopeOwn)
	if len(p.dropped) > 0 {
		v.Dropped = p.dropped
	}
	v.Probes = p.made
	if p.obs != nil {
		out.lock, out.undated = p.obs.lock, p.obs.undated
		v.TestSec = round(p.obs.tests)
	}
	v.WallSec = round(p.f.Now().Sub(began).Seconds())
	if out.Reason == "" {
		v.Needs = envelope(p.afters, proofLimits(p.task).CPUs, cmp.Or(p.box.Host.Platform, "linux/"+runtime.GOARCH))
	}
}

// status: what varies or needs something that boxes lack may become a task
// another day; the rest is none.
func status(r assay.Reason) string {
	switch r {
	case "":
		return string(assay.StatusValid)
	case assay.ReasonFlaky, assay.ReasonNeedsClock, assay.ReasonNeedsNetwork, assay.ReasonNeedsOrder, assay.ReasonTimeout, assay.ReasonOracleFails, assay.ReasonBuildDrift:
		return string(assay.StatusQuarantined)
	}
	return string(assay.StatusRejected)
}

func round(s float64) float64 { return float64(int(s*100+0.5)) / 100 }

// memory is a Record that keeps an attempt in memory.
type memory struct {
	mu    sync.Mutex
	files map[string]*bytes.Buffer
}

func newMemory() *memory { return &memory{files: map[string]*bytes.Buffer{}} }

// Number is always 1.
func (m *memory) Number() int { return 1 }

// Create makes a file.
func (m *memory) Create(name string) (io.WriteCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &bytes.Buffer{}
	m.files[path.Clean(name)] = b
	return memoryFile{b}, nil
}

// Write makes a whole file.
func (m *memory) Write(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[path.Clean(name)] = bytes.NewBuffer(data)
	return nil
}

// Read is a file that was written.
func (m *memory) Read(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.files[path.Clean(name)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return b.Bytes(), nil
}

// Finish has nothing to keep.
func (m *memory) Finish(assay.Result) error { return nil }

type memoryFile struct{ *bytes.Buffer }

func (memoryFile) Close() error { return nil }
