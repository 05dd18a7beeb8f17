package grade

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testlog"
	"github.com/assaybot/assay/internal/tree"
)

// ExitFacts are how a step's command ended.
type ExitFacts struct {
	Code     int
	Signal   int  // 0 when it exited by itself
	TimedOut bool // it was stopped at the step's Timeout
	OOM      bool
	CPU      time.Duration
	PeakMB   int
	Wall     time.Duration
	// Work and Verify are where the box had the workspace and the hidden
	// files, without a trailing slash; they are taken off the front of test
	// ids that hold absolute paths ("" leaves ids alone).
	Work   string
	Verify string
}

// integrityID is the test under which assay's own runner reports that the
// code under test tampered with it.
const integrityID = "assay::integrity"

// tampered is the exit status with which the runner says the same.
const tampered = 3

// maxMisses bounds how many misses one result lists.
const maxMisses = 200

// Judge decides a step from what its command left. reports is the tree of the
// folder Step.Dir, tail the end of the command's output, for evidence only:
// nothing in it counts as a verdict. Whatever the code under test can bring
// about is failed or integrity, never broken: an agent must not be able to
// leave the denominator.
func Judge(s Step, exit ExitFacts, reports tree.Tree, tail []byte) assay.CheckResult {
	r := judge(s, exit, reports)
	r.Seconds, r.CPUSec, r.PeakMB = exit.Wall.Seconds(), exit.CPU.Seconds(), exit.PeakMB
	if !exit.TimedOut && exit.Signal == 0 {
		code := exit.Code
		r.Exit = &code
	}
	if r.Status == assay.CheckFailed && len(bytes.TrimSpace(tail)) > 0 {
		r.Detail += "\n" + lastLines(tail)
	}
	return r
}

func judge(s Step, exit ExitFacts, reports tree.Tree) assay.CheckResult {
	switch s.Check.Kind {
	case assay.CheckCommand:
		return judgeCommand(s.Check, exit)
	case assay.CheckTests:
		return judgeTests(s, exit, reports)
	}
	return verdict(s.Check, assay.CheckBroken, "a check of kind %q isn't decided by a command", s.Check.Kind)
}

func judgeCommand(c assay.Check, exit ExitFacts) assay.CheckResult {
	if why := exit.abnormal(); why != "" {
		return verdict(c, assay.CheckFailed, "%s", why)
	}
	if exit.Code != 0 {
		return verdict(c, assay.CheckFailed, "exit status %d%s", exit.Code, meaning(exit.Code))
	}
	return result(c)
}

// abnormal says how a command ended that didn't exit by itself.
func (e ExitFacts) abnormal() string {
	switch {
	case e.TimedOut:
		return fmt.Sprintf("no verdict within %s", e.Wall.Round(time.Second))
	case e.OOM:
		return "the command ran out of memory"
	case e.Signal != 0:
		return fmt.Sprintf("the command was ended by signal %d", e.Signal)
	}
	return ""
}

func meaning(code int) string {
	switch code {
	case 126:
		return " (the program can't be executed)"
	case 127:
		return " (the program wasn't found)"
	}
	return ""
}

func judgeTests(s Step, exit ExitFacts, reports tree.Tree) assay.CheckResult {
	log, bad := s.read(exit, reports)
	if bad != nil {
		return *bad
	}
	return s.weigh(newIndex(log, exit), exit)
}

// read is the report that a step's command left, or the verdict when there is
// none that could be weighed.
func (s Step) read(exit ExitFacts, reports tree.Tree) (log testlog.Log, bad *assay.CheckResult) {
	said := func(r assay.CheckResult) (testlog.Log, *assay.CheckResult) { return testlog.Log{}, &r }
	if s.Check.Report == nil || !slices.Contains(testlog.Formats(), s.Check.Report.Format) {
		return said(verdict(s.Check, assay.CheckBroken, "the check names no known report format"))
	}
	if end := exit.abnormal(); end != "" {
		return said(s.unread(assay.CheckFailed, end))
	}
	files, why := s.files(reports)
	switch {
	case why == "" && len(files) > 0:
	case exit.Code == tampered && s.ownRunner():
		return said(s.unread(assay.CheckIntegrity, "the code under test replaced the report"))
	case why != "":
		return said(s.unread(assay.CheckFailed, why))
	default:
		why = fmt.Sprintf("the command wrote no report (exit status %d%s)", exit.Code, meaning(exit.Code))
		return said(s.unread(assay.CheckFailed, why))
	}
	log, err := testlog.ParseAll(s.Check.Report.Format, files)
	if err != nil {
		return said(verdict(s.Check, assay.CheckBroken, "%v", err))
	}
	return log, nil
}

// files picks the report out of the folder; why says what is wrong with it.
func (s Step) files(reports tree.Tree) (files map[string][]byte, why string) {
	files = map[string][]byte{}
	prefix := strings.TrimSuffix(s.Report, "/")
	for p, e := range reports {
		rest, below := strings.CutPrefix(p, prefix+"/")
		switch {
		case p == prefix:
			rest = p
		case s.Report == ".":
			rest = p
		case !below:
			continue
		}
		if e.Mode == tree.Link {
			return nil, fmt.Sprintf("the report %s is a link, which is never followed", p)
		}
		if len(e.Data) > 0 { // one that was opened and never written is none
			files[rest] = e.Data
		}
	}
	return files, ""
}

// unread is the verdict on a step without a report: every wanted test is
// missing.
func (s Step) unread(status assay.CheckStatus, why string) assay.CheckResult {
	r := verdict(s.Check, status, "%s", why)
	for i, id := range slices.Concat(s.wanted, s.kept) {
		r.Wanted++
		miss(&r, assay.TestResult{ID: id, Status: assay.TestMissing, Kept: i >= len(s.wanted)})
	}
	return r
}

// ownRunner tells whether the command is one of assay's own runners, whose
// exit statuses are known.
func (s Step) ownRunner() bool {
	return slices.ContainsFunc(s.Check.Command, func(a string) bool { return strings.HasPrefix(a, "{runner}") })
}

func lastLines(tail []byte) string {
	const most = 2000
	text := strings.ToValidUTF8(string(bytes.TrimSpace(tail)), "\uFFFD")
	if len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}
