package flow

import (
	"fmt"
	"syscall"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// wrongPlatform tells a machine that isn't of the task's platform. Programs
// of another one might run by emulation there, but with other figures.
func wrongPlatform(t assay.Task, h Host) unfit {
	want := t.Environment.Platform
	if want == "" || h.Platform == "" || want == h.Platform {
		return unfit{}
	}
	return unfit{assay.ReasonPlatform, fmt.Sprintf("%s: the task is for %s, this machine is %s", assay.ReasonPlatform, want, h.Platform)}
}

// isIllegal tells a program that ended by an instruction that the processor
// lacks, also when a shell told of it.
func isIllegal(x run.Exit) bool {
	return x.Signal == int(syscall.SIGILL) || x.Code == 128+int(syscall.SIGILL)
}

// foreignProcessor is about a proof on a processor that lacks an instruction:
// it says nothing of the task. What an agent's own work ends by is another
// matter; preflight has tried the reference on the machine before.
func foreignProcessor(arm string) error {
	return &assay.InfraError{
		Kind: assay.InfraSandbox, Doing: fmt.Sprintf("running the tests (%s)", arm), Permanent: true,
		Err: fmt.Errorf("a program ended by SIGILL: the image holds instructions that this machine's processor lacks; prove the task on another one, or rebuild its image here"),
	}
}

// drifted turns the failure to build what was proven with the very same files
// before into what it is.
func (p *proven) drifted(old *assay.Validation, digest string) {
	if p.Reason != assay.ReasonBuildFailed || old == nil || old.Digest != digest || old.Status != string(assay.StatusValid) {
		return
	}
	p.Reason = assay.ReasonBuildDrift
	p.validation.Reason, p.validation.Status = string(p.Reason), status(p.Reason)
	p.validation.Detail = "the same files could be built before (" + old.When.Format("2006-01-02") + ")\n" + p.validation.Detail
}
