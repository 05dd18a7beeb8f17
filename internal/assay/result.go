package assay

import "time"

// Result is what result.json holds of one attempt. Raw facts are written
// before the score; the score can be derived again.
type Result struct {
	Schema  int   `json:"schema"`
	Trial   Trial `json:"trial"`
	Attempt int   `json:"attempt"`

	Outcome Outcome   `json:"outcome"`
	Limit   LimitKind `json:"limit,omitempty"`
	Infra   InfraKind `json:"infra,omitempty"`
	// Permanent: an infrastructure failure that a retry can't mend.
	Permanent bool   `json:"permanent,omitempty"`
	Detail    string `json:"detail,omitempty"`
	// Resolved is the strict bit: every check passed. Score is 1 or 0 for
	// correctness tasks.
	Resolved bool          `json:"resolved"`
	Score    float64       `json:"score"`
	Checks   []CheckResult `json:"checks,omitempty"`

	Agent AgentFacts `json:"agent"`
	Model ModelCalls `json:"model"`
	// Refused are destinations that the agent's box asked for in vain, told
	// by its proxy. An isolated box has no other way out.
	Refused []Refusal `json:"refused_destinations,omitempty"`

	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Seconds of each phase: prepare, agent, collect, grade.
	Phases map[string]float64 `json:"phases,omitempty"`

	Digests Digests `json:"digests"`
	Sandbox Box     `json:"sandbox"`
	Patch   Patch   `json:"patch"`
}

// Refusal is a destination ("host:port") that a box asked for and didn't get.
// Seconds is when it first did, from the opening of the box; Count how often.
type Refusal struct {
	Destination string  `json:"destination"`
	Why         string  `json:"why"`
	Seconds     float64 `json:"seconds"`
	Count       int     `json:"count"`
}

// Digests name everything that the attempt used.
type Digests struct {
	Task    string `json:"task,omitempty"`
	Variant string `json:"variant,omitempty"`
	Base    string `json:"base,omitempty"`
	After   string `json:"after,omitempty"`
	Patch   string `json:"patch,omitempty"`
	Image   string `json:"image,omitempty"`
	Program string `json:"program,omitempty"`
}

// Box says what ran the attempt and with which limits in force.
type Box struct {
	Kind     string  `json:"kind"`
	Image    string  `json:"image,omitempty"`
	Isolated bool    `json:"isolated"`
	CPUs     float64 `json:"cpus,omitempty"`
	MemoryMB int     `json:"memory_mb,omitempty"`
	Pids     int     `json:"pids,omitempty"`
	// Rights are what bounds the commands besides their user's rights, as
	// the engine tells: tests of ptrace or namespaces depend on it.
	Rights []string `json:"rights,omitempty"`
	Note   string   `json:"note,omitempty"`
}

// Patch sums up what the agent left.
type Patch struct {
	Files   []FileChange `json:"files,omitempty"`
	Added   int          `json:"added"`
	Removed int          `json:"removed"`
	Bytes   int64        `json:"bytes"`
	Ignored []string     `json:"ignored,omitempty"`
}

// FileChange is one path of a patch; Kind is added, modified, deleted or
// mode.
type FileChange struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
}

// CheckStatus is how a check ended. Broken means that grading itself failed
// (infra), not the agent's work.
type CheckStatus string

// The statuses of a check.
const (
	CheckPassed    CheckStatus = "passed"
	CheckFailed    CheckStatus = "failed"
	CheckIntegrity CheckStatus = "integrity"
	CheckBroken    CheckStatus = "broken"
)

// CheckResult is one check's verdict with its evidence.
type CheckResult struct {
	Name   string      `json:"name"`
	Kind   CheckKind   `json:"kind"`
	Status CheckStatus `json:"status"`
	Clause string      `json:"clause,omitempty"`
	Detail string      `json:"detail,omitempty"`
	// Counts of the tests that were asked for, and the misses.
	Wanted  int          `json:"wanted,omitempty"`
	Passed  int          `json:"passed,omitempty"`
	Misses  []TestResult `json:"misses,omitempty"`
	Seconds float64      `json:"seconds,omitempty"`
	CPUSec  float64      `json:"cpu_seconds,omitempty"`
	PeakMB  int          `json:"peak_mb,omitempty"`
	Exit    *int         `json:"exit,omitempty"`
}

// TestStatus is the one status model of all report formats.
type TestStatus string

// The statuses of a test. Missing and notrun are given by graders, never by
// a report.
const (
	TestPassed  TestStatus = "passed"
	TestFailed  TestStatus = "failed"
	TestError   TestStatus = "error"
	TestSkipped TestStatus = "skipped"
	TestXFail   TestStatus = "xfail"
	TestXPass   TestStatus = "xpass"
	TestMissing TestStatus = "missing"
	TestNotRun  TestStatus = "notrun"
)

// TestResult is one test of a report. Clause is the requirement that the
// test states of itself ("" if it states none).
type TestResult struct {
	ID      string     `json:"id"`
	Status  TestStatus `json:"status"`
	Clause  string     `json:"clause,omitempty"`
	Message string     `json:"message,omitempty"`
	Seconds float64    `json:"seconds,omitempty"`
	// Kept: it passed before the change as well (PASS_TO_PASS), so that its
	// miss is a regression. Graders set it on misses.
	Kept bool `json:"kept,omitempty"`
}

// Tokens are counted by class. Input excludes what was read from or written
// to a cache.
type Tokens struct {
	Input      int64 `json:"input"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning,omitempty"`
}

// Add is the sum of a and b.
func (a Tokens) Add(b Tokens) Tokens {
	return Tokens{
		Input: a.Input + b.Input, CacheRead: a.CacheRead + b.CacheRead,
		CacheWrite: a.CacheWrite + b.CacheWrite, Output: a.Output + b.Output,
		Reasoning: a.Reasoning + b.Reasoning,
	}
}

// Total is all tokens; reasoning is part of output.
func (a Tokens) Total() int64 { return a.Input + a.CacheRead + a.CacheWrite + a.Output }

// AgentFacts are what the agent's own stream and process say. They never
// decide between infra and a failure of the agent where a gateway saw the
// calls.
type AgentFacts struct {
	Version string `json:"version,omitempty"`
	Session string `json:"session,omitempty"`
	// Ending is the stream's own terminal word: success, error, max_turns,
	// max_cost, context, refused; "" when there was no terminal event.
	Ending string `json:"ending,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Turns are distinct model replies; Reported is the program's count.
	Turns    int `json:"turns"`
	Reported int `json:"reported_turns,omitempty"`
	// ToolCalls by kind: read, search, edit, run, web, plan, agent, other.
	ToolCalls map[string]int `json:"tool_calls,omitempty"`
	Edited    []string       `json:"files_edited,omitempty"`
	Commands  int            `json:"commands_run,omitempty"`
	Tokens    Tokens         `json:"tokens"`
	CostUSD   float64        `json:"cost_usd"`
	// CostKnown is false when nobody stated a price.
	CostKnown bool       `json:"cost_known"`
	APIErrors []APIError `json:"api_errors,omitempty"`
	Models    []string   `json:"models,omitempty"`
	Final     string     `json:"final_message,omitempty"`
	// The process: exit status (nil when it was killed), what stopped it
	// ("", first_event, idle, total, after_end, cancelled), bytes written.
	Exit     *int    `json:"exit,omitempty"`
	Stopped  string  `json:"stopped,omitempty"`
	Stdout   int64   `json:"stdout_bytes"`
	Stderr   string  `json:"stderr_tail,omitempty"`
	FirstSec float64 `json:"first_event_seconds,omitempty"`
	Seconds  float64 `json:"seconds"`
}

// APIError is one error answer of a model API, as the stream or gateway saw
// it. Status is 0 when there was no HTTP answer.
type APIError struct {
	Status  int    `json:"status,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Message string `json:"message,omitempty"`
	Count   int    `json:"count"`
}

// ModelCalls is the gateway's account of one attempt.
type ModelCalls struct {
	// Seen is false when no gateway stood between agent and model.
	Seen    bool    `json:"seen"`
	Calls   int     `json:"calls"`
	Replies int     `json:"replies"`
	Tokens  Tokens  `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
	// Estimated: an answer told no tokens, and theirs are worked out from
	// its length.
	Estimated bool `json:"estimated,omitempty"`
	// Priced is false when a call had no known price.
	Priced bool       `json:"priced"`
	Errors []APIError `json:"errors,omitempty"`
	// Last is the status of the last call: 200, an HTTP error, 0 for a
	// connection that failed.
	Last int `json:"last_status,omitempty"`
	// Refused is true when the last reply was the model's, or its API's,
	// word that it won't answer.
	Refused bool `json:"refused,omitempty"`
	// Budget is true when the gateway stopped the trial at its budget.
	Budget bool `json:"budget,omitempty"`
}

// Cost is what the attempt is booked at: the gateway's figure where it is
// priced, else the program's own; known is false when neither is.
func (r Result) Cost() (usd float64, known bool) {
	if r.Model.Seen && r.Model.Priced {
		return r.Model.CostUSD, true
	}
	return r.Agent.CostUSD, r.Agent.CostKnown
}

// Spent is Cost's tokens: the gateway's where it stood between, else the
// program's own.
func (r Result) Spent() Tokens {
	if r.Model.Seen {
		return r.Model.Tokens
	}
	return r.Agent.Tokens
}
