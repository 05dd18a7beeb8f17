package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/assaybot/assay/internal/assay"
)

// maxFile bounds what is read as one JSON file; a result has bounded lists.
const maxFile = 256 << 20

// Found is one attempt as it lies on disk.
type Found struct {
	Attempt Attempt
	// Result is nil for an attempt without result.json: one that is under
	// way, or whose process was killed.
	Result *assay.Result
}

// Each calls yield for every attempt, in the order of folders and numbers,
// one at a time, until yield says false. What can't be read is told in the
// problems and skipped.
func (l *Ledger) Each(yield func(Found) bool) assay.Problems {
	var ps assay.Problems
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		ps.Addf(l.dir, 0, "can't be read: %v", err)
		return ps
	}
	for _, e := range entries {
		if e.IsDir() && !eachOf(filepath.Join(l.dir, e.Name()), &ps, yield) {
			return ps
		}
	}
	return ps
}

// eachOf walks one trial's folder; a folder without attempts is none.
func eachOf(dir string, ps *assay.Problems, yield func(Found) bool) bool {
	parent := filepath.Join(dir, attempts)
	numbers, foreign, err := numbersIn(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		ps.Addf(parent, 0, "can't be read: %v", err)
		return true
	}
	for _, name := range foreign {
		ps.Addf(filepath.Join(parent, name), 0, "is no attempt; it is left out")
	}
	for _, n := range numbers {
		f := Found{Attempt: Attempt{N: n, Dir: filepath.Join(parent, strconv.Itoa(n))}}
		if err := f.load(filepath.Base(dir)); err != nil {
			ps.Addf(filepath.Join(f.Attempt.Dir, ResultFile), 0, "can't be read, the attempt is left out: %v", err)
			continue
		}
		if !yield(f) {
			return false
		}
	}
	return true
}

// load reads result.json, if there is one, and checks that it belongs here.
func (f *Found) load(folder string) error {
	var r assay.Result
	err := readJSON(filepath.Join(f.Attempt.Dir, ResultFile), &r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case r.Schema != assay.ResultSchema:
		return fmt.Errorf("schema %d; this program knows %d", r.Schema, assay.ResultSchema)
	case r.Trial.Dir() != folder:
		return fmt.Errorf("it is of the trial %s", r.Trial.Dir())
	case !slices.Contains(assay.Outcomes(), r.Outcome):
		return fmt.Errorf("the outcome %q doesn't exist", r.Outcome)
	}
	r.Attempt = f.Attempt.N
	f.Result = &r
	return nil
}

// Results are all finished attempts.
func (l *Ledger) Results() ([]assay.Result, assay.Problems) {
	var out []assay.Result
	ps := l.Each(func(f Found) bool {
		if f.Result != nil {
			out = append(out, *f.Result)
		}
		return true
	})
	return out, ps
}

// Latest is the result that counts of each trial, by trial ID: the last one
// with a final outcome, else the last one.
func (l *Ledger) Latest() (map[string]assay.Result, assay.Problems) {
	out := map[string]assay.Result{}
	ps := l.Each(func(f Found) bool {
		if f.Result != nil {
			Count(out, *f.Result)
		}
		return true
	})
	return out, ps
}

// Count puts r into latest unless what is there counts more: an outcome that
// isn't final never replaces a final one.
func Count(latest map[string]assay.Result, r assay.Result) {
	old, ok := latest[r.Trial.ID]
	if ok && old.Outcome.Final() && !r.Outcome.Final() {
		return
	}
	latest[r.Trial.ID] = r
}

// Interrupted are the attempts without a result: under way, or killed.
func (l *Ledger) Interrupted() ([]Attempt, assay.Problems) {
	var out []Attempt
	ps := l.Each(func(f Found) bool {
		if f.Result == nil {
			out = append(out, f.Attempt)
		}
		return true
	})
	return out, ps
}

// numbersIn lists the attempts in a folder by number, and the names of what
// is none.
func numbersIn(dir string) (numbers []int, foreign []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil || n < 1 || strconv.Itoa(n) != e.Name() || !e.IsDir() {
			foreign = append(foreign, e.Name())
			continue
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers, foreign, nil
}

// readJSON reads one file into v. Only an ordinary file of bounded size is
// read.
func readJSON(file string, v any) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return fmt.Errorf("%s is no file of ours", file)
	}
	data, err := os.ReadFile(file) //nolint:gosec // a path made of our own names
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s holds no JSON of ours: %w", file, err)
	}
	return nil
}
