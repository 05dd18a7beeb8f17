package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/suite"
)

// ValidateRequest asks for the proof of tasks.
type ValidateRequest struct {
	Tasks   string
	Task    []string
	Sandbox string
	Jobs    int
	// Repeats is how often each of "before" and "after" runs.
	Repeats int
	// CompileFails accepts tasks whose tests can't be built before the
	// change.
	CompileFails bool
	// Hunks bounds the hunk ablation; 0 leaves it out.
	Hunks int
	// Again proves tasks that are proven already.
	Again bool
}

// Proved is what became of one task. Test and Wall are seconds: of the test
// commands alone, and of all.
type Proved struct {
	Task       string            `json:"task"`
	Validation assay.Validation  `json:"validation"`
	FailToPass int               `json:"fail_to_pass"`
	PassToPass int               `json:"pass_to_pass"`
	Strength   *assay.Strength   `json:"strength,omitempty"`
	Known      bool              `json:"known,omitempty"`
	Problems   assay.Problems    `json:"problems,omitempty"`
	Err        error             `json:"-"`
	Outcome    map[string]string `json:"-"`
}

// ValidateSummary is all verdicts in the suite's order.
type ValidateSummary struct{ Tasks []Proved }

// errStopped is why a task wasn't looked at after a soft stop.
var errStopped = errors.New("stopped before its turn")

// Unproven counts the tasks about which nothing is known because of a failure
// of the machinery.
func (s ValidateSummary) Unproven() int {
	n := 0
	for _, v := range s.Tasks {
		if v.Err != nil || len(v.Problems) > 0 {
			n++
		}
	}
	return n
}

// Validate proves tasks, Jobs at a time, and writes what it found into each
// task.json as soon as it is known; tasks that are proven already are left
// alone, so that the same command goes on where it was stopped. Soft ends it
// after the tasks under way, ctx at once.
func (f *Flow) Validate(ctx, soft context.Context, v ValidateRequest, note func(string)) (sum ValidateSummary, err error) {
	s, err := f.openSuite(v.Tasks)
	if err != nil {
		return sum, err
	}
	entries, problems := s.Select(v.Task, nil)
	if err := problems.Err(); err != nil {
		return sum, err
	}
	sandbox, err := f.Sandbox(ctx, v.Sandbox, runID(assay.Request{Out: v.Tasks}))
	if err != nil {
		return sum, err
	}
	defer func() { _ = sandbox.Close(context.WithoutCancel(ctx)) }()
	note(sandbox.Note)
	sum.Tasks = make([]Proved, len(entries))
	var group errgroup.Group
	var mu sync.Mutex
	group.SetLimit(max(1, v.Jobs))
	for i, e := range entries {
		group.Go(func() error {
			if soft.Err() != nil {
				sum.Tasks[i] = Proved{Task: e.Task.ID, Err: errStopped}
				return nil
			}
			verdict := f.validateOne(ctx, sandbox, v, e)
			mu.Lock()
			defer mu.Unlock()
			sum.Tasks[i] = verdict
			note(verdict.line())
			return ctx.Err()
		})
	}
	return sum, group.Wait()
}

func (v Proved) line() string {
	switch {
	case v.Err != nil:
		return fmt.Sprintf("%-14s not proven: %v", v.Task, v.Err)
	case len(v.Problems) > 0:
		return fmt.Sprintf("%-14s not proven: %s", v.Task, v.Problems[0])
	}
	known := ""
	if v.Known {
		known = " (known)"
	}
	text := fmt.Sprintf("%-14s %s%s", v.Task, v.Validation.Status, known)
	if v.Validation.Reason != "" {
		return fmt.Sprintf("%s: %s: %s", text, v.Validation.Reason, v.Validation.Detail)
	}
	text += fmt.Sprintf("  F2P %d  P2P %d", v.FailToPass, v.PassToPass)
	if n := len(v.Validation.Dropped); n > 0 {
		text += fmt.Sprintf("  dropped %d", n)
	}
	if v.Strength != nil {
		text += fmt.Sprintf("  strength %d/%d", v.Strength.Noticed, v.Strength.Hunks)
	}
	return text + fmt.Sprintf("  tests %.1fs, wall %.1fs", v.Validation.TestSec, v.Validation.WallSec)
}

// validateOne proves one task, unless that is known.
func (f *Flow) validateOne(ctx context.Context, sandbox Sandbox, v ValidateRequest, e suite.Entry) Proved {
	out := Proved{Task: e.Task.ID, Problems: e.Problems}
	if len(e.Problems) > 0 || ctx.Err() != nil {
		out.Err = ctx.Err()
		return out
	}
	digest, err := proofDigest(e, v)
	if err != nil {
		out.Err = err
		return out
	}
	if old := e.Task.Validation; old != nil && old.Digest == digest && !v.Again {
		out.Validation, out.Strength, out.Known = *old, e.Task.Strength, true
		out.FailToPass, out.PassToPass = len(e.Task.FailToPass), len(e.Task.PassToPass)
		return out
	}
	if why := wrongPlatform(e.Task, sandbox.Host); why.Kind != "" {
		out.Err = errors.New(why.Reason)
		return out
	}
	p, err := f.proveTask(ctx, sandbox, v, e)
	if err != nil {
		out.Err = err
		return out
	}
	p.drifted(e.Task.Validation, digest)
	p.validation.Digest = digest
	out.Validation, out.Strength = p.validation, p.strength
	out.FailToPass, out.PassToPass = len(p.FailToPass), len(p.PassToPass)
	out.Err = suite.UpdateTask(filepath.Join(v.Tasks, e.Dir), p.into)
	return out
}

// proofDigest is over all that a proof depends on: the task without what a
// proof writes, its files, and the settings.
func proofDigest(e suite.Entry, v ValidateRequest) (string, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(unproven(e.Task)); err != nil {
		return "", err
	}
	verify, err := e.Verify()
	if err != nil {
		return "", err
	}
	solution, err := e.Solution()
	if err != nil {
		return "", err
	}
	env, err := e.Environment()
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(h, fmt.Sprint(verify.Digest(), solution.Digest(), env.Digest(), v.Repeats, v.CompileFails, v.Hunks))
	return hex.EncodeToString(h.Sum(nil))[:16], err
}
