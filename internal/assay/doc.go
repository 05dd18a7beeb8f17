// Package assay holds the nouns of the project: what a task, a variant, a
// trial, a result and a candidate are, how each is written to disk, and how
// each is checked. It decides nothing and does no input or output; it imports
// the standard library only.
package assay

// Schema numbers of the files that the product writes. A reader refuses a
// number that it doesn't know.
const (
	TaskSchema       = 1
	VariantSchema    = 1
	ResultSchema     = 1
	RunSchema        = 1
	CandidateSchema  = 1
	TrajectorySchema = "ATIF-v1.7"
)
