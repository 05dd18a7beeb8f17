package flow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
	"github.com/assaybot/assay/internal/ledger"
)

// Merged says what a merge brought together. Problems are what was left out.
type Merged struct {
	Folders  int
	Attempts int
	Same     int // attempts that were there already
	Problems assay.Problems
}

// maxCopied bounds one file of an attempt that is copied.
const maxCopied = 1 << 30

// MergeRequest names the folder that Dirs are merged into. Planned keeps Out's
// own plan as it is, and takes only attempts of its trials.
type MergeRequest struct {
	Out     string
	Dirs    []string
	Planned bool
}

// Merge copies the attempts of results folders into Out, which may have some
// already; the plan becomes the union of all, unless Planned. Trials are digests of their
// inputs, so that the parts of one run, and the same part twice, fit together.
// Only ordinary files are copied: the folders may come from machines that
// were less trusted than this one.
func (f *Flow) Merge(r MergeRequest) (m Merged, err error) {
	for _, dir := range r.Dirs {
		if !isDir(dir) {
			return m, assay.Userf("there is no results folder %s", dir)
		}
	}
	to, err := ledger.Open(r.Out, f.Owner)
	if err != nil {
		return m, err
	}
	defer func() {
		if e := to.Close(); err == nil {
			err = e
		}
	}()
	j := joining{to: to, planned: r.Planned, sum: &m, have: map[string]map[string]bool{}}
	for _, dir := range r.Dirs {
		if err := j.folder(dir); err != nil {
			return m, fmt.Errorf("merging %s: %w", dir, err)
		}
		m.Folders++
	}
	return m, nil
}

// joining is one merge. have holds the fingerprints of attempts by trial
// folder.
type joining struct {
	to      *ledger.Ledger
	planned bool
	sum     *Merged
	have    map[string]map[string]bool
}

func (j joining) folder(dir string) error {
	from, err := ledger.OpenRead(dir)
	if err != nil {
		return err
	}
	p, err := from.Plan()
	if errors.Is(err, fs.ErrNotExist) {
		return assay.Userf("%s holds no results of assay (it has no %s)", dir, ledger.PlanFile)
	}
	if err != nil {
		return err
	}
	if p, err = j.wanted(from, p); err != nil {
		return err
	}
	trials := map[string]assay.Trial{}
	for _, t := range p.Trials {
		trials[t.Dir()] = t
	}
	var failed error
	ps := from.Each(func(found ledger.Found) bool {
		t, ok := trials[trialDir(found.Attempt)]
		if !ok && j.planned {
			return true
		}
		if !ok {
			j.sum.Problems.Addf(found.Attempt.Dir, 0, "is of no planned trial; it is left out")
			return true
		}
		failed = j.attempt(t, found.Attempt)
		return failed == nil
	})
	j.sum.Problems = append(j.sum.Problems, ps...)
	return failed
}

func trialDir(a ledger.Attempt) string { return filepath.Base(filepath.Dir(filepath.Dir(a.Dir))) }

// wanted is the plan whose attempts are taken out of a folder.
func (j joining) wanted(from *ledger.Ledger, p assay.Plan) (assay.Plan, error) {
	if !j.planned {
		return p, j.head(from, p)
	}
	own, err := j.to.Plan()
	if errors.Is(err, fs.ErrNotExist) {
		return own, assay.Userf("%s has no plan; --planned needs one", j.to.Dir())
	}
	return own, err
}

// head joins run.json and plan.json. Results of two suites don't belong into
// one table.
func (j joining) head(from *ledger.Ledger, p assay.Plan) error {
	r, err := from.Run()
	if err != nil {
		return err
	}
	old, err := j.to.Run()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := j.to.SaveRun(r); err != nil {
			return err
		}
	case err != nil:
		return err
	case old.Suite != r.Suite:
		return assay.Userf("its suite is another (%.12s) than that of %s (%.12s); compare them with 'assay compare'", r.Suite, j.to.Dir(), old.Suite)
	}
	whole, err := j.to.Plan()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return j.to.SavePlan(joined(whole, p))
}

// joined is a with what only b has.
func joined(a, b assay.Plan) assay.Plan {
	trials, unrunnable := map[string]bool{}, map[assay.Unrunnable]bool{}
	for _, t := range a.Trials {
		trials[t.ID] = true
	}
	for _, u := range a.NotRun {
		unrunnable[u] = true
	}
	for _, t := range b.Trials {
		if !trials[t.ID] {
			a.Trials = append(a.Trials, t)
		}
	}
	for _, u := range b.NotRun {
		if !unrunnable[u] {
			a.NotRun = append(a.NotRun, u)
		}
	}
	return a
}

// attempt copies one attempt unless it is there. Its result comes last, as
// when an attempt is run.
func (j joining) attempt(t assay.Trial, a ledger.Attempt) error {
	print, err := fingerprint(a)
	if err != nil {
		return err
	}
	have, err := j.known(t)
	if err != nil {
		return err
	}
	if have[print] {
		j.sum.Same++
		return nil
	}
	to, err := j.to.Begin(t)
	if err != nil {
		return err
	}
	if err := copyAttempt(a.Dir, to.Dir, &j.sum.Problems); err != nil {
		return err
	}
	have[print] = true
	j.sum.Attempts++
	return nil
}

func (j joining) known(t assay.Trial) (map[string]bool, error) {
	if have, ok := j.have[t.Dir()]; ok {
		return have, nil
	}
	have := map[string]bool{}
	j.have[t.Dir()] = have
	dirs, err := filepath.Glob(filepath.Join(j.to.Dir(), t.Dir(), "attempts", "*"))
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		print, err := fingerprint(ledger.Attempt{Dir: d})
		if err != nil {
			return nil, err
		}
		have[print] = true
	}
	return have, nil
}

// fingerprint tells attempts apart: by the result, which holds times and
// figures, or by the names and sizes of what an interrupted one left.
func fingerprint(a ledger.Attempt) (string, error) {
	h := sha256.New()
	data, err := a.Read(ledger.ResultFile)
	if err == nil {
		h.Write(data)
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	err = filepath.WalkDir(a.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(a.Dir, p)
		_, _ = fmt.Fprintf(h, "%q %d\n", rel, info.Size()) // a hash takes everything
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

func copyAttempt(from, to string, ps *assay.Problems) error {
	var last []byte
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Size() > maxCopied {
			ps.Addf(p, 0, "is no ordinary file of bounded size; it is left out")
			return nil
		}
		data, err := os.ReadFile(p) //nolint:gosec // below the folder that is merged, and no link
		if err != nil {
			return err
		}
		if rel == ledger.ResultFile {
			last = bytes.Clone(data)
			return nil
		}
		return copyFile(filepath.Join(to, rel), data)
	})
	if err != nil || last == nil {
		return err
	}
	return disk.WriteFile(filepath.Join(to, ledger.ResultFile), last)
}

func copyFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
