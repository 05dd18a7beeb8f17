package agent

import (
	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// oracle lays the reference solution over the workspace: every check must
// pass.
type oracle struct{}

var _ run.Agent = oracle{}

func (oracle) Name() string { return Oracle }

func (oracle) Check(t assay.Trial, _ run.Credentials) assay.Problems {
	var ps assay.Problems
	noModel(t, &ps)
	return ps
}

func (oracle) Invoke(in run.Invocation) (run.Launch, error) {
	if len(in.Solution) == 0 {
		return run.Launch{}, assay.Userf("task %s has no reference solution for the oracle: put it into solution/", in.Task.ID)
	}
	return run.Launch{Overlay: in.Solution, NoProgram: true, Parser: &textParser{ending: "success"}}, nil
}

// nop changes nothing: the checks must fail.
type nop struct{}

var _ run.Agent = nop{}

func (nop) Name() string { return Nop }

func (nop) Check(t assay.Trial, _ run.Credentials) assay.Problems {
	var ps assay.Problems
	noModel(t, &ps)
	return ps
}

func (nop) Invoke(run.Invocation) (run.Launch, error) {
	return run.Launch{Overlay: tree.Tree{}, NoProgram: true, Parser: &textParser{ending: "success"}}, nil
}
