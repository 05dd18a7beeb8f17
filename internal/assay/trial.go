package assay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// AgentSpec is one agent of a run as a user names it: "claude-code",
// "claude-code@2.1.197", or an entry of the run file with its own command.
type AgentSpec struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Command is the program of agent "command"; the prompt comes on stdin.
	Command []string `json:"command,omitempty"`
	// Env names environment variables that are handed to the program from
	// the host. They must hold no secret: the box can read them.
	Env []string `json:"env,omitempty"`
	// Label tells two specs of the same agent apart; default: the name.
	Label string `json:"label,omitempty"`
}

// Key is the name under which the spec stands in reports.
func (a AgentSpec) Key() string {
	if a.Label != "" {
		return a.Label
	}
	return a.Name
}

// Trial is one cell of the plan and one repeat of it. ID is a digest of all
// inputs.
type Trial struct {
	ID      string    `json:"id"`
	Task    string    `json:"task"`
	Variant string    `json:"variant"`
	Agent   AgentSpec `json:"agent"`
	Model   string    `json:"model,omitempty"`
	Effort  string    `json:"effort,omitempty"`
	Repeat  int       `json:"repeat"`
	// Digests of the inputs, so that a changed task is another trial.
	TaskDigest    string `json:"task_digest"`
	VariantDigest string `json:"variant_digest"`
	Limits        Limits `json:"limits"`
	Sandbox       string `json:"sandbox"`
}

// TrialID is 16 hex digits over all inputs of t except ID itself.
func TrialID(t Trial) string {
	h := sha256.New()
	part := func(s string) { _, _ = fmt.Fprintf(h, "%d:%s\n", len(s), s) } // a hash never fails
	for _, s := range []string{t.Task, t.Variant, t.Agent.Key(), t.Agent.Name, t.Agent.Version,
		t.Model, t.Effort, fmt.Sprint(t.Repeat), t.TaskDigest, t.VariantDigest, t.Sandbox} {
		part(s)
	}
	for _, s := range t.Agent.Command {
		part(s)
	}
	part(strings.Join(t.Agent.Env, "\x00"))
	part(fmt.Sprintf("%+v", t.Limits))
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// Dir is the trial's folder in results: readable, unique, safe in any file
// system.
func (t Trial) Dir() string {
	return SafeName(t.Task, 40) + "__" + SafeName(t.Agent.Key(), 24) + "__" + t.ID
}

// SafeName maps s to letters, digits, '.', '_' and '-', cut to n bytes.
func SafeName(s string, n int) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case b.Len() >= n:
			return b.String()
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			b.WriteRune(r)
		case r == '.' && b.Len() > 0:
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// Unrunnable is a task, or a cell of a plan, that can't be run, and why. It
// is reported as not_run and never dropped.
type Unrunnable struct {
	// Trial is the ID of the one planned trial that this is about; "" for
	// cells without a trial.
	Trial   string `json:"trial,omitempty"`
	Task    string `json:"task"`
	Agent   string `json:"agent,omitempty"`
	Variant string `json:"variant,omitempty"`
	Reason  string `json:"reason"`
	// Kind is typed where the machine is at fault and not the task's files:
	// gold_fails_here, machine_too_small.
	Kind Reason `json:"kind,omitempty"`
}

// Plan is the work of a run.
type Plan struct {
	Trials []Trial      `json:"trials"`
	NotRun []Unrunnable `json:"not_run,omitempty"`
}

// Request is the one value that flags, Action inputs and events all become:
// what is to be run. It is also the run configuration file.
type Request struct {
	Schema   int         `json:"schema,omitempty"`
	Tasks    string      `json:"tasks,omitempty"`
	Task     []string    `json:"task,omitempty"`
	Tier     []string    `json:"tier,omitempty"`
	Variants []string    `json:"variants,omitempty"`
	VarDir   string      `json:"variants_dir,omitempty"`
	Agents   []AgentSpec `json:"agents,omitempty"`
	Models   []string    `json:"models,omitempty"`
	Efforts  []string    `json:"efforts,omitempty"`
	Repeats  int         `json:"repeats,omitempty"`
	Jobs     int         `json:"jobs,omitempty"`
	Retries  *int        `json:"retries,omitempty"`
	Out      string      `json:"out,omitempty"`
	Sandbox  string      `json:"sandbox,omitempty"`
	// MaxCostUSD stops planning further attempts once that much is spent.
	MaxCostUSD float64 `json:"max_cost_usd,omitempty"`
	// MaxCostMonthUSD is what all runs of one month (UTC) may cost together,
	// by the history of results: 'assay plan --history' plans no more than is
	// left of it.
	MaxCostMonthUSD float64 `json:"max_cost_usd_month,omitempty"`
	// Limits override those of the tasks.
	Limits        Limits `json:"limits,omitzero"`
	KeepWorkspace bool   `json:"keep_workspace,omitempty"`
	// Preflight says which tasks' reference is tried on this machine before
	// any agent is; "" is auto.
	Preflight Preflight `json:"preflight,omitempty"`
}

// Preflight says which tasks' reference solutions are tried on a machine
// before agents are: one that fails there would score every agent's failure.
type Preflight string

// The kinds of preflight: never; for tasks that validation proved (the
// default), unless they passed within a day; for every task that has a
// reference, anew.
const (
	PreflightNever  Preflight = "never"
	PreflightAuto   Preflight = "auto"
	PreflightAlways Preflight = "always"
)
