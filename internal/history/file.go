package history

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// Folder is where the runs are on the branch.
const Folder = "history"

// Bounds of the branch's tip. A line takes about 150 bytes, so that a night of
// 3,000 trials is half a megabyte, and a hundred of them fit.
const (
	MaxRun   = 16 << 20
	MaxTotal = 64 << 20
	MaxFiles = 2000
)

// maxLine bounds one line; a head has a cell per agent, model, effort and
// variant.
const maxLine = 4 << 20

var (
	fileName = regexp.MustCompile(`^history/\d{4}-\d{2}/([A-Za-z0-9][A-Za-z0-9_-]{0,79})(?:\.(\d{1,3}))?\.jsonl$`)
	runName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$`)
)

// path is the file of a run's n-th part, from 1.
func path(h Head, n int) string {
	name := fmt.Sprintf("%s/%s/%s", Folder, h.When.UTC().Format("2006-01"), h.ID)
	if n > 1 {
		name += fmt.Sprintf(".%d", n)
	}
	return name + ".jsonl"
}

// check refuses a run that no file can hold.
func (r Run) check() error {
	switch {
	case !runName.MatchString(r.ID):
		return assay.Userf("%q is no ID of a run; use at most 80 letters, digits, '-' and '_'", r.ID)
	case r.When.IsZero() || r.When.Year() < 1 || r.When.Year() > 9999:
		return assay.Userf("the run %s has no time", r.ID)
	}
	for _, t := range r.Trials {
		if t.Cell < 0 || t.Cell >= len(r.Cells) {
			return fmt.Errorf("the trial %s is of cell %d; the run %s has %d", t.ID, t.Cell, r.ID, len(r.Cells))
		}
		if !t.finite() {
			return fmt.Errorf("the trial %s of the run %s holds a figure that is none", t.ID, r.ID)
		}
		if !slices.Contains(assay.Outcomes(), t.Outcome) {
			return fmt.Errorf("the outcome %q of the trial %s doesn't exist", t.Outcome, t.ID)
		}
	}
	return nil
}

func (t Trial) finite() bool {
	ok := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) && x >= 0 }
	return ok(t.Spent) && ok(t.Seconds) && (t.USD == nil || ok(*t.USD)) && t.At >= 0 && t.Turns >= 0 && t.Unpriced >= 0
}

// encode writes a run as its file.
func encode(r Run) ([]byte, error) {
	r.Schema, r.When = Schema, r.When.UTC()
	if err := r.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.Head); err != nil {
		return nil, fmt.Errorf("writing the run %s: %w", r.ID, err)
	}
	for _, t := range r.Trials {
		if err := enc.Encode(t); err != nil {
			return nil, fmt.Errorf("writing the run %s: %w", r.ID, err)
		}
	}
	if b.Len() > MaxRun {
		return nil, assay.Userf("the run %s takes %d bytes of history, %d are the most; post its parts", r.ID, b.Len(), MaxRun)
	}
	return b.Bytes(), nil
}

// decode reads a run's file. A last line that was cut is an error: files are
// written whole.
func decode(data []byte) (Run, error) {
	var r Run
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(make([]byte, 0, 64<<10), maxLine)
	if !in.Scan() {
		return r, errors.Join(errors.New("it is empty"), in.Err())
	}
	if err := strict(in.Bytes(), &r.Head); err != nil {
		return r, fmt.Errorf("line 1: %w", err)
	}
	if r.Schema != Schema {
		return r, fmt.Errorf("it has schema %d; this program knows %d", r.Schema, Schema)
	}
	for n := 2; in.Scan(); n++ {
		var t Trial
		if err := strict(in.Bytes(), &t); err != nil {
			return r, fmt.Errorf("line %d: %w", n, err)
		}
		r.Trials = append(r.Trials, t)
	}
	return r, errors.Join(in.Err(), r.check())
}

// strict refuses what a line of ours doesn't hold: another program's, or a
// newer one's under the old number.
func strict(line []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// Load reads the runs among a branch's files, oldest first, the parts of a run
// joined. What can't be read is told, and left out.
func Load(files map[string][]byte) ([]Run, assay.Problems) {
	var ps assay.Problems
	runs := map[string]*Run{}
	for _, name := range ours(files) {
		m := fileName.FindStringSubmatch(name)
		r, err := decode(files[name])
		if err == nil && r.ID != m[1] {
			err = fmt.Errorf("it is of the run %s", r.ID)
		}
		if err != nil {
			ps.Addf(name, 0, "can't be read, it is left out: %v", err)
			continue
		}
		if old := runs[r.ID]; old != nil {
			old.join(r)
			continue
		}
		runs[r.ID] = &r
	}
	out := make([]Run, 0, len(runs))
	for _, r := range runs {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Run) int { return cmp.Or(a.When.Compare(b.When), strings.Compare(a.ID, b.ID)) })
	return out, ps
}

// ours are the names of runs' files, the parts of a run in their order.
func ours(files map[string][]byte) []string {
	part := func(name string) int {
		n, _ := strconv.Atoi(fileName.FindStringSubmatch(name)[2]) // "" is the first
		return n
	}
	var out []string
	for name := range files {
		if fileName.MatchString(name) {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(part(a), part(b)), strings.Compare(a, b)) })
	return out
}

// join adds the trials of another part. A later attempt of a trial takes the
// place of an earlier one, unless it has no answer where that had; what all
// attempts cost is the larger of the two sums, since the later one may hold
// the earlier.
func (r *Run) join(part Run) {
	at := map[string]int{}
	for i, t := range r.Trials {
		at[t.ID] = i
	}
	for _, t := range part.Trials {
		t.Cell = r.cell(part.Cells[t.Cell])
		i, ok := at[t.ID]
		switch {
		case !ok:
			r.Trials = append(r.Trials, t)
		case t.Outcome.Final() || !r.Trials[i].Outcome.Final():
			t.Spent, t.Unpriced = max(t.Spent, r.Trials[i].Spent), max(t.Unpriced, r.Trials[i].Unpriced)
			r.Trials[i] = t
		}
	}
}

// cell is the index of a cell, which is added if it isn't there.
func (r *Run) cell(c Cell) int {
	if i := slices.Index(r.Cells, c); i >= 0 {
		return i
	}
	// Parts that share a head must not share its list.
	r.Cells = append(slices.Clone(r.Cells), c)
	return len(r.Cells) - 1
}
