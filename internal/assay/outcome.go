package assay

// Outcome is how an attempt ended.
type Outcome string

// The outcomes. A rate's denominator is made of those for which InRate is
// true; the others always stand beside the rate.
const (
	Passed     Outcome = "passed"
	Failed     Outcome = "failed"
	AgentError Outcome = "agent_error"
	LimitHit   Outcome = "limit"
	Refused    Outcome = "refused"
	Integrity  Outcome = "integrity"
	InfraFail  Outcome = "infra"
	Cancelled  Outcome = "cancelled"
	NotRun     Outcome = "not_run"
)

// Outcomes lists all outcomes in the order of reports.
func Outcomes() []Outcome {
	return []Outcome{Passed, Failed, AgentError, LimitHit, Refused, Integrity, InfraFail, Cancelled, NotRun}
}

// InRate tells whether o belongs to a rate's denominator.
func (o Outcome) InRate() bool {
	switch o {
	case Passed, Failed, AgentError, LimitHit, Refused, Integrity:
		return true
	}
	return false
}

// Final tells whether a resumed run leaves a trial with this outcome alone.
func (o Outcome) Final() bool { return o.InRate() }

// LimitKind says which limit an attempt ran into.
type LimitKind string

// The limits.
const (
	LimitTime    LimitKind = "time"
	LimitTurns   LimitKind = "turns"
	LimitCost    LimitKind = "cost"
	LimitContext LimitKind = "context"
)
