package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
)

// Attempt is the folder of one attempt. It is owned by one goroutine at a
// time.
type Attempt struct {
	N   int
	Dir string
}

// Begin makes the folder of a trial's next attempt. The number is the next
// free one, taken by an exclusive mkdir: attempts of an earlier process that
// was killed keep theirs.
func (l *Ledger) Begin(t assay.Trial) (*Attempt, error) {
	parent := filepath.Join(l.dir, t.Dir(), attempts)
	if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // results are no secrets
		return nil, fmt.Errorf("beginning an attempt of %s: %w", t.Dir(), err)
	}
	numbers, _, err := numbersIn(parent)
	if err != nil {
		return nil, fmt.Errorf("beginning an attempt of %s: %w", t.Dir(), err)
	}
	n := 1
	if len(numbers) > 0 {
		n = numbers[len(numbers)-1] + 1
	}
	for {
		dir := filepath.Join(parent, strconv.Itoa(n))
		err := os.Mkdir(dir, 0o755) //nolint:gosec // results are no secrets
		if errors.Is(err, fs.ErrExist) {
			n++
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("beginning an attempt of %s: %w", t.Dir(), err)
		}
		return &Attempt{N: n, Dir: dir}, nil
	}
}

// Number is the attempt's number, from 1.
func (a *Attempt) Number() int { return a.N }

// Create makes a file of the attempt ("transcript.jsonl", "verify/unit.log");
// folders are made. An existing file is emptied.
func (a *Attempt) Create(name string) (io.WriteCloser, error) {
	file, err := a.file(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644) //nolint:gosec // results are no secrets
	if err != nil {
		return nil, fmt.Errorf("making a file of an attempt: %w", err)
	}
	return f, nil
}

// Write makes a file whole and durable, or not at all.
func (a *Attempt) Write(name string, data []byte) error {
	file, err := a.file(name)
	if err != nil {
		return err
	}
	return disk.WriteFile(file, data)
}

// Read is the content of a file of the attempt.
func (a *Attempt) Read(name string) ([]byte, error) {
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("reading a file of an attempt: %q leaves its folder", name)
	}
	return os.ReadFile(filepath.Join(a.Dir, name)) //nolint:gosec // checked above
}

// file is the place of a file; its folder exists then.
func (a *Attempt) file(name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("making a file of an attempt: %q leaves its folder", name)
	}
	file := filepath.Join(a.Dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // results are no secrets
		return "", fmt.Errorf("making a file of an attempt: %w", err)
	}
	return file, nil
}

// Finish writes result.json, durable and whole; with it the attempt counts.
// A result that was there before (regrading) is kept as result.<k>.json.
func (a *Attempt) Finish(r assay.Result) error {
	old, err := a.Read(ResultFile)
	if err == nil {
		err = a.keep(old)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("finishing an attempt: %w", err)
	}
	r.Schema, r.Attempt = assay.ResultSchema, a.N
	return disk.WriteJSON(filepath.Join(a.Dir, ResultFile), r)
}

// keep stores an earlier result under the next free number.
func (a *Attempt) keep(old []byte) error {
	for k := 1; ; k++ {
		name := fmt.Sprintf("result.%d.json", k)
		_, err := os.Lstat(filepath.Join(a.Dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return a.Write(name, old)
		}
		if err != nil {
			return err
		}
	}
}
