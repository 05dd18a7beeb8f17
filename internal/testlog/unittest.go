package testlog

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// unittestLog is the state of a pass over what unittest printed.
type unittestLog struct {
	b       *book
	test    *regexp.Regexp
	sub     *regexp.Regexp
	block   *regexp.Regexp
	ran     *regexp.Regexp
	open    string // the test without a verdict so far
	doc     bool   // its description comes next
	clause  string
	begun   int
	ids     map[string]bool
	after   bool // a line of "=" came before
	blocks  bool // the failures are being listed
	count   int
	closed  string
	failing bool
}

// parseUnittest reads "python -m unittest -v". Ids are dotted:
// "module.Class.test"; a module that can't be imported is the id of the
// module. The first line of a test's docstring is its clause.
func parseUnittest(data []byte, b *book) {
	u := &unittestLog{b: b, count: -1, ids: map[string]bool{},
		test:  regexp.MustCompile(`^(\S+) \(([^()\s]+)\)( \.\.\. ?.*)?$`),
		sub:   regexp.MustCompile(`^  (\S+) \(([^()\s]+)\) .*?(?: \.\.\. (.*))?$`),
		block: regexp.MustCompile(`^(FAIL|ERROR|UNEXPECTED SUCCESS): (\S+) \(([^()\s]+)\)`),
		ran:   regexp.MustCompile(`^Ran (\d+) tests? in [\d.]+s`),
	}
	for line := range lines(data) {
		u.line(line)
	}
	u.finish()
}

// dotted is the id of "test_x (module.Class)" and of the newer
// "test_x (module.Class.test_x)".
func dotted(method, where string) string {
	where = strings.TrimPrefix(where, "unittest.loader._FailedTest.")
	if where == "unittest.loader._FailedTest" {
		return method
	}
	if where == method || strings.HasSuffix(where, "."+method) {
		return where
	}
	return where + "." + method
}

func (u *unittestLog) line(line string) {
	switch {
	case strings.HasPrefix(line, "=====") && strings.Trim(line, "=") == "":
		u.after = true
		return
	case u.after && u.block.MatchString(line):
		u.failed(u.block.FindStringSubmatch(line))
	case u.ran.MatchString(line):
		u.total(line)
	case u.count >= 0 && isClosing(line):
		u.close(line)
	case !u.blocks:
		u.progress(line)
	}
	u.after = false
}

func isClosing(line string) bool {
	for _, word := range []string{"OK", "FAILED", "NO TESTS RAN"} {
		if line == word || strings.HasPrefix(line, word+" (") {
			return true
		}
	}
	return false
}

func (u *unittestLog) total(line string) {
	n, err := strconv.Atoi(u.ran.FindStringSubmatch(line)[1])
	if err != nil || u.count >= 0 {
		u.b.suspect("there are two totals")
		return
	}
	u.count = n
}

func (u *unittestLog) close(line string) {
	if u.closed != "" {
		u.b.suspect("there are two closing lines")
		return
	}
	u.closed = line
}

// progress reads the part in which each test gets its line.
func (u *unittestLog) progress(line string) {
	if m := u.test.FindStringSubmatch(line); m != nil {
		u.begin(dotted(m[1], m[2]))
		u.doc = m[3] == ""
		u.verdict(strings.TrimSpace(strings.TrimPrefix(m[3], " ...")))
		return
	}
	if m := u.sub.FindStringSubmatch(line); m != nil {
		u.subTest(dotted(m[1], m[2]), m[3])
		return
	}
	if u.open == "" {
		return
	}
	if head, tail, ok := cutLast(line, " ..."); ok && u.doc {
		u.clause, u.doc = head, false
		u.verdict(strings.TrimSpace(tail))
		return
	}
	u.verdict(line)
}

// subTest reads the line of one sub-test of id. Once one of them has failed,
// the test itself gets no line.
func (u *unittestLog) subTest(id, verdict string) {
	s := wordStatus(verdict)
	switch {
	case s == "": // its description and verdict come next
		u.open, u.doc = id, true
	case Failing(s):
		u.enter(id, s, "")
		u.open = ""
	}
}

func cutLast(s, sep string) (head, tail string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (u *unittestLog) begin(id string) {
	u.noVerdict()
	u.open, u.clause = id, ""
	u.begun++
	u.ids[id] = true
}

// verdict ends the open test when text is a status word. With old output in
// between ("... printed" and "ok" a line later) it stays open.
func (u *unittestLog) verdict(text string) {
	s := wordStatus(text)
	if s == "" {
		return
	}
	u.enter(u.open, s, "")
	u.open = ""
}

func wordStatus(text string) assay.TestStatus {
	switch {
	case text == "ok":
		return assay.TestPassed
	case text == "FAIL":
		return assay.TestFailed
	case text == "ERROR":
		return assay.TestError
	case text == "expected failure":
		return assay.TestXFail
	case text == "unexpected success":
		return assay.TestXPass
	case strings.HasPrefix(text, "skipped '"), strings.HasPrefix(text, `skipped "`), text == "skipped":
		return assay.TestSkipped
	}
	return ""
}

func (u *unittestLog) enter(id string, s assay.TestStatus, message string) {
	u.failing = u.failing || Failing(s)
	u.b.add(assay.TestResult{ID: id, Status: s, Clause: u.clause, Message: message})
}

func (u *unittestLog) noVerdict() {
	if u.open != "" {
		u.b.add(assay.TestResult{ID: u.open, Status: assay.TestError, Clause: u.clause,
			Message: "no verdict can be read for this test"})
	}
	u.open = ""
}

// failed reads the head of a block of details.
func (u *unittestLog) failed(m []string) {
	u.noVerdict()
	u.blocks, u.clause = true, ""
	status := assay.TestFailed
	switch m[1] {
	case "ERROR":
		status = assay.TestError
	case "UNEXPECTED SUCCESS":
		status = assay.TestXPass
	}
	u.enter(dotted(m[2], m[3]), status, "")
}

func (u *unittestLog) finish() {
	u.noVerdict()
	switch {
	case u.count < 0 || u.closed == "":
		u.b.suspect("the closing lines with the totals are missing")
	case u.count != len(u.ids) && u.count != u.begun:
		u.b.suspect("the closing line says %d tests, the lines %d", u.count, len(u.ids))
	case strings.HasPrefix(u.closed, "OK") && u.failing:
		u.b.suspect("the closing line says OK though a test failed")
	case strings.HasPrefix(u.closed, "FAILED") && !u.failing:
		u.b.suspect("the closing line says FAILED though no test did")
	}
}
