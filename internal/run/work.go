package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// work opens the agent's box, has the agent work in it, reads the workspace
// and removes the box. When it returns, nothing of the agent is alive.
func (a *attempt) work(ctx context.Context) (left leftover, err error) {
	agent, ok := a.r.Agents[a.job.Trial.Agent.Name]
	if !ok {
		return left, a.never("finding the agent", fmt.Errorf("there is no agent %q", a.job.Trial.Agent.Name))
	}
	launch, err := agent.Invoke(a.invocation())
	if err != nil {
		return left, a.never("preparing the agent", err)
	}
	left.start = tree.Over(a.base, a.job.Overlay)
	session, err := a.openSession(launch)
	if err != nil {
		return left, err
	}
	defer session.close()
	a.openWay(session, launch)
	box, repo, err := a.openAgent(ctx, launch, session, left.start)
	if err != nil {
		return left, err
	}
	defer closeBox(ctx, box)
	a.facts.Sandbox = box.Facts()
	if launch.NoProgram {
		err = a.layOver(ctx, box, launch, &left)
	} else {
		err = a.launch(ctx, program{agent: agent, box: box, repo: repo, session: session}, &left)
	}
	session.close()
	a.facts.Model, a.facts.Refused = session.calls(), session.refused()
	if err != nil {
		return left, err
	}
	return left, a.phase("collect", func() error { return a.take(ctx, box, &left) })
}

// never is a failure that another attempt can't mend.
func (a *attempt) never(doing string, err error) error {
	return &assay.InfraError{Kind: assay.InfraSandbox, Doing: doing, Err: err, Permanent: true}
}

func (a *attempt) invocation() Invocation {
	return Invocation{
		Trial: a.job.Trial, Task: a.job.Task, Prompt: a.job.Prompt, System: a.job.System,
		Limits: a.limits(), Solution: a.job.Solution,
	}
}

// openAgent makes the box and, beside it, the repository that goes into it.
// Without program and setup nobody looks at a repository, so none is made.
func (a *attempt) openAgent(ctx context.Context, l Launch, s *session, start tree.Tree) (box Box, repo tree.Tree, err error) {
	spec := a.spec("agent")
	spec.Kits, spec.Model = l.Kits, s.handler()
	err = a.phase("prepare", func() error {
		return together(
			func() (err error) {
				box, err = a.r.Sandbox.Open(ctx, spec)
				return assay.Infra(assay.InfraSandbox, "opening the agent's box", err)
			},
			func() (err error) {
				if l.NoProgram && len(a.job.Task.Environment.Setup) == 0 {
					return nil
				}
				repo, err = a.r.repos.get(ctx, start, a.r.Patches.Repository)
				return assay.Infra(assay.InfraSandbox, "making the agent's repository", err)
			})
	})
	if err != nil {
		closeBox(ctx, box)
		return nil, nil, err
	}
	return box, repo, nil
}

// layOver does the work of a reference agent: its files, put the way the
// agent's own would lie there.
func (a *attempt) layOver(ctx context.Context, box Box, l Launch, left *leftover) error {
	want := Overlaid(left.start, l.Overlay)
	if len(a.job.Task.Environment.Setup) == 0 {
		left.prepared = left.start
		return a.phase("agent", func() error { return put(ctx, box, WorkDir, true, want) })
	}
	if err := a.furnish(ctx, box, nil, left); err != nil {
		return err
	}
	return a.phase("agent", func() error { return place(ctx, box, left.start, want) })
}

// Overlaid is start with a reference solution over it, without the files that
// its list deletes.
func Overlaid(start, solution tree.Tree) tree.Tree {
	list, ok := solution[DeletedList]
	if !ok {
		return tree.Over(start, solution)
	}
	solution = solution.Clone()
	delete(solution, DeletedList)
	out := tree.Over(start, solution)
	for p := range strings.Lines(string(list.Data)) {
		p = strings.TrimRight(p, "\r\n")
		delete(out, p)
	}
	return out
}

// furnish puts the workspace with its repository into the box, runs setup,
// and notes what setup made, since that is not the agent's work.
func (a *attempt) furnish(ctx context.Context, box Box, repo tree.Tree, left *leftover) error {
	if err := put(ctx, box, WorkDir, true, tree.Over(left.start, repo)); err != nil {
		return err
	}
	left.prepared = left.start
	env := a.job.Task.Environment
	if len(env.Setup) == 0 {
		return nil
	}
	failed, err := setup(ctx, box, env.Setup, Command{Env: a.env(box)})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	if failed != "" {
		return &assay.InfraError{Kind: assay.InfraSandbox, Doing: "running setup", Err: errors.New(failed)}
	}
	made, _, err := fetch(ctx, box, WorkDir, a.limits().WorkspaceMB)
	if err != nil {
		return assay.Infra(assay.InfraSandbox, "reading the workspace after setup", err)
	}
	left.prepared, _ = a.r.Patches.WithoutGit(made)
	return nil
}

// take reads what the agent left, and then removes the box: nothing of the
// agent may be alive when a hidden file enters another one.
func (a *attempt) take(ctx context.Context, box Box, left *leftover) (err error) {
	left.tree, left.special, err = fetch(ctx, box, WorkDir, a.limits().WorkspaceMB)
	if tooLarge(err) {
		a.facts.TooLarge, err = true, nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return assay.Infra(assay.InfraSandbox, "reading the workspace", err)
	}
	closing, cancel := shielded(ctx)
	defer cancel()
	return assay.Infra(assay.InfraSandbox, "removing the agent's box", box.Close(closing))
}

// together runs functions at the same time and waits for all; it gives the
// first error in their order.
func together(fns ...func() error) error {
	errs := make([]error, len(fns))
	done := make(chan struct{})
	for i, f := range fns[1:] {
		go func() {
			defer func() { done <- struct{}{} }()
			errs[i+1] = safely(f)
		}()
	}
	errs[0] = safely(fns[0])
	for range fns[1:] {
		<-done
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// create makes a raw file of the attempt.
func (a *attempt) create(name string) (io.WriteCloser, error) {
	w, err := a.rec.Create(name)
	return w, assay.Infra(assay.InfraDisk, "making "+name, err)
}
