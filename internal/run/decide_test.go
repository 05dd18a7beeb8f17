package run

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assaybot/assay/internal/assay"
)

func checks(statuses ...assay.CheckStatus) (out []assay.CheckResult) {
	for i, s := range statuses {
		out = append(out, assay.CheckResult{Name: fmt.Sprint("c", i), Status: s})
	}
	return out
}

func TestDecide(t *testing.T) {
	zero, one := 0, 1
	pass, fail := checks(assay.CheckPassed), checks(assay.CheckPassed, assay.CheckFailed)
	success := assay.AgentFacts{Ending: EndSuccess, Exit: &zero}
	model := func(calls, replies, last int, errs ...assay.APIError) assay.ModelCalls {
		return assay.ModelCalls{Seen: true, Calls: calls, Replies: replies, Last: last, Errors: errs}
	}
	status := func(s, n int) assay.APIError { return assay.APIError{Status: s, Count: n} }
	good := model(3, 3, 200)
	api := func(permanent bool) Verdict {
		return Verdict{Outcome: assay.InfraFail, Infra: assay.InfraAPI, Permanent: permanent}
	}
	with := func(o assay.Outcome, l assay.LimitKind) Verdict { return Verdict{Outcome: o, Limit: l} }
	is := func(o assay.Outcome) Verdict { return Verdict{Outcome: o} }
	cases := map[string]struct {
		in   Seen
		want Verdict
	}{
		"passed":                    {Seen{Agent: success, Model: good, Checks: pass}, is(assay.Passed)},
		"failed":                    {Seen{Agent: success, Model: good, Checks: fail}, is(assay.Failed)},
		"reference agent":           {Seen{Checks: fail}, is(assay.Failed)},
		"no checks":                 {Seen{Agent: success}, Verdict{Outcome: assay.InfraFail, Infra: assay.InfraGrader, Permanent: true}},
		"broken check":              {Seen{Agent: success, Checks: checks(assay.CheckFailed, assay.CheckBroken)}, Verdict{Outcome: assay.InfraFail, Infra: assay.InfraGrader}},
		"tampering":                 {Seen{Agent: success, Checks: checks(assay.CheckPassed, assay.CheckBroken, assay.CheckIntegrity)}, is(assay.Integrity)},
		"cancelled":                 {Seen{Cancelled: true, Checks: pass, Err: errBroken}, is(assay.Cancelled)},
		"cancelled error":           {Seen{Err: fmt.Errorf("x: %w", context.Canceled)}, is(assay.Cancelled)},
		"machinery":                 {Seen{Err: &assay.InfraError{Kind: assay.InfraNetwork, Err: errBroken, Permanent: true}, Checks: pass}, Verdict{Outcome: assay.InfraFail, Infra: assay.InfraNetwork, Permanent: true}},
		"bare error":                {Seen{Err: errors.New("x")}, Verdict{Outcome: assay.InfraFail, Infra: assay.InfraSandbox}},
		"too large":                 {Seen{TooLarge: true, Agent: success}, is(assay.Failed)},
		"429 at the end, passing":   {Seen{Agent: assay.AgentFacts{Ending: EndError, Exit: &one}, Model: model(5, 2, 429, status(429, 3)), Checks: pass}, api(false)},
		"529 no reply":              {Seen{Agent: assay.AgentFacts{Exit: &one}, Model: model(3, 0, 529, status(529, 3)), Checks: fail}, api(false)},
		"401":                       {Seen{Agent: assay.AgentFacts{Ending: EndError}, Model: model(1, 0, 401, status(401, 1)), Checks: fail}, api(true)},
		"400":                       {Seen{Agent: assay.AgentFacts{Ending: EndError}, Model: model(2, 1, 400, status(400, 1)), Checks: fail}, api(true)},
		"404, claims success":       {Seen{Agent: success, Model: model(1, 0, 404, status(404, 1)), Checks: fail}, api(true)},
		"connection fails":          {Seen{Agent: assay.AgentFacts{Ending: EndError}, Model: model(2, 1, 0, status(0, 1)), Checks: fail}, api(false)},
		"refused, told by the API":  {Seen{Agent: success, Model: assay.ModelCalls{Seen: true, Calls: 1, Replies: 1, Last: 200, Refused: true}, Checks: fail}, is(assay.Refused)},
		"refused, yet solved":       {Seen{Agent: success, Model: assay.ModelCalls{Seen: true, Calls: 1, Replies: 1, Last: 200, Refused: true}, Checks: pass}, is(assay.Passed)},
		"error got over":            {Seen{Agent: success, Model: model(3, 2, 200, status(500, 1)), Checks: fail}, is(assay.Failed)},
		"odd last call, success":    {Seen{Agent: success, Model: model(3, 2, 404, status(404, 1)), Checks: pass}, is(assay.Passed)},
		"odd last call, quiet exit": {Seen{Agent: assay.AgentFacts{Exit: &zero}, Model: model(3, 2, 404, status(404, 1)), Checks: pass}, is(assay.Passed)},
		"silent model, idle":        {Seen{Agent: assay.AgentFacts{Stopped: StoppedIdle}, Model: model(1, 0, 0), Checks: fail}, api(false)},
		"silent model later":        {Seen{Agent: assay.AgentFacts{Stopped: StoppedIdle}, Model: model(4, 3, 200), Checks: fail}, api(false)},
		"silent model, total":       {Seen{Agent: assay.AgentFacts{Stopped: StoppedTotal}, Model: model(2, 0, 0), Checks: fail}, Verdict{Outcome: assay.InfraFail, Infra: assay.InfraAPI, Limit: assay.LimitTime}},
		"stalled by itself":         {Seen{Agent: assay.AgentFacts{Stopped: StoppedIdle}, Model: good, Checks: fail}, is(assay.AgentError)},
		"never began":               {Seen{Agent: assay.AgentFacts{Stopped: StoppedFirst}, Model: model(0, 0, 0), Checks: fail}, is(assay.AgentError)},
		"429 till the clock":        {Seen{Agent: assay.AgentFacts{Stopped: StoppedTotal}, Model: model(9, 2, 429, status(429, 7)), Checks: fail}, Verdict{Outcome: assay.InfraFail, Infra: assay.InfraAPI, Limit: assay.LimitTime}},
		"stream's errors":           {Seen{Agent: assay.AgentFacts{Ending: EndError, Turns: 4, APIErrors: []assay.APIError{status(429, 2)}}, Checks: pass}, api(false)},
		"stream's auth error":       {Seen{Agent: assay.AgentFacts{Ending: EndError, APIErrors: []assay.APIError{status(403, 2)}}, Checks: fail}, api(true)},
		"stream's errors got over":  {Seen{Agent: assay.AgentFacts{Ending: EndSuccess, APIErrors: []assay.APIError{status(429, 2)}}, Checks: fail}, is(assay.Failed)},
		"stream's errors, silent":   {Seen{Agent: assay.AgentFacts{Exit: &one, APIErrors: []assay.APIError{status(500, 2)}}, Checks: fail}, api(false)},
		"turns":                     {Seen{Agent: assay.AgentFacts{Ending: EndTurns, Exit: &one}, Model: good, Checks: fail}, with(assay.LimitHit, assay.LimitTurns)},
		"turns but passes":          {Seen{Agent: assay.AgentFacts{Ending: EndTurns, Exit: &one}, Model: good, Checks: pass}, with(assay.Passed, assay.LimitTurns)},
		"agent's own budget":        {Seen{Agent: assay.AgentFacts{Ending: EndCost, Exit: &one}, Model: good, Checks: fail}, with(assay.LimitHit, assay.LimitCost)},
		"gateway's budget":          {Seen{Agent: assay.AgentFacts{Ending: EndError, Exit: &one}, Model: assay.ModelCalls{Seen: true, Calls: 3, Replies: 2, Last: 402, Budget: true, Errors: []assay.APIError{status(402, 1)}}, Checks: fail}, with(assay.LimitHit, assay.LimitCost)},
		"context":                   {Seen{Agent: assay.AgentFacts{Ending: EndContext}, Model: model(3, 2, 400, status(400, 1)), Checks: fail}, with(assay.LimitHit, assay.LimitContext)},
		"time":                      {Seen{Agent: assay.AgentFacts{Stopped: StoppedTotal}, Model: good, Checks: fail}, with(assay.LimitHit, assay.LimitTime)},
		"time but passes":           {Seen{Agent: assay.AgentFacts{Stopped: StoppedTotal}, Model: good, Checks: pass}, with(assay.Passed, assay.LimitTime)},
		"refused":                   {Seen{Agent: assay.AgentFacts{Ending: EndRefused, Exit: &zero}, Model: good, Checks: fail}, is(assay.Refused)},
		"crash":                     {Seen{Agent: assay.AgentFacts{Exit: &one}, Model: good, Checks: fail}, is(assay.AgentError)},
		"crash but passes":          {Seen{Agent: assay.AgentFacts{Exit: &one}, Model: good, Checks: pass}, is(assay.Passed)},
		"error word":                {Seen{Agent: assay.AgentFacts{Ending: EndError, Exit: &zero}, Model: good, Checks: fail}, is(assay.AgentError)},
		"memory":                    {Seen{OOM: true, Agent: assay.AgentFacts{}, Model: good, Checks: fail}, is(assay.AgentError)},
		"nothing asked":             {Seen{Agent: assay.AgentFacts{Exit: &zero}, Model: model(0, 0, 0), Checks: fail}, is(assay.AgentError)},
		"command agent":             {Seen{Agent: assay.AgentFacts{Exit: &zero}, Checks: fail}, is(assay.Failed)},
		"killed after its end":      {Seen{Agent: assay.AgentFacts{Ending: EndSuccess, Stopped: StoppedEnd}, Model: good, Checks: fail}, is(assay.Failed)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Decide(c.in)
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Verdict{}, "Detail")); d != "" {
				t.Errorf("%s\ndetail: %s", d, got.Detail)
			}
			if got.Outcome != assay.Passed && got.Detail == "" && len(c.in.Checks) > 0 && got.Limit == "" && got.Outcome != assay.Refused {
				t.Error("no detail says why")
			}
			var r assay.Result
			got.into(&r)
			if r.Resolved != (got.Outcome == assay.Passed) || (r.Score == 1) != r.Resolved {
				t.Errorf("resolved %t, score %g", r.Resolved, r.Score)
			}
		})
	}
}

func TestExitIsToldWithTheLastWord(t *testing.T) {
	status := 127
	got := Decide(Seen{Checks: checks(assay.CheckFailed), Agent: assay.AgentFacts{Exit: &status, Stderr: "first\nsh: frob: not found\n"}})
	if want := "the program exited with status 127; sh: frob: not found; c0"; got.Outcome != assay.AgentError || got.Detail != want {
		t.Errorf("%s, %q, want %q", got.Outcome, got.Detail, want)
	}
}

// Mining cases 20 and 22: what a machine or a registry lacks is no failure of
// a model; what a model brought about is no excuse.
func TestMining20And22NoFailureOfAModel(t *testing.T) {
	code := illegalExit
	start := Seen{Agent: assay.AgentFacts{Exit: &code}, Model: assay.ModelCalls{Seen: true}, Checks: []assay.CheckResult{{Status: assay.CheckFailed}}}
	if v := Decide(start); v.Outcome != assay.InfraFail || !v.Permanent {
		t.Errorf("an illegal instruction at the start: %+v", v)
	}
	spoken := start
	spoken.Agent.Turns, spoken.Model = 2, assay.ModelCalls{Seen: true, Calls: 2, Replies: 2, Last: 200}
	if v := Decide(spoken); v.Outcome != assay.AgentError {
		t.Errorf("after the model spoke: %+v", v)
	}
	limit := &assay.InfraError{Kind: assay.InfraNetwork, Doing: "preparing image x", Err: errors.New("toomanyrequests")}
	v := Decide(Seen{Err: limit})
	var r assay.Result
	v.into(&r)
	if v.Outcome != assay.InfraFail || v.Infra != assay.InfraNetwork || !mendable(r) {
		t.Errorf("a registry's limit: %+v", v)
	}
}
