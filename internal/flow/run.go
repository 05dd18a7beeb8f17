package flow

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/ledger"
	"github.com/assaybot/assay/internal/plan"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/suite"
)

// Progress hears how a run goes on. Calls come one at a time.
type Progress interface {
	// Planned: of total trials, todo are still to run.
	Planned(total, todo int)
	Started(t assay.Trial, attempt int)
	Finished(r assay.Result)
	// Retry: the trial that just finished is tried again after wait.
	Retry(r assay.Result, wait time.Duration)
	Note(text string)
}

// Summary is how a run ended. Missing counts trials and tasks without an
// outcome that belongs into a rate.
type Summary struct {
	Dir         string
	Planned     int
	Missing     int
	Interrupted bool
	Stopped     string
}

// minFree is the room below which nothing new is started.
const minFree = 256 << 20

// prepared is a run that can begin: everything was checked, nothing spent.
type prepared struct {
	req     assay.Request
	plan    assay.Plan
	load    *loader
	entries []suite.Entry
	sandbox Sandbox
}

// DryRun checks all that a run would and returns its plan.
func (f *Flow) DryRun(ctx context.Context, req assay.Request) (assay.Plan, error) {
	p, err := f.prepare(ctx, req, io.Discard)
	if err != nil {
		return assay.Plan{}, err
	}
	return p.plan, p.sandbox.Close(context.WithoutCancel(ctx))
}

func (f *Flow) prepare(ctx context.Context, req assay.Request, log io.Writer) (p prepared, err error) {
	p.req = req
	s, err := f.openSuite(req.Tasks)
	if err != nil {
		return p, err
	}
	entries, problems := s.Select(req.Task, req.Tier)
	all, _ := f.openVariants(req.VarDir)
	variants, vp := suite.SelectVariants(all, req.Variants)
	if err := append(problems, vp...).Err(); err != nil {
		return p, err
	}
	if p.sandbox, err = f.Sandbox(ctx, req.Sandbox, runID(req)); err != nil {
		return p, err
	}
	defer func() {
		if err != nil {
			_ = p.sandbox.Close(context.WithoutCancel(ctx))
		}
	}()
	p.req.Sandbox = p.sandbox.Name()
	entries = fit(entries, log)
	p.entries = entries
	p.load = f.loader(entries, variants, req)
	p.plan, err = plan.Make(f.planInput(entries, variants, p.req))
	return p, err
}

func (f *Flow) planInput(entries []suite.Entry, variants []suite.VariantEntry, req assay.Request) plan.Input {
	in := plan.Input{Request: req}
	for _, e := range entries {
		in.Tasks = append(in.Tasks, plan.TaskRef{Task: e.Task, Digest: e.Digest, Broken: cmp.Or(broken(e), homeless(e, req.Sandbox))})
	}
	for _, v := range variants {
		in.Variants = append(in.Variants, plan.VariantRef{Name: v.Variant.Name, Digest: v.Digest})
	}
	agents := f.agents()
	have := run.Credentials{}
	if f.Gateway != nil {
		have = f.Gateway.Credentials()
	}
	in.Check = func(t assay.Trial) assay.Problems {
		if a, ok := agents[t.Agent.Name]; ok {
			return a.Check(t, have)
		}
		return nil
	}
	in.Uses = f.UsesModels
	return in
}

// fit leaves out the tasks that validation refused, and says how many; a task
// that nobody has proven stays, as one that can't be run.
func fit(entries []suite.Entry, log io.Writer) []suite.Entry {
	kept := slices.DeleteFunc(slices.Clone(entries), func(e suite.Entry) bool { return e.Unfit() != "" && !e.Unproven() })
	if n := len(entries) - len(kept); n > 0 {
		_, _ = fmt.Fprintf(log, "%d of %d tasks are left out: validation rejected or quarantined them ('assay lint' says why)\n", n, len(entries))
	}
	return kept
}

// homeless says that a task names no image for a container to run in.
func homeless(e suite.Entry, sandbox string) string {
	env := e.Task.Environment
	if sandbox != "docker" || env.Image != "" || env.Dockerfile != "" || env.Shared != "" {
		return ""
	}
	return "the task names no environment (image, dockerfile or shared), and the suite has no environment/default; a container needs one"
}

func broken(e suite.Entry) string {
	if e.Unproven() && len(e.Problems) == 0 {
		return e.Unfit()
	}
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "; ")
}

// runID labels what the engine makes for a run: the same for the same results
// folder, so that a rerun can reap what a killed one left.
func runID(req assay.Request) string {
	abs, err := filepath.Abs(req.Out)
	if err != nil {
		abs = req.Out
	}
	sum := sha256.Sum256([]byte(abs))
	return hex.EncodeToString(sum[:6])
}

// Run runs what a request asks for and is not done yet. Soft ends it softly,
// ctx at once. The results are in the summary's folder whatever happens. A
// request that can't be run leaves no folder behind.
func (f *Flow) Run(ctx, soft context.Context, req assay.Request, p Progress) (Summary, error) {
	return f.RunShard(ctx, soft, req, Shard{}, p)
}

// RunShard is Run for one machine's part of the plan.
func (f *Flow) RunShard(ctx, soft context.Context, req assay.Request, s Shard, p Progress) (sum Summary, err error) {
	sum.Dir = req.Out
	ready, err := f.prepare(ctx, req, noteWriter{p})
	if err != nil {
		return sum, err
	}
	defer func() { _ = ready.sandbox.Close(context.WithoutCancel(ctx)) }()
	if ready.plan, err = s.Of(ready.plan); err != nil {
		return sum, err
	}
	l, err := ledger.Open(req.Out, f.Owner)
	if err != nil {
		return sum, err
	}
	defer func() {
		if e := l.Close(); err == nil {
			err = e
		}
	}()
	p.Note(ready.sandbox.Note)
	if err := f.savePlan(l, &ready); err != nil {
		return sum, err
	}
	if err := f.kits(ctx, ready, p); err != nil {
		return sum, err
	}
	return f.runPlan(ctx, soft, l, ready, p), nil
}

func (f *Flow) kits(ctx context.Context, ready prepared, p Progress) error {
	if f.Kits == nil {
		return nil
	}
	return f.Kits(ctx, ready.req.Agents, noteWriter{p})
}

type noteWriter struct{ p Progress }

func (w noteWriter) Write(b []byte) (int, error) {
	w.p.Note(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}

// savePlan writes what is to be run before anything runs. An earlier plan of
// the same folder is widened, never narrowed: its trials stay in the report.
func (f *Flow) savePlan(l *ledger.Ledger, ready *prepared) error {
	old, err := l.Plan()
	whole, strength := ready.plan, strengths(ready.entries)
	if err == nil {
		whole = union(old, ready.plan)
		keepStrengths(l, strength)
	}
	if err := l.SaveRun(ledger.Run{
		Schema: assay.RunSchema, Request: ready.req, Suite: suite.DigestOf(ready.entries),
		Version: f.Version, Started: f.Now().UTC(), Strength: strength,
	}); err != nil {
		return err
	}
	return l.SavePlan(whole)
}

func strengths(entries []suite.Entry) map[string]assay.Strength {
	out := map[string]assay.Strength{}
	for _, e := range entries {
		if e.Task.Strength != nil {
			out[e.Task.ID] = *e.Task.Strength
		}
	}
	return out
}

// keepStrengths adds what an earlier run of the same folder knew of tasks that
// this one leaves out: their trials stay in the report.
func keepStrengths(l *ledger.Ledger, into map[string]assay.Strength) {
	earlier, err := l.Run()
	if err != nil {
		return // the earlier run didn't come so far
	}
	for task, s := range earlier.Strength {
		if _, ok := into[task]; !ok {
			into[task] = s
		}
	}
}

// union adds the trials of an earlier plan that the new one says nothing of.
// What it asks for again with other inputs (a task, a variant or a limit was
// changed) is superseded: two versions of a task must never share a rate.
func union(old, now assay.Plan) assay.Plan {
	cells, tasks, variants := map[string]bool{}, map[string]string{}, map[string]string{}
	for _, t := range now.Trials {
		cells[cellOf(t)] = true
		tasks[t.Task], variants[t.Variant] = t.TaskDigest, t.VariantDigest
	}
	other := func(digests map[string]string, name, digest string) bool {
		d, ok := digests[name]
		return ok && d != digest
	}
	for _, t := range old.Trials {
		if !cells[cellOf(t)] && !other(tasks, t.Task, t.TaskDigest) && !other(variants, t.Variant, t.VariantDigest) {
			now.Trials = append(now.Trials, t)
		}
	}
	return now
}

// cellOf is a trial without the inputs that may change between two runs of
// the same command.
func cellOf(t assay.Trial) string {
	return fmt.Sprintf("%q %q %q %q %q %d", t.Task, t.Variant, t.Agent.Key(), t.Model, t.Effort, t.Repeat)
}

func (f *Flow) runPlan(ctx, soft context.Context, l *ledger.Ledger, ready prepared, p Progress) Summary {
	sum := Summary{Dir: l.Dir(), Planned: len(ready.plan.Trials)}
	runner := f.runner(l, ready, p)
	finishInterrupted(ctx, l, runner, ready)
	latest, _ := l.Latest()
	todo := slices.DeleteFunc(slices.Clone(ready.plan.Trials), func(t assay.Trial) bool { return latest[t.ID].Outcome.Final() })
	p.Planned(len(ready.plan.Trials), len(todo))
	bad, note := f.preflight(ctx, soft, ready, todo)
	if note != "" {
		p.Note(note)
	}
	opts := run.Options{
		Jobs: ready.req.Jobs, Retries: *ready.req.Retries, MaxCostUSD: ready.req.MaxCostUSD,
		SpentUSD: spent(l), Soft: soft.Done(), Load: ready.load.job,
	}
	todo, notRun := partUnfit(todo, bad)
	first, rest := ready.oracleFirst(todo)
	ended := runner.All(ctx, first, opts)
	if len(rest) > 0 && ended.Stopped == "" {
		latest, _ = l.Latest()
		var more []assay.Unrunnable
		rest, more = partUnfit(rest, ready.oracleFails(latest))
		notRun = append(notRun, more...)
	}
	f.excluded(l, notRun, p)
	if ended.Stopped == "" {
		ended = runner.All(ctx, rest, opts)
	}
	sum.Stopped = ended.Stopped
	sum.Interrupted = ended.Stopped == run.NotRunStopped || ctx.Err() != nil
	sum.Missing = missing(l, ready.plan)
	if ended.Stopped == run.NotRunDisk {
		p.Note("the disk of " + l.Dir() + " is nearly full; nothing more was started")
	}
	if ended.Stopped == run.NotRunBudget {
		p.Note(fmt.Sprintf("the budget of $%.2f is spent; nothing more was started", ready.req.MaxCostUSD))
	}
	return sum
}

func (f *Flow) runner(l *ledger.Ledger, ready prepared, p Progress) *run.Runner {
	r := &run.Runner{
		Sandbox: ready.sandbox.Sandbox, Agents: f.agents(), Gateway: f.Gateway, Outlet: f.Outlet, Patches: f.Patches,
		Grader: &grader{allowed: ready.load.referencePaths},
		Begin:  func(t assay.Trial) (run.Record, error) { return f.begin(l, t) },
		Run:    runID(ready.req), EarlyGrader: true, Now: f.Now, MinFree: minFree,
	}
	if p != nil {
		r.Events = events{p}
	}
	if f.Free != nil {
		r.Free = func() (int64, error) { return f.Free(l.Dir()) }
	}
	return r
}

// oracleFirst parts the oracle's trials from the others, where they answer
// whether a task can be run on this machine.
func (p prepared) oracleFirst(todo []assay.Trial) (first, rest []assay.Trial) {
	if p.req.Preflight == assay.PreflightNever || !hasOracle(p.req) {
		return nil, todo
	}
	wanted := p.preflighted()
	for _, t := range todo {
		if t.Agent.Name == oracle && wanted[t.Task] {
			first = append(first, t)
			continue
		}
		rest = append(rest, t)
	}
	return first, rest
}

// preflighted are the tasks whose reference has to pass before others run.
func (p prepared) preflighted() map[string]bool {
	out := map[string]bool{}
	for _, e := range p.entries {
		out[e.Task.ID] = preflightWants(p.req, e)
	}
	return out
}

// oracleFails are the preflighted tasks that the run's own oracle failed.
func (p prepared) oracleFails(latest map[string]assay.Result) map[string]unfit {
	bad, wanted := oracleFails(p.plan.Trials, latest), p.preflighted()
	maps.DeleteFunc(bad, func(task string, _ unfit) bool { return !wanted[task] })
	return bad
}

// excluded writes into the plan which of its trials this machine can't run,
// for the report.
func (f *Flow) excluded(l *ledger.Ledger, out []assay.Unrunnable, p Progress) {
	whole, err := l.Plan()
	if err != nil || len(out) == 0 {
		return
	}
	whole.NotRun = append(whole.NotRun, out...)
	if err := l.SavePlan(whole); err != nil {
		p.Note(fmt.Sprintf("the plan can't be written again, so that the report won't say why %d trials aren't run: %v", len(out), err))
	}
}

// begin begins an attempt whose files hold no secret of this machine.
func (f *Flow) begin(l *ledger.Ledger, t assay.Trial) (run.Record, error) {
	rec, err := begin(l, t)
	if err != nil || f.Hide == nil {
		return rec, err
	}
	return masked{Record: rec, mask: f.Hide}, nil
}

// begin keeps a nil attempt from becoming a non-nil Record.
func begin(l *ledger.Ledger, t assay.Trial) (run.Record, error) {
	a, err := l.Begin(t)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// events passes on what a door shows.
type events struct{ Progress }

func (events) Spent(float64, assay.Tokens) {}

// referencePaths are the paths that a task's reference changes.
func (l *loader) referencePaths(task string) []string {
	t, err := l.entries[task].Solution()
	if err != nil {
		return nil
	}
	return t.Paths()
}

// finishInterrupted grades attempts whose process died between the agent's
// end and the result: what the agent did is not lost. One that left nothing to
// grade stays as it is, and its trial runs again.
func finishInterrupted(ctx context.Context, l *ledger.Ledger, r *run.Runner, ready prepared) {
	left, _ := l.Interrupted()
	planned := map[string]assay.Trial{}
	for _, t := range ready.plan.Trials {
		planned[t.Dir()] = t
	}
	for _, a := range left {
		t, ok := planned[filepath.Base(filepath.Dir(filepath.Dir(a.Dir)))]
		if !ok || ctx.Err() != nil {
			continue
		}
		if job, err := ready.load.job(ctx, t); err == nil {
			_, _ = r.Regrade(ctx, job, &a)
		}
	}
}

// spent is what all attempts so far cost, as far as it is known.
func spent(l *ledger.Ledger) float64 {
	all, _ := l.Results()
	var usd float64
	for _, r := range all {
		c, _ := r.Cost()
		usd += c
	}
	return usd
}

// missing counts planned trials without a final outcome, and what could not
// be planned.
func missing(l *ledger.Ledger, p assay.Plan) int {
	latest, _ := l.Latest()
	n := 0
	for _, u := range p.NotRun {
		if u.Trial == "" { // else it is among the trials
			n++
		}
	}
	for _, t := range p.Trials {
		if !latest[t.ID].Outcome.Final() {
			n++
		}
	}
	return n
}

// WritePlan prints a plan and its size for a person: one line per cell with
// its repeats.
func WritePlan(w io.Writer, p assay.Plan) error {
	type cell struct {
		text string
		n    int
	}
	index := map[string]int{}
	var cells []cell
	for _, t := range p.Trials {
		text := strings.Join(nonEmpty(t.Task, t.Agent.Key(), t.Model, t.Effort, t.Variant), "  ")
		i, ok := index[text]
		if !ok {
			i = len(cells)
			index[text] = i
			cells = append(cells, cell{text: text})
		}
		cells[i].n++
	}
	sort.SliceStable(cells, func(i, j int) bool { return cells[i].text < cells[j].text })
	var b strings.Builder
	for _, c := range cells {
		fmt.Fprintf(&b, "%4dx  %s\n", c.n, c.text)
	}
	for _, u := range p.NotRun {
		fmt.Fprintf(&b, "can't run  %s: %s\n", u.Task, u.Reason)
	}
	fmt.Fprintf(&b, "%d trials in %d cells; %d can't be run. Nothing was run.\n", len(p.Trials), len(cells), len(p.NotRun))
	_, err := io.WriteString(w, b.String())
	return err
}

func nonEmpty(words ...string) []string {
	return slices.DeleteFunc(words, func(s string) bool { return s == "" })
}
