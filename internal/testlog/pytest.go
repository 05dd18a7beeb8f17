package testlog

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// pytestLog is the state of a pass over what pytest printed.
type pytestLog struct {
	b    *book
	part int // 0 session, 1 details, 2 short summary, 3 after the last line
	// found counts distinct ids by word, one map for -v lines, one for the
	// short summary.
	found    [2]map[string]map[string]bool
	declared map[string]int
	verbose  *regexp.Regexp
	xdist    *regexp.Regexp
	header   *regexp.Regexp
	closing  *regexp.Regexp
}

// parsePytest reads the text of "pytest -v" or "pytest -rA". Ids are node ids
// as pytest prints them. Only lines at their proper place count: what a test
// prints is shown between them.
func parsePytest(data []byte, b *book) {
	p := &pytestLog{b: b,
		found:   [2]map[string]map[string]bool{{}, {}},
		verbose: regexp.MustCompile(`^(\S.*?(?:::|\.py).*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)((?: \(.*\))?)\s*(?:\[[^\]]*\])?\s*$`),
		xdist:   regexp.MustCompile(`^\[gw\d+\] \[\s*\d+%\] (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (.+?)\s*$`),
		header:  regexp.MustCompile(`^=+ (.+?) =+$`),
		closing: regexp.MustCompile(`^=* ?((?:\d+ [a-z ]+, )*\d+ [a-z ]+|no tests ran|no tests collected.*) in [\d.]+s(?: \([\d:]+\))? ?=*$`),
	}
	for line := range lines(data) {
		p.line(line)
	}
	p.finish()
}

func (p *pytestLog) line(line string) {
	if m := p.closing.FindStringSubmatch(line); m != nil {
		p.close(m[1])
		return
	}
	if m := p.header.FindStringSubmatch(line); m != nil {
		p.section(m[1])
		return
	}
	switch p.part {
	case 0:
		p.sessionLine(line)
	case 2:
		p.summaryLine(line)
	}
}

func (p *pytestLog) section(title string) {
	switch {
	case title == "test session starts" && p.part == 0:
	case title == "short test summary info":
		if p.part >= 2 {
			p.b.suspect("there are two short summaries")
		}
		p.part = 2
	case p.part == 0:
		p.part = 1
	}
}

func (p *pytestLog) sessionLine(line string) {
	if m := p.xdist.FindStringSubmatch(line); m != nil {
		p.enter(0, m[1], m[2], "")
		return
	}
	if m := p.verbose.FindStringSubmatch(line); m != nil {
		p.enter(0, m[2], strings.TrimSpace(m[1]), strings.Trim(m[3], " ()"))
	}
}

func (p *pytestLog) summaryLine(line string) {
	word, rest, ok := strings.Cut(line, " ")
	if !ok || rest == "" {
		return
	}
	switch {
	case word == "PASSED":
		p.enter(1, word, rest, "")
	case word == "FAILED", word == "ERROR", word == "XFAIL", word == "XPASS":
		id, message := splitNode(rest)
		p.enter(1, word, id, message)
	case strings.HasPrefix(word, "SUBFAILED"):
		p.subFailed(line)
	}
}

// subFailed reads "SUBFAILED[message] (i=1) id - text": the sub-test's own
// description may hold blanks, the id is what holds "::".
func (p *pytestLog) subFailed(line string) {
	head, _, _ := strings.Cut(line, "::")
	start := strings.LastIndexByte(head, ' ') + 1
	id, message := splitNode(line[start:])
	p.note(1, "FAILED", line)
	p.b.add(assay.TestResult{ID: id, Status: assay.TestFailed, Message: message})
}

// splitNode parts "id - message". The dash of a parameter ("[a - b]") is
// within brackets.
func splitNode(s string) (id, message string) {
	from := 0
	for {
		i := strings.Index(s[from:], " - ")
		if i < 0 {
			return strings.TrimSuffix(s, " -"), ""
		}
		head := s[:from+i]
		if strings.Count(head, "[") <= strings.Count(head, "]") {
			return head, s[from+i+3:]
		}
		from += i + 3
	}
}

func (p *pytestLog) enter(source int, word, id, message string) {
	status := map[string]assay.TestStatus{"PASSED": assay.TestPassed, "FAILED": assay.TestFailed,
		"ERROR": assay.TestError, "SKIPPED": assay.TestSkipped, "XFAIL": assay.TestXFail, "XPASS": assay.TestXPass}[word]
	p.note(source, word, id)
	p.b.add(assay.TestResult{ID: id, Status: status, Message: message})
}

func (p *pytestLog) note(source int, word, id string) {
	if p.found[source][word] == nil {
		p.found[source][word] = map[string]bool{}
	}
	p.found[source][word][id] = true
}

// close reads the closing line ("2 failed, 3 passed in 0.1s").
func (p *pytestLog) close(text string) {
	if p.part == 3 {
		p.b.suspect("there are two closing lines")
		return
	}
	p.part = 3
	p.declared = map[string]int{}
	for _, item := range strings.Split(text, ", ") {
		n, what, _ := strings.Cut(item, " ")
		count, err := strconv.Atoi(n)
		if err == nil {
			p.declared[strings.TrimSuffix(what, "s")] = count
		}
	}
}

func (p *pytestLog) finish() {
	if p.declared == nil {
		p.b.suspect("the closing line with the totals is missing")
		return
	}
	words := []struct{ total, word string }{{"passed", "PASSED"}, {"failed", "FAILED"}, {"error", "ERROR"},
		{"xfailed", "XFAIL"}, {"xpassed", "XPASS"}, {"skipped", "SKIPPED"}}
	for _, w := range words {
		have := max(len(p.found[0][w.word]), len(p.found[1][w.word]))
		want := p.declared[w.total]
		if w.word == "SKIPPED" && have < want {
			continue // the short summary names no id for these
		}
		if have != want {
			p.b.suspect("the closing line says %d %s, the lines %d", want, w.total, have)
		}
	}
}
