package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/suite"
)

// oracle is the reference agent that lays a task's solution down.
const oracle = "oracle"

// preflightAge is how long an answer holds: dependencies, the clock and the
// machine drift.
const preflightAge = 24 * time.Hour

// unfit is why a task can't be run on this machine; the zero value is a task
// that can.
type unfit struct {
	Kind   assay.Reason `json:"kind,omitempty"`
	Reason string       `json:"reason,omitempty"`
}

// remembered is an answer on disk.
type remembered struct {
	unfit
	Task string    `json:"task"`
	When time.Time `json:"when"`
}

// preflight tries references before anything else is started.
type preflight struct {
	f     *Flow
	ready prepared
	mu    sync.Mutex
	known int
	tried int
	unfit map[string]unfit
}

// preflight tries the references of the tasks that have trials to run, and
// says which tasks can't be run on this machine. Where the oracle is one of
// the run's agents, its own trials answer that (see runPlan), and only what a
// glance tells is told here.
func (f *Flow) preflight(ctx context.Context, soft context.Context, ready prepared, todo []assay.Trial) (map[string]unfit, string) {
	p := &preflight{f: f, ready: ready, unfit: map[string]unfit{}}
	var group errgroup.Group
	group.SetLimit(max(1, ready.req.Jobs))
	for _, e := range ready.entries {
		if !p.wants(e) || !slices.ContainsFunc(todo, func(t assay.Trial) bool { return t.Task == e.Task.ID }) {
			continue
		}
		if why := misfit(e.Task, ready.sandbox.Host); why.Kind != "" {
			p.unfit[e.Task.ID] = why
			continue
		}
		if hasOracle(ready.req) {
			continue
		}
		group.Go(func() error {
			if ctx.Err() == nil && soft.Err() == nil {
				p.try(ctx, e)
			}
			return nil
		})
	}
	_ = group.Wait() // tries tell their failures by p.unfit
	return p.unfit, p.note()
}

func hasOracle(req assay.Request) bool {
	return slices.ContainsFunc(req.Agents, func(a assay.AgentSpec) bool { return a.Name == oracle })
}

// wants tells whether a task is to be tried.
func (p *preflight) wants(e suite.Entry) bool { return preflightWants(p.ready.req, e) }

func preflightWants(req assay.Request, e suite.Entry) bool {
	switch v := e.Task.Validation; req.Preflight {
	case assay.PreflightNever:
		return false
	case assay.PreflightAlways:
		return true
	default:
		return v != nil && v.Status == string(assay.StatusValid)
	}
}

// misfit tells a machine on which a task can't be run, at a glance.
func misfit(t assay.Task, h Host) unfit {
	if why := wrongPlatform(t, h); why.Kind != "" {
		return why
	}
	return tooSmall(t, h)
}

// tooSmall tells a machine that has less than the task was seen to need.
func tooSmall(t assay.Task, h Host) unfit {
	if t.Validation == nil || t.Validation.Needs == nil {
		return unfit{}
	}
	need := t.Validation.Needs
	switch {
	case h.MemoryMB > 0 && need.MemoryMB > h.MemoryMB:
		return unfit{assay.ReasonTooSmall, fmt.Sprintf("%s: its tests needed %d MB of memory, this machine has %d", assay.ReasonTooSmall, need.MemoryMB, h.MemoryMB)}
	case h.CPUs > 0 && need.CPUs > h.CPUs:
		return unfit{assay.ReasonTooSmall, fmt.Sprintf("%s: it was proven with %g processors, this machine has %g", assay.ReasonTooSmall, need.CPUs, h.CPUs)}
	}
	return unfit{}
}

// try runs a task's reference, unless this machine did so within a day. A
// failure of the machinery says nothing; the trials will meet it themselves.
func (p *preflight) try(ctx context.Context, e suite.Entry) {
	job, err := p.f.taskJob(ctx, e)
	if err != nil || len(job.Solution) == 0 {
		return
	}
	image, err := p.ready.sandbox.Prepare(ctx, e.Task.Environment, job.Build, io.Discard)
	if err != nil {
		return
	}
	limits := p.ready.req.Limits.Or(e.Task.Limits).Or(assay.DefaultLimits())
	name := p.file(e, image, limits)
	if why, ok := p.recall(name); ok {
		p.answer(e.Task.ID, why, true)
		return
	}
	res := p.f.tryReference(ctx, p.ready, job, limits)
	if !res.Outcome.InRate() {
		return
	}
	why := unfit{}
	if !res.Resolved {
		why = goldFailsHere(res)
	}
	p.remember(name, e.Task.ID, why)
	p.answer(e.Task.ID, why, false)
}

func goldFailsHere(r assay.Result) unfit {
	first, _, _ := strings.Cut(r.Detail, "\n")
	return unfit{assay.ReasonGoldFailsHere, fmt.Sprintf("%s: the reference solution doesn't pass on this machine (%s: %s)", assay.ReasonGoldFailsHere, r.Outcome, first)}
}

func (p *preflight) answer(task string, why unfit, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tried++; known {
		p.known++
	}
	if why.Kind != "" {
		p.unfit[task] = why
	}
}

// note tells a person what was done, "" when nothing was.
func (p *preflight) note() string {
	if p.tried == 0 && len(p.unfit) == 0 {
		return ""
	}
	text := fmt.Sprintf("preflight: the references of %d tasks were tried on this machine (%d known from today)", p.tried, p.known)
	if len(p.unfit) > 0 {
		text += fmt.Sprintf("; not run, because of the machine: %s", strings.Join(slices.Sorted(maps.Keys(p.unfit)), ", "))
	}
	return text
}

// tryReference attempts a task by its reference, and keeps nothing.
func (f *Flow) tryReference(ctx context.Context, ready prepared, job run.Job, limits assay.Limits) assay.Result {
	job.Trial = assay.Trial{
		Task: job.Task.ID, TaskDigest: job.Digests.Task, Variant: assay.Baseline,
		Agent: assay.AgentSpec{Name: oracle}, Limits: limits, Sandbox: ready.sandbox.Name(),
	}
	job.Trial.ID = assay.TrialID(job.Trial)
	r := &run.Runner{
		Sandbox: ready.sandbox.Sandbox, Agents: f.agents(), Patches: f.Patches, Now: f.Now, Run: runID(ready.req),
		Grader: &grader{allowed: ready.load.referencePaths},
		Begin:  func(assay.Trial) (run.Record, error) { return newMemory(), nil }, EarlyGrader: true,
	}
	return r.Attempt(ctx, job)
}

// file is where the answer for a task, an image and a machine is kept; "" for
// nowhere.
func (p *preflight) file(e suite.Entry, image run.Image, limits assay.Limits) string {
	if p.f.CacheDir == "" {
		return ""
	}
	s := p.ready.sandbox
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%+v\n%+v\n%s", e.Digest, image.Digest, s.Name(), s.Host, limits, p.f.Version))
	return filepath.Join(p.f.CacheDir, "preflight", hex.EncodeToString(sum[:16])+".json")
}

func (p *preflight) recall(name string) (unfit, bool) {
	if name == "" || p.ready.req.Preflight == assay.PreflightAlways {
		return unfit{}, false
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return unfit{}, false
	}
	var r remembered
	if err := json.Unmarshal(data, &r); err != nil {
		return unfit{}, false
	}
	age := p.f.Now().Sub(r.When)
	return r.unfit, age >= 0 && age < preflightAge
}

// remember keeps an answer. Where it can't, the next run asks again.
func (p *preflight) remember(name, task string, why unfit) {
	if name == "" || os.MkdirAll(filepath.Dir(name), 0o755) != nil {
		return
	}
	_ = disk.WriteJSON(name, remembered{why, task, p.f.Now().UTC()})
}

// partUnfit parts trials from those of tasks that can't be run here, which it
// returns as such, one by one: they stay in the plan.
func partUnfit(trials []assay.Trial, bad map[string]unfit) (kept []assay.Trial, out []assay.Unrunnable) {
	for _, t := range trials {
		why, is := bad[t.Task]
		if !is {
			kept = append(kept, t)
			continue
		}
		out = append(out, assay.Unrunnable{
			Trial: t.ID, Task: t.Task, Agent: t.Agent.Key(), Variant: t.Variant, Kind: why.Kind, Reason: why.Reason,
		})
	}
	return kept, out
}

// oracleFails are the tasks of which every finished trial of the oracle
// failed.
func oracleFails(trials []assay.Trial, latest map[string]assay.Result) map[string]unfit {
	bad, passed := map[string]unfit{}, map[string]bool{}
	for _, t := range trials {
		r, ok := latest[t.ID]
		if t.Agent.Name != oracle || !ok || !r.Outcome.InRate() {
			continue
		}
		if r.Resolved {
			passed[t.Task] = true
			continue
		}
		bad[t.Task] = goldFailsHere(r)
	}
	maps.DeleteFunc(bad, func(task string, _ unfit) bool { return passed[task] })
	return bad
}
