package assay

import "time"

// CandidateStatus is how far a candidate came.
type CandidateStatus string

// The statuses of a candidate. Rejected and quarantined carry a Reason.
const (
	StatusMined       CandidateStatus = "mined"
	StatusJudged      CandidateStatus = "judged"
	StatusReviewed    CandidateStatus = "reviewed"
	StatusBuilt       CandidateStatus = "built"
	StatusValid       CandidateStatus = "valid"
	StatusRejected    CandidateStatus = "rejected"
	StatusQuarantined CandidateStatus = "quarantined"
)

// Reason is the typed reason of a rejection or quarantine.
type Reason string

// Reasons of mining.
const (
	ReasonBot         Reason = "bot"
	ReasonRevert      Reason = "revert"
	ReasonRelease     Reason = "release"
	ReasonBranchMerge Reason = "branch_merge"
	ReasonNoTests     Reason = "no_tests"
	ReasonNoSource    Reason = "no_source"
	ReasonInlineTests Reason = "inline_tests_inseparable"
	ReasonUnfetchable Reason = "commit_unfetchable"
	ReasonTooLarge    Reason = "too_large"
	ReasonEmpty       Reason = "empty_change"
	ReasonOpenIssue   Reason = "open_issue"
	// ReasonNotPull: the commit came to the main line without a pull request.
	ReasonNotPull Reason = "not_a_pull_request"
)

// Reasons of building and validation.
const (
	ReasonNoEnvironment   Reason = "no_environment"
	ReasonBuildFailed     Reason = "environment_build_failed"
	ReasonBuildDrift      Reason = "environment_drift"
	ReasonNoTestsRan      Reason = "no_tests_ran"
	ReasonNoFailToPass    Reason = "no_fail_to_pass"
	ReasonBuildFailBefore Reason = "build_fails_before"
	ReasonGoldFails       Reason = "gold_fails"
	ReasonGoldTree        Reason = "gold_tree_mismatch"
	ReasonFlaky           Reason = "flaky"
	ReasonNeedsNetwork    Reason = "needs_network"
	ReasonNeedsClock      Reason = "needs_clock"
	ReasonNeedsOrder      Reason = "needs_order"
	ReasonNopPasses       Reason = "nop_passes"
	ReasonOracleFails     Reason = "oracle_fails"
	ReasonTimeout         Reason = "timeout"
	ReasonBadReport       Reason = "bad_report"
	ReasonLeak            Reason = "leak"
	ReasonSandbox         Reason = "sandbox_failed"
	ReasonReviewer        Reason = "reviewer"
)

// Reasons of a run for leaving a task out on one machine: its reference fails
// there, the machine has less than the task was seen to need, or it is of
// another platform.
const (
	ReasonGoldFailsHere Reason = "gold_fails_here"
	ReasonTooSmall      Reason = "machine_too_small"
	ReasonPlatform      Reason = "machine_platform"
)

// FileClass is what a path of a change is.
type FileClass string

// The classes of files. ClassInline is a source file that holds tests too
// (Rust), split by hunk.
const (
	ClassSource    FileClass = "source"
	ClassTest      FileClass = "test"
	ClassDocs      FileClass = "docs"
	ClassConfig    FileClass = "config"
	ClassGenerated FileClass = "generated"
	ClassInline    FileClass = "inline"
)

// Link ties a change to an issue that it closes; Evidence says how it is
// known: keyword_title, keyword_body, keyword_commit, trailer, closing_reference,
// branch, mention.
type Link struct {
	Issue    int    `json:"issue"`
	Repo     string `json:"repo,omitempty"`
	Evidence string `json:"evidence"`
	Text     string `json:"text,omitempty"`
}

// SplitFile is one path of a change with its class and size.
type SplitFile struct {
	Path    string    `json:"path"`
	Old     string    `json:"old_path,omitempty"`
	Class   FileClass `json:"class"`
	Status  string    `json:"status"`
	Added   int       `json:"added"`
	Removed int       `json:"removed"`
	Binary  bool      `json:"binary,omitempty"`
}

// Statement is the problem's text as it stood before the fix began. Origin is
// issue or pull.
type Statement struct {
	Origin  string    `json:"origin"`
	Number  int       `json:"number,omitempty"`
	Title   string    `json:"title"`
	Body    string    `json:"body"`
	Edited  time.Time `json:"edited,omitzero"`
	Created time.Time `json:"created,omitzero"`
	// Edits that came after the fix's first event were left out if Clean;
	// otherwise the text may hold them.
	Clean bool   `json:"clean"`
	Hints string `json:"hints,omitempty"`
}

// Confounder is a rule-based doubt about a candidate, with its evidence.
type Confounder struct {
	Kind     string `json:"kind"`
	Evidence string `json:"evidence,omitempty"`
}

// Candidate is a possible task.
type Candidate struct {
	Schema int             `json:"schema"`
	ID     string          `json:"id"`
	Repo   string          `json:"repo"`
	Status CandidateStatus `json:"status"`
	Reason Reason          `json:"reason,omitempty"`
	Detail string          `json:"detail,omitempty"`

	Source    Source       `json:"source"`
	Base      Base         `json:"base"`
	MergeKind string       `json:"merge_kind,omitempty"`
	Author    string       `json:"author,omitempty"`
	Title     string       `json:"title"`
	Labels    []string     `json:"labels,omitempty"`
	Reviewed  string       `json:"review_state,omitempty"`
	Updated   time.Time    `json:"updated,omitzero"`
	IssueDate time.Time    `json:"issue_created,omitzero"`
	FirstWork time.Time    `json:"first_work,omitzero"`
	Links     []Link       `json:"links,omitempty"`
	Files     []SplitFile  `json:"files,omitempty"`
	Language  string       `json:"language,omitempty"`
	Statement Statement    `json:"statement"`
	Doubts    []Confounder `json:"confounders,omitempty"`
	// Digest is over what mining decided from; it changes when the change
	// request did, and then the candidate is updated.
	Digest string `json:"digest"`

	Task       string      `json:"task,omitempty"`
	Strength   *Strength   `json:"strength,omitempty"`
	Validation *Validation `json:"validation,omitempty"`
}

// Decision is a reviewer's word on a candidate.
type Decision string

// The decisions. Undo takes the last one of the same candidate back.
const (
	Accept Decision = "accept"
	Reject Decision = "reject"
	Skip   Decision = "skip"
	Undo   Decision = "undo"
)

// Review is one line of the review log; it is append-only, the last decision
// of a candidate that wasn't undone counts.
type Review struct {
	Candidate string    `json:"candidate"`
	Decision  Decision  `json:"decision"`
	Reason    string    `json:"reason,omitempty"`
	Note      string    `json:"note,omitempty"`
	Who       string    `json:"who"`
	When      time.Time `json:"when"`
	// Digest of the candidate that the reviewer saw.
	Digest string `json:"digest,omitempty"`
}
