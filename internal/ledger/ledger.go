// Package ledger keeps the attempts of a run on disk, append-only:
//
//	OUT/run.json                          the request, digests, when it began
//	OUT/plan.json                         all trials
//	OUT/lock                              held by the process that writes
//	OUT/<trial>/attempts/<n>/...          raw files of one attempt
//	OUT/<trial>/attempts/<n>/result.json  written last: the attempt is finished
//
// A process that is killed at any moment loses no finished attempt and
// doubles none. Reading needs no lock and bears a writer at work. The ledger
// never deletes a file, never scores, and takes nothing that it reads on
// trust: what can't be read is a problem in the answer, with its siblings
// untouched.
package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
)

// Names of files in a run's folder and in an attempt's.
const (
	RunFile    = "run.json"
	PlanFile   = "plan.json"
	LockFile   = "lock"
	ResultFile = "result.json"
	attempts   = "attempts"
)

// Run is what run.json holds: what was asked for and with which inputs.
type Run struct {
	Schema  int           `json:"schema"`
	Request assay.Request `json:"request"`
	// Suite is the digest of the suite; Version that of the product.
	Suite   string    `json:"suite_digest"`
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started"`
	// Strength of the hidden tests by task, where it is known.
	Strength map[string]assay.Strength `json:"strength,omitempty"`
}

// Ledger is one run's folder.
type Ledger struct {
	dir     string
	release func() error
}

// Open makes the folder if it is missing and takes it for this process. Owner
// names the process to people (pid, host, since); a second process is refused
// with the first one's owner.
func Open(dir, owner string) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // results are no secrets
		return nil, fmt.Errorf("making the results folder: %w", err)
	}
	release, err := disk.Lock(filepath.Join(dir, LockFile), owner)
	var held *disk.Held
	if errors.As(err, &held) {
		return nil, &assay.UserError{Text: "another run writes to " + dir + "; wait for it, or choose another --out", Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the results folder: %w", err)
	}
	return &Ledger{dir: dir, release: release}, nil
}

// OpenRead opens a folder for reading; nobody is kept from writing.
func OpenRead(dir string) (*Ledger, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, assay.Userf("there are no results at %s", dir)
	case err != nil:
		return nil, fmt.Errorf("opening the results folder: %w", err)
	case !info.IsDir():
		return nil, assay.Userf("%s is no results folder", dir)
	}
	return &Ledger{dir: dir}, nil
}

// Dir is the run's folder.
func (l *Ledger) Dir() string { return l.dir }

// Close lets go of the folder.
func (l *Ledger) Close() error {
	if l.release == nil {
		return nil
	}
	release := l.release
	l.release = nil
	return release()
}

// SaveRun writes run.json.
func (l *Ledger) SaveRun(r Run) error {
	r.Schema = assay.RunSchema
	return disk.WriteJSON(filepath.Join(l.dir, RunFile), r)
}

// Run reads run.json. A run that was never saved is fs.ErrNotExist.
func (l *Ledger) Run() (Run, error) {
	var r Run
	err := readJSON(filepath.Join(l.dir, RunFile), &r)
	if err == nil && r.Schema != assay.RunSchema {
		err = assay.Userf("%s has schema %d; this program knows %d", filepath.Join(l.dir, RunFile), r.Schema, assay.RunSchema)
	}
	return r, err
}

// SavePlan writes plan.json.
func (l *Ledger) SavePlan(p assay.Plan) error {
	return disk.WriteJSON(filepath.Join(l.dir, PlanFile), p)
}

// Plan reads plan.json. A plan that was never saved is fs.ErrNotExist.
func (l *Ledger) Plan() (assay.Plan, error) {
	var p assay.Plan
	err := readJSON(filepath.Join(l.dir, PlanFile), &p)
	return p, err
}
