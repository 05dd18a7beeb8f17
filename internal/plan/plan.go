// Package plan multiplies tasks, variants, agents, models, efforts and repeats
// into trials. It is pure: the same input gives the same plan, in the same
// order. It never reads a file and never drops a cell in silence: what can't
// run stands in the plan's NotRun with its reason.
package plan

import (
	"fmt"

	"github.com/assaybot/assay/internal/assay"
)

// TaskRef is one task of the suite. Broken, when it isn't empty, says why it
// can't run.
type TaskRef struct {
	Task   assay.Task
	Digest string
	Broken string
}

// VariantRef is one instruction variant with the digest of all its files.
type VariantRef struct {
	Name   string
	Digest string
}

// Input is all that a plan is made of.
type Input struct {
	Tasks    []TaskRef
	Variants []VariantRef
	Request  assay.Request
	// Check says what can't work for a trial (nil: everything can). Its
	// problems are a person's mistakes and stop the plan.
	Check func(assay.Trial) assay.Problems
	// Uses tells whether an agent, by name, takes a model; the others are
	// not multiplied by models and efforts. Nil: every agent does.
	Uses func(agent string) bool
}

// DefaultSandbox is where trials run when the request doesn't say.
const DefaultSandbox = "docker"

// Make multiplies the input. Repeats are the outermost loop, so that an
// interrupted run has about as many repeats of every cell. The error holds
// all faults at once (assay.Problems).
func Make(in Input) (assay.Plan, error) {
	var plan assay.Plan
	faults := newFaults()
	faults.agents(in.Request.Agents)
	for _, t := range in.Tasks {
		if t.Broken != "" {
			plan.NotRun = append(plan.NotRun, assay.Unrunnable{Task: t.Task.ID, Reason: t.Broken})
		}
	}
	cells := in.cells()
	for repeat := 1; repeat <= max(1, in.Request.Repeats); repeat++ {
		for _, t := range cells {
			t.Repeat = repeat
			t.ID = assay.TrialID(t)
			if repeat == 1 && in.Check != nil {
				faults.add(in.Check(t))
			}
			plan.Trials = append(plan.Trials, t)
		}
	}
	if err := faults.list.Err(); err != nil {
		return assay.Plan{}, err
	}
	return plan, nil
}

// cells are the trials of one repeat.
func (in Input) cells() []assay.Trial {
	var out []assay.Trial
	for _, task := range in.Tasks {
		if task.Broken != "" {
			continue
		}
		for _, v := range in.variants() {
			out = append(out, in.agentCells(in.trial(task, v))...)
		}
	}
	return out
}

func (in Input) trial(task TaskRef, v VariantRef) assay.Trial {
	sandbox := in.Request.Sandbox
	if sandbox == "" {
		sandbox = DefaultSandbox
	}
	return assay.Trial{
		Task: task.Task.ID, TaskDigest: task.Digest,
		Variant: v.Name, VariantDigest: v.Digest,
		Limits:  in.Request.Limits.Or(task.Task.Limits).Or(assay.DefaultLimits()),
		Sandbox: sandbox,
	}
}

func (in Input) agentCells(t assay.Trial) []assay.Trial {
	var out []assay.Trial
	for _, agent := range in.Request.Agents {
		models, efforts := distinct(in.Request.Models), distinct(in.Request.Efforts)
		if in.Uses != nil && !in.Uses(agent.Name) {
			models, efforts = []string{""}, []string{""}
		}
		for _, model := range models {
			for _, effort := range efforts {
				t.Agent, t.Model, t.Effort = agent, model, effort
				out = append(out, t)
			}
		}
	}
	return out
}

func (in Input) variants() []VariantRef {
	if len(in.Variants) == 0 {
		return []VariantRef{{Name: assay.Baseline}}
	}
	return in.Variants
}

// distinct keeps the first of equal words; an empty list is one empty word,
// the agent's own default.
func distinct(words []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, w := range words {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

// faults collects problems, each text once.
type faults struct {
	seen map[assay.Problem]bool
	list assay.Problems
}

func newFaults() *faults { return &faults{seen: map[assay.Problem]bool{}} }

func (f *faults) add(ps assay.Problems) {
	for _, p := range ps {
		if !f.seen[p] {
			f.seen[p] = true
			f.list = append(f.list, p)
		}
	}
}

// agents finds agents that reports couldn't tell apart.
func (f *faults) agents(specs []assay.AgentSpec) {
	if len(specs) == 0 {
		f.add(assay.Problems{{Text: "the run names no agent; name at least one, such as oracle"}})
	}
	seen := map[string]bool{}
	for _, s := range specs {
		if seen[s.Key()] {
			f.add(assay.Problems{{Text: fmt.Sprintf("two agents are called %q; give one of them a label", s.Key())}})
		}
		seen[s.Key()] = true
	}
}

// Shard is the part of p that machine index (from 0) of count machines runs.
// The parts are disjoint, and together they are p; NotRun stays with the
// first.
func Shard(p assay.Plan, index, count int) (assay.Plan, error) {
	if count < 1 || index < 0 || index >= count {
		return assay.Plan{}, assay.Userf("shard %d of %d doesn't exist; shards count from 0", index, count)
	}
	var out assay.Plan
	for i, t := range p.Trials {
		if i%count == index {
			out.Trials = append(out.Trials, t)
		}
	}
	if index == 0 {
		out.NotRun = p.NotRun
	}
	return out, nil
}
