package flow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/grade"
	"github.com/assaybot/assay/internal/tree"
)

// baseRun runs the base as it is, once, without any test of the change: the
// tests that fail there already are listed. With the whole suite it is also
// where files that take too long, or tell nothing, are found and dropped.
func (p *prover) baseRun(ctx context.Context, out *proven) error {
	p.runs["base"] = 0
	a := arm{name: "base", tree: p.job.Workspace, steps: p.baseSteps()}
	if len(a.steps) == 0 {
		return nil // the base has none of the tests
	}
	o, err := p.see(ctx, a)
	if err != nil {
		return err
	}
	p.noteFailing(o)
	for _, s := range a.steps {
		if why, lost := o.lost[s.Part]; lost {
			if err := p.narrow(ctx, s, why); err != nil {
				return err
			}
		}
	}
	p.refit()
	out.validation.BaseFailing = slices.Sorted(maps.Keys(p.failing))
	return nil
}

// noteFailing keeps which tests of the base fail.
func (p *prover) noteFailing(o observation) {
	for id, s := range o.Tests {
		if s == assay.TestFailed || s == assay.TestError {
			p.failing[id] = true
		}
	}
}

// baseSteps are the steps that the base can run: without test files that the
// change adds, and with the time of one file for each shard, so that whatever
// ends in it holds no file that is too slow.
func (p *prover) baseSteps() []grade.Step {
	out := make([]grade.Step, 0, len(p.obs.steps))
	for _, s := range p.obs.steps {
		if s.Part > 0 {
			s.Timeout = time.Duration(s.Check.FileSec) * time.Second
		}
		if s, ok := baseStep(s, p.job.Workspace, p.before); ok {
			out = append(out, s)
		}
	}
	return out
}

// baseStep is a step without the test files that only after has; ok is false
// when it names no other. Words that are no files stay.
func baseStep(s grade.Step, base, after tree.Tree) (grade.Step, bool) {
	gone := func(w string) bool { return has(after, w) && !has(base, w) }
	words, command := s.Words, s.Check.Command
	if slices.ContainsFunc(words, gone) {
		words = slices.DeleteFunc(slices.Clone(words), gone)
		return s.With(words), len(words) > 0
	}
	if !slices.ContainsFunc(command, gone) {
		return s, true
	}
	s.Check.Command = slices.DeleteFunc(slices.Clone(command), gone)
	return s, slices.ContainsFunc(s.Check.Command, func(w string) bool { return has(base, w) })
}

// narrow finds the files of a shard that tell nothing, by halves, and drops
// them.
func (p *prover) narrow(ctx context.Context, s grade.Step, why string) error {
	if len(s.Words) == 1 {
		p.dropped[s.Words[0]] = why
		return nil
	}
	half := len(s.Words) / 2
	for _, words := range [][]string{s.Words[:half], s.Words[half:]} {
		part := s.With(words)
		o, err := p.see(ctx, arm{name: "narrow", tree: p.job.Workspace, steps: []grade.Step{part}})
		if err != nil {
			return err
		}
		if why, lost := o.lost[s.Part]; lost {
			if err := p.narrow(ctx, part, why); err != nil {
				return err
			}
			continue
		}
		p.noteFailing(o)
	}
	return nil
}

// refit makes the steps anew, without what was dropped.
func (p *prover) refit() {
	p.task.Validation = &assay.Validation{Dropped: p.dropped}
	p.obs.steps = grade.Steps(p.task)
}

// forget drops the shards that an observation lost, though the base ran them:
// none of their tests can be told from a flaky one.
func (p *prover) forget(o observation) {
	if len(o.lost) == 0 {
		return
	}
	for _, s := range p.obs.steps {
		if why, lost := o.lost[s.Part]; lost {
			for _, w := range s.Words {
				p.dropped[w] = fmt.Sprintf("in the run %q: %s", o.Arm, why)
			}
		}
	}
	for _, seen := range slices.Concat(p.befores, p.afters, p.probes, []observation{o}) {
		maps.DeleteFunc(seen.Tests, func(id string, _ assay.TestStatus) bool { _, lost := o.lost[seen.part[id]]; return lost })
	}
	p.refit()
}

// ownTests are those of ids that the change's own test files hold. Which hunk
// they notice is the task's strength; the rest of the suite was there before.
func (p *prover) ownTests(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return p.afters[0].part[id] > 0 })
}
