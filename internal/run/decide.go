package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// Seen is all that is known of an attempt when it is judged.
type Seen struct {
	Agent  assay.AgentFacts
	Model  assay.ModelCalls
	Checks []assay.CheckResult
	// Err is a failure of the machinery, nil when it worked.
	Err error
	// Cancelled: the run was stopped from outside.
	Cancelled bool
	// OOM and TooLarge: see Facts.
	OOM, TooLarge bool
}

// Verdict is what an attempt counts as.
type Verdict struct {
	Outcome   assay.Outcome
	Limit     assay.LimitKind
	Infra     assay.InfraKind
	Permanent bool
	Detail    string
}

// into writes the verdict to a result.
func (v Verdict) into(r *assay.Result) {
	r.Outcome, r.Limit, r.Infra, r.Permanent, r.Detail = v.Outcome, v.Limit, v.Infra, v.Permanent, v.Detail
	r.Resolved, r.Score = v.Outcome == assay.Passed, 0
	if r.Resolved {
		r.Score = 1
	}
}

// What stopped an agent's program (AgentFacts.Stopped).
const (
	StoppedFirst  = "first_event"
	StoppedIdle   = "idle"
	StoppedTotal  = "total"
	StoppedEnd    = "after_end"
	StoppedCancel = "cancelled"
)

// The terminal words of an agent's stream (AgentFacts.Ending).
const (
	EndSuccess = "success"
	EndError   = "error"
	EndTurns   = "max_turns"
	EndCost    = "max_cost"
	EndContext = "context"
	EndRefused = "refused"
)

// Decide says what an attempt counts as. First come the causes that make the
// checks say nothing about the agent (cancelled, machinery, model API), then
// tampering, then the checks: work that passes counts as passed even when a
// limit or an odd exit ended it, with the limit on record. Only then does the
// way it ended name the failure.
func Decide(s Seen) Verdict {
	limit := limitOf(s)
	if v, ok := machinery(s); ok {
		v.Limit = limit
		return v
	}
	if s.TooLarge {
		return Verdict{Outcome: assay.Failed, Limit: limit, Detail: "the workspace is larger than its limit; nothing was graded"}
	}
	if v, ok := checksOf(s.Checks); ok {
		v.Limit = limit
		return v
	}
	v := ending(s, limit)
	v.Limit = limit
	return v
}

// machinery tells whether something other than the agent failed.
func machinery(s Seen) (Verdict, bool) {
	var infra *assay.InfraError
	switch {
	case s.Cancelled:
		return Verdict{Outcome: assay.Cancelled, Detail: "the run was stopped"}, true
	case errors.As(s.Err, &infra):
		return Verdict{Outcome: assay.InfraFail, Infra: infra.Kind, Permanent: infra.Permanent, Detail: s.Err.Error()}, true
	case s.Err != nil && errors.Is(s.Err, context.Canceled):
		return Verdict{Outcome: assay.Cancelled, Detail: s.Err.Error()}, true
	case s.Err != nil:
		return Verdict{Outcome: assay.InfraFail, Infra: assay.InfraSandbox, Detail: s.Err.Error()}, true
	case illegal(s):
		return Verdict{Outcome: assay.InfraFail, Infra: assay.InfraSandbox, Permanent: true,
			Detail: "the agent's program ended with an illegal instruction before a model said anything: it is built for another processor than this machine's"}, true
	}
	return apiFailure(s)
}

// illegalExit is the exit status of a program that SIGILL ended.
const illegalExit = 128 + 4

// illegal tells an agent's program that this machine's processor can't run.
// Once a model has spoken, it may be the agent's own doing.
func illegal(s Seen) bool {
	a := s.Agent
	return a.Exit != nil && *a.Exit == illegalExit && a.Turns == 0 && s.Model.Seen && s.Model.Replies == 0
}

// apiFailure tells whether the model's API ended the attempt. The gateway's
// account outranks the program's own words.
func apiFailure(s Seen) (Verdict, bool) {
	if s.Model.Budget || s.Agent.Ending == EndContext {
		return Verdict{}, false
	}
	if s.Model.Seen {
		return gatewayFailure(s)
	}
	errs := s.Agent.APIErrors
	silent := s.Agent.Ending == "" && s.Agent.Turns == 0
	if len(errs) == 0 || (s.Agent.Ending != EndError && !silent) {
		return Verdict{}, false
	}
	return apiVerdict(errs[len(errs)-1].Status, errs), true
}

func gatewayFailure(s Seen) (Verdict, bool) {
	m := s.Model
	bad := m.Last == 0 || m.Last >= http.StatusBadRequest
	open := s.Agent.Ending == EndError || s.Agent.Ending == "" && !quiet(s.Agent)
	switch {
	case m.Calls == 0:
		return Verdict{}, false
	case m.Replies == 0, bad && open && len(m.Errors) > 0:
		return apiVerdict(m.Last, m.Errors), true
	case s.Agent.Stopped == StoppedIdle && unanswered(m):
		return apiVerdict(0, m.Errors), true
	}
	return Verdict{}, false
}

// quiet tells whether a program without a terminal event ended as if all was
// well.
func quiet(a assay.AgentFacts) bool { return a.Stopped == "" && a.Exit != nil && *a.Exit == 0 }

// unanswered tells whether a call was still open at the end.
func unanswered(m assay.ModelCalls) bool {
	done := m.Replies
	for _, e := range m.Errors {
		done += e.Count
	}
	return m.Calls > done
}

func apiVerdict(status int, errs []assay.APIError) Verdict {
	v := Verdict{Outcome: assay.InfraFail, Infra: assay.InfraAPI, Permanent: permanent(status)}
	v.Detail = "the model's API did not answer"
	if status != 0 {
		v.Detail = fmt.Sprintf("the model's API answered with status %d", status)
	}
	if len(errs) > 0 && errs[len(errs)-1].Message != "" {
		v.Detail += ": " + clip(errs[len(errs)-1].Message, 500)
	}
	return v
}

// permanent are the answers that another attempt gets again.
func permanent(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return true
	}
	return false
}

// checksOf is the verdict where the checks alone decide: tampering, broken
// grading, or all passed.
func checksOf(checks []assay.CheckResult) (Verdict, bool) {
	if len(checks) == 0 {
		return Verdict{Outcome: assay.InfraFail, Infra: assay.InfraGrader, Permanent: true, Detail: "no check was made"}, true
	}
	if c := find(checks, assay.CheckIntegrity); c != nil {
		return Verdict{Outcome: assay.Integrity, Detail: about(*c)}, true
	}
	if c := find(checks, assay.CheckBroken); c != nil {
		return Verdict{Outcome: assay.InfraFail, Infra: assay.InfraGrader, Detail: about(*c)}, true
	}
	if passedAll(checks) {
		return Verdict{Outcome: assay.Passed}, true
	}
	return Verdict{}, false
}

func passedAll(checks []assay.CheckResult) bool {
	for _, c := range checks {
		if c.Status != assay.CheckPassed {
			return false
		}
	}
	return true
}

func find(checks []assay.CheckResult, status assay.CheckStatus) *assay.CheckResult {
	for i := range checks {
		if checks[i].Status == status {
			return &checks[i]
		}
	}
	return nil
}

func about(c assay.CheckResult) string {
	if c.Detail == "" {
		return c.Name
	}
	return c.Name + ": " + c.Detail
}

// limitOf names the limit that ended the attempt, "" for none.
func limitOf(s Seen) assay.LimitKind {
	switch {
	case s.Model.Budget || s.Agent.Ending == EndCost:
		return assay.LimitCost
	case s.Agent.Ending == EndTurns:
		return assay.LimitTurns
	case s.Agent.Ending == EndContext:
		return assay.LimitContext
	case s.Agent.Stopped == StoppedTotal:
		return assay.LimitTime
	}
	return ""
}

// ending names the failure of work that didn't pass.
func ending(s Seen, limit assay.LimitKind) Verdict {
	miss := firstMiss(s.Checks)
	agent := func(why string) Verdict {
		return Verdict{Outcome: assay.AgentError, Detail: join(why, clip(s.Agent.Detail, 500), miss)}
	}
	a := s.Agent
	switch {
	case limit != "":
		return Verdict{Outcome: assay.LimitHit, Detail: join(clip(a.Detail, 500), miss)}
	case a.Ending == EndRefused || s.Model.Refused:
		return Verdict{Outcome: assay.Refused, Detail: join(clip(a.Detail, 500), miss)}
	case s.OOM && a.Ending != EndSuccess:
		return agent("the agent's box ran out of memory")
	case a.Stopped == StoppedFirst || a.Stopped == StoppedIdle:
		return agent("stalled: the program wrote nothing (" + a.Stopped + ")")
	case a.Ending == EndError:
		return agent("the program ended with an error")
	case a.Ending == "" && a.Exit != nil && *a.Exit != 0:
		return agent(join(fmt.Sprintf("the program exited with status %d", *a.Exit), lastLine(a.Stderr)))
	case a.Ending == "" && s.Model.Seen && s.Model.Calls == 0:
		return agent("the program ended without asking its model")
	}
	return Verdict{Outcome: assay.Failed, Detail: miss}
}

// lastLine is the end of what a program complained of: often the reason.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return clip(s[strings.LastIndexByte(s, '\n')+1:], 300)
}

func firstMiss(checks []assay.CheckResult) string {
	if c := find(checks, assay.CheckFailed); c != nil {
		return about(*c)
	}
	return ""
}
