package assay

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Problem is one fault in something that a person wrote. Line is from 1; 0
// means that the fault has no single line.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Text
	case p.Line == 0:
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Problems are all faults of one input, told at once. An empty list is no
// error: use Err to turn it into one.
type Problems []Problem

// Addf appends one fault.
func (ps *Problems) Addf(file string, line int, format string, args ...any) {
	*ps = append(*ps, Problem{File: file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// Err is nil for an empty list, else the list as one user error.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Sorted is the list by file, then line, then text.
func (ps Problems) Sorted() Problems {
	out := append(Problems(nil), ps...)
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.File != b.File {
			return a.File < b.File
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Text < b.Text
	})
	return out
}

// UserError is a mistake of the person at the keyboard: wrong flag, missing
// file, missing credentials. Doors map it to exit status 2.
type UserError struct {
	Text string
	Err  error
}

func (e *UserError) Error() string {
	if e.Err == nil {
		return e.Text
	}
	if e.Text == "" {
		return e.Err.Error()
	}
	return e.Text + ": " + e.Err.Error()
}

func (e *UserError) Unwrap() error { return e.Err }

// Userf makes a UserError.
func Userf(format string, args ...any) error {
	return &UserError{Text: fmt.Sprintf(format, args...)}
}

// IsUser tells whether err is a person's mistake: a UserError or Problems.
func IsUser(err error) bool {
	var u *UserError
	var ps Problems
	return errors.As(err, &u) || errors.As(err, &ps)
}

// InfraKind says which part of the machinery broke.
type InfraKind string

// The kinds of infrastructure failure.
const (
	InfraAPI     InfraKind = "api"
	InfraSandbox InfraKind = "sandbox"
	InfraGrader  InfraKind = "grader"
	InfraDisk    InfraKind = "disk"
	InfraNetwork InfraKind = "network"
)

// InfraError is a failure of the machinery, never of the agent. Permanent
// means that another attempt can't help.
type InfraError struct {
	Kind      InfraKind
	Doing     string
	Err       error
	Permanent bool
}

func (e *InfraError) Error() string { return e.Doing + ": " + e.Err.Error() }

func (e *InfraError) Unwrap() error { return e.Err }

// Infra wraps err, unless it is nil or already an InfraError, which keeps its
// own kind.
func Infra(kind InfraKind, doing string, err error) error {
	var inner *InfraError
	if err == nil || errors.As(err, &inner) {
		return err
	}
	return &InfraError{Kind: kind, Doing: doing, Err: err}
}
