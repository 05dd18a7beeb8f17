// Package candidates keeps candidates and reviewers' decisions on disk: one
// JSON line per candidate in a file that a person can read and move, and an
// append-only log of reviews beside it. It decides nothing about either.
package candidates

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
	"github.com/assaybot/assay/internal/schema"
)

// Store is one candidates file ("candidates.jsonl") with its review log
// ("candidates.reviews.jsonl").
type Store struct{ path string }

// At is the store of a file, which need not exist yet. A folder means
// candidates.jsonl in it.
func At(path string) Store {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "candidates.jsonl")
	}
	return Store{path: path}
}

// Path is the file of candidates.
func (s Store) Path() string { return s.path }

// ReviewPath is the file of reviews.
func (s Store) ReviewPath() string { return strings.TrimSuffix(s.path, ".jsonl") + ".reviews.jsonl" }

// Load reads all candidates in the file's order. A missing file is an
// fs.ErrNotExist; faulty lines are problems, told all at once.
func (s Store) Load() ([]assay.Candidate, error) {
	var out []assay.Candidate
	var problems assay.Problems
	err := lines(s.path, func(n int, line []byte) {
		var c assay.Candidate
		if ps := schema.DecodeJSON(s.path, line, &c); len(ps) > 0 {
			for _, p := range ps {
				problems.Addf(s.path, n, "%s", p.Text)
			}
			return
		}
		out = append(out, c)
	})
	if err != nil {
		return nil, fmt.Errorf("reading candidates: %w", err)
	}
	return out, problems.Err()
}

// LoadOrNone is Load, with no candidates for a missing file.
func (s Store) LoadOrNone() ([]assay.Candidate, error) {
	out, err := s.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return out, err
}

// Save replaces the file, durably and at once. The caller holds the lock if
// it read the file before.
func (s Store) Save(all []assay.Candidate) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, c := range all {
		if err := enc.Encode(c); err != nil {
			return fmt.Errorf("writing candidate %s: %w", c.ID, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return fmt.Errorf("writing candidates: %w", err)
	}
	return disk.WriteFile(s.path, b.Bytes())
}

// Update reads, changes and saves the candidates under the store's lock.
func (s Store) Update(owner string, change func([]assay.Candidate) ([]assay.Candidate, error)) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return fmt.Errorf("updating candidates: %w", err)
	}
	release, err := disk.Lock(s.path+".lock", owner)
	if err != nil {
		return err
	}
	defer func() { _ = release() }()
	all, err := s.LoadOrNone()
	if err != nil {
		return err
	}
	if all, err = change(all); err != nil {
		return err
	}
	return s.Save(all)
}

// Append adds one review to the log, durably, before it returns.
func (s Store) Append(r assay.Review) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("writing a review: %w", err)
	}
	return disk.Append(s.ReviewPath(), line)
}

// Reviews reads the log in order. A last line that a crash cut short is left
// out; the decision that it held was never acknowledged.
func (s Store) Reviews() ([]assay.Review, error) {
	var out []assay.Review
	var problems assay.Problems
	last := 0
	err := lines(s.ReviewPath(), func(n int, line []byte) {
		var r assay.Review
		if err := json.Unmarshal(line, &r); err != nil {
			problems.Addf(s.ReviewPath(), n, "no review: %v", err)
			last = n
			return
		}
		last = 0
		out = append(out, r)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading reviews: %w", err)
	}
	if last > 0 {
		problems = problems[:len(problems)-1]
	}
	return out, problems.Err()
}

// lines calls each for every line that isn't blank, with its number from 1.
func lines(path string, each func(n int, line []byte)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(f, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			each(n, trimmed)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Decisions is what stands after a log of reviews: the last decision of every
// candidate that wasn't taken back.
func Decisions(log []assay.Review) map[string]assay.Review {
	stacks := map[string][]assay.Review{}
	for _, r := range log {
		stack := stacks[r.Candidate]
		if r.Decision != assay.Undo {
			stacks[r.Candidate] = append(stack, r)
			continue
		}
		if len(stack) > 0 {
			stacks[r.Candidate] = stack[:len(stack)-1]
		}
	}
	out := map[string]assay.Review{}
	for id, stack := range stacks {
		if len(stack) > 0 {
			out[id] = stack[len(stack)-1]
		}
	}
	return out
}

// Mark is the cursor of an incremental source, kept beside the candidates.
type Mark struct {
	Updated time.Time `json:"updated,omitzero"`
	Number  int       `json:"number,omitempty"`
	Commit  string    `json:"commit,omitempty"`
	Page    int       `json:"page,omitempty"`
	// Since is the date that the source was asked from at first.
	Since time.Time `json:"since,omitzero"`
}

// MarkPath is the file of cursors.
func (s Store) MarkPath() string { return strings.TrimSuffix(s.path, ".jsonl") + ".cursor.json" }

// Marks reads the cursors by source; a missing file is none.
func (s Store) Marks() (map[string]Mark, error) {
	data, err := os.ReadFile(s.MarkPath())
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Mark{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the cursor: %w", err)
	}
	out := map[string]Mark{}
	if ps := schema.DecodeJSON(s.MarkPath(), data, &out); len(ps) > 0 {
		return nil, ps
	}
	return out, nil
}

// SaveMarks writes the cursors.
func (s Store) SaveMarks(m map[string]Mark) error { return disk.WriteJSON(s.MarkPath(), m) }
