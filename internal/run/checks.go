package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// RunnerDir is where a grader's own test runners lie: below the hidden files,
// so that one Put places both.
const RunnerDir = VerifyDir + "/.assay"

// Paths are the places of a box as a command in it names them.
type Paths struct{ Work, Verify, Report, Runner string }

// PathsOf are the places of a box.
func PathsOf(b Box) Paths {
	root := b.Root()
	return Paths{Work: root + WorkDir, Verify: root + VerifyDir, Report: root + ReportDir, Runner: root + RunnerDir}
}

// Step is one command of grading.
type Step struct {
	Name    string
	Argv    func(Paths) []string
	Env     map[string]string
	Timeout time.Duration
	// Report is a file or folder of the workspace that holds the report,
	// "" when it is written below Paths.Report. It is removed before the
	// command starts, so that only the command can have made it.
	Report string
}

// StepFacts are what a step left.
type StepFacts struct {
	Exit     Exit
	TimedOut bool
	// Report is the report's folder, read after every process of the step
	// was dead; a report in the workspace lies there under its own name.
	Report tree.Tree
	// ReportErr: the report can't be read, because it is too large.
	ReportErr      error
	Stdout, Stderr []byte // the last 64 KiB
}

// CheckRun is what Checks does in a fresh box.
type CheckRun struct {
	Graded tree.Tree // the workspace as it is judged
	Hidden tree.Tree // hidden files; runners lie below ".assay/"
	Setup  []string
	Env    map[string]string
	Limits assay.Limits
	Steps  []Step
	// Out makes the log files.
	Out func(name string) (io.WriteCloser, error)
	// Judge gets each step as it ends.
	Judge func(i int, f StepFacts)
}

// reportMB bounds a report.
const reportMB = 64

// Checks places the workspace and then the hidden files, and runs each step
// alone: its report's folder is emptied before, and read when everything that
// the step started is dead. It lists the hidden files that are no longer what
// was put (never in a box that is isolated: there they belong to root). An
// error is a failure of the machinery.
func Checks(ctx context.Context, box Box, c CheckRun) (changed []string, err error) {
	if err := c.furnish(ctx, box); err != nil {
		return nil, err
	}
	for i, step := range c.Steps {
		facts, err := c.step(ctx, box, step)
		if err != nil {
			return nil, err
		}
		c.Judge(i, facts)
	}
	return c.changed(ctx, box)
}

// furnish fills the box. Setup that worked for the agent and fails now was
// broken by the agent: the checks will tell, setup.log says why.
func (c CheckRun) furnish(ctx context.Context, box Box) error {
	var have tree.Tree
	if placed, ok := box.(Placed); ok {
		have = placed.Workspace
	}
	if err := place(ctx, box, have, c.Graded); err != nil {
		return err
	}
	if err := c.setup(ctx, box); err != nil {
		return err
	}
	return put(ctx, box, VerifyDir, false, c.Hidden)
}

func (c CheckRun) setup(ctx context.Context, box Box) error {
	if len(c.Setup) == 0 {
		return nil
	}
	log, err := c.log("setup")
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(max(1, c.Limits.CheckSec))*time.Second)
	defer cancel()
	_, err = setup(limited, box, c.Setup, Command{Env: c.Env, Stdout: log, Stderr: log})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, log.close())
}

// step runs one command.
func (c CheckRun) step(ctx context.Context, box Box, s Step) (f StepFacts, err error) {
	if err := c.clear(ctx, box, s); err != nil {
		return f, err
	}
	log, err := c.log(s.Name)
	if err != nil {
		return f, err
	}
	out, errs := newTail(tailBytes), newTail(tailBytes)
	limited, cancel := withTimeout(ctx, s.Timeout)
	defer cancel()
	f.Exit, err = box.Run(limited, Command{
		Argv: s.Argv(PathsOf(box)), Dir: WorkDir, Env: merged(c.Env, s.Env),
		Stdout: io.MultiWriter(out, log), Stderr: io.MultiWriter(errs, log),
	})
	if logged := log.close(); err == nil {
		err = logged
	}
	if ctx.Err() != nil {
		return f, context.Cause(ctx)
	}
	if err != nil {
		return f, assay.Infra(assay.InfraSandbox, "running check "+s.Name, err)
	}
	f.TimedOut = limited.Err() != nil && f.Exit.Killed
	f.Stdout, f.Stderr = out.bytes(), errs.bytes()
	return f, c.report(ctx, box, s, &f)
}

// withTimeout bounds a step; zero means no bound of its own.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

func (c CheckRun) clear(ctx context.Context, box Box, s Step) error {
	if err := box.Clear(ctx, ReportDir); err != nil {
		return assay.Infra(assay.InfraSandbox, "emptying the report's folder", err)
	}
	if s.Report == "" {
		return nil
	}
	if _, err := tree.Clean(s.Report); err != nil {
		return assay.Infra(assay.InfraGrader, "reading the report's path", err)
	}
	return remove(ctx, box, []string{path.Clean(s.Report)})
}

// report reads what the step wrote. A report in the workspace is copied to
// the report's folder first, links as links.
func (c CheckRun) report(ctx context.Context, box Box, s Step, f *StepFacts) error {
	if s.Report != "" {
		argv := []string{"cp", "-RP", "--", "./" + path.Clean(s.Report), PathsOf(box).Report + "/"}
		if _, err := box.Run(ctx, Command{Argv: argv, Dir: WorkDir}); err != nil {
			return assay.Infra(assay.InfraSandbox, "copying the report of "+s.Name, err)
		}
	}
	got, _, err := fetch(ctx, box, ReportDir, reportMB)
	if tooLarge(err) {
		f.ReportErr = fmt.Errorf("the report's folder is over %d MB", reportMB)
		return nil
	}
	f.Report = got
	return assay.Infra(assay.InfraSandbox, "reading the report of "+s.Name, err)
}

// changed compares the hidden files with what was put.
func (c CheckRun) changed(ctx context.Context, box Box) ([]string, error) {
	if box.Facts().Isolated {
		return nil, nil
	}
	limit := int(c.Hidden.Size()>>20)*2 + reportMB
	now, _, err := fetch(ctx, box, VerifyDir, limit)
	if tooLarge(err) {
		return []string{"."}, nil
	}
	if err != nil {
		return nil, assay.Infra(assay.InfraSandbox, "reading the hidden files back", err)
	}
	var out []string
	for _, p := range c.Hidden.Paths() {
		if e, ok := now[p]; !ok || string(e.Data) != string(c.Hidden[p].Data) {
			out = append(out, p)
		}
	}
	return out, nil
}

// stepLog is a log file of bounded size that several writers share.
type stepLog struct {
	lockedFile
	capped *capped
}

func (c CheckRun) log(name string) (*stepLog, error) {
	w, err := c.Out(strings.ReplaceAll(assay.SafeName(name, 80), "/", "_") + ".log")
	if err != nil {
		return nil, assay.Infra(assay.InfraDisk, "making a check's log", err)
	}
	l := &stepLog{capped: &capped{w: w, left: maxStderr}}
	l.w = w
	return l, nil
}

func (l *stepLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.capped.Write(p)
}

func (l *stepLog) close() error {
	err := errors.Join(l.capped.err, l.Close())
	return assay.Infra(assay.InfraDisk, "writing a check's log", err)
}
