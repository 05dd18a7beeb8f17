package testlog

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/assaybot/assay/internal/assay"
)

// maxDepth bounds how deep a report's elements may be nested.
const maxDepth = 100

// parseJUnit reads JUnit XML in the dialects of pytest, Surefire, Gradle,
// jest-junit, cargo-nextest, GoogleTest and CTest. A test's id is
// "classname::name", or the name where there is no classname. The decoder
// expands no entity of a DOCTYPE.
func parseJUnit(data []byte, many bool, b *book) {
	j := &junit{b: b, many: many}
	dec := xml.NewDecoder(bytes.NewReader(cleanXML(data)))
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for {
		tok, err := dec.Token()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				b.suspect("the XML is torn or malformed: %v", err)
			} else if j.roots == 0 {
				b.suspect("the report holds no XML document")
			}
			j.abandon()
			return
		}
		if !j.token(tok) {
			b.suspect("the XML is nested deeper than %d elements", maxDepth)
			j.abandon()
			return
		}
	}
}

// junit is the state of one pass over a document.
type junit struct {
	b      *book
	many   bool
	roots  int
	path   []string
	suites []*tally
	cur    *junitCase
}

// junitCase is the testcase that is open.
type junitCase struct {
	result assay.TestResult
	depth  int
	elems  int // failure and error elements
	reruns int
	text   *strings.Builder // of the open failure, error or skipped
}

// token takes one token; false means that the nesting is too deep.
func (j *junit) token(tok xml.Token) bool {
	switch t := tok.(type) {
	case xml.StartElement:
		if len(j.path) >= maxDepth {
			return false
		}
		j.path = append(j.path, t.Name.Local)
		j.start(t)
	case xml.EndElement:
		j.end(t.Name.Local)
		j.path = j.path[:len(j.path)-1]
	case xml.CharData:
		j.chars(t)
	}
	return true
}

func (j *junit) start(e xml.StartElement) {
	name := e.Name.Local
	if len(j.path) == 1 {
		j.roots++
		if j.roots == 2 && !j.many {
			j.b.suspect("the report holds several documents where one is expected")
		}
		if name != "testsuites" && name != "testsuite" {
			j.b.suspect("the root element is <%s>, not <testsuites> or <testsuite>", clip(name, 80))
		}
	}
	switch {
	case j.cur != nil:
		j.startInCase(e)
	case name == "testsuites", name == "testsuite":
		j.suites = append(j.suites, newTally(e))
	case name == "testcase":
		j.cur = newCase(e, len(j.path))
	}
}

func newCase(e xml.StartElement, depth int) *junitCase {
	id := attr(e, "name")
	if class := attr(e, "classname"); class != "" {
		id = class + "::" + id
	}
	c := &junitCase{depth: depth}
	c.result = assay.TestResult{ID: id, Status: attrStatus(e), Seconds: seconds(attr(e, "time"))}
	return c
}

// attrStatus reads the attributes with which GoogleTest and CTest mark tests
// that have no child element.
func attrStatus(e xml.StartElement) assay.TestStatus {
	for _, name := range []string{"status", "result"} {
		switch strings.ToLower(attr(e, name)) {
		case "notrun", "disabled", "skipped", "suppressed", "ignored":
			return assay.TestSkipped
		case "fail", "failed", "failure":
			return assay.TestFailed
		case "error":
			return assay.TestError
		}
	}
	return assay.TestPassed
}

func (j *junit) startInCase(e xml.StartElement) {
	c := j.cur
	kind := attr(e, "type")
	switch e.Name.Local {
	case "testcase", "testsuite":
		j.b.suspect("the testcase %q holds a <%s>", clip(c.result.ID, 200), e.Name.Local)
	case "failure":
		status := assay.TestFailed
		if kind == "xpass" {
			status = assay.TestXPass
		}
		c.elems++
		c.worse(status, attr(e, "message"))
	case "error":
		c.elems++
		c.worse(assay.TestError, attr(e, "message"))
	case "skipped":
		status := assay.TestSkipped
		if kind == "pytest.xfail" || kind == "xfail" {
			status = assay.TestXFail
		}
		c.worse(status, attr(e, "message"))
	case "flakyFailure", "flakyError", "rerunFailure", "rerunError":
		c.reruns++
	case "property":
		if attr(e, "name") == "clause" && c.result.Clause == "" {
			c.result.Clause = attr(e, "value")
		}
	}
}

func (c *junitCase) worse(s assay.TestStatus, message string) {
	if rank(s) < rank(c.result.Status) {
		return
	}
	c.result.Status, c.result.Message = s, message
	c.text = &strings.Builder{}
}

func (j *junit) chars(data xml.CharData) {
	if len(j.path) == 0 {
		if len(bytes.TrimSpace(data)) > 0 {
			j.b.suspect("there is text outside of the XML document")
		}
		return
	}
	if j.cur == nil || j.cur.text == nil || len(j.path) != j.cur.depth+1 {
		return
	}
	if room := maxText - j.cur.text.Len(); room > 0 {
		j.cur.text.Write(data[:min(room, len(data))])
	}
}

func (j *junit) end(name string) {
	switch {
	case j.cur != nil && len(j.path) == j.cur.depth:
		j.endCase()
	case j.cur != nil && len(j.path) == j.cur.depth+1:
		j.endChild()
	case j.cur == nil && (name == "testsuite" || name == "testsuites") && len(j.suites) > 0:
		j.endSuite()
	}
}

func (j *junit) endChild() {
	c := j.cur
	if c.text == nil {
		return
	}
	text := strings.TrimSpace(c.text.String())
	if text != "" && !strings.HasPrefix(text, c.result.Message) {
		text = c.result.Message + "\n" + text
	}
	if text != "" {
		c.result.Message = text
	}
	c.text = nil
}

func (j *junit) endCase() {
	c := j.cur
	j.cur = nil
	if n := len(j.suites); n > 0 {
		j.suites[n-1].count(c)
	} else {
		j.b.suspect("the testcase %q is in no testsuite", clip(c.result.ID, 200))
	}
	j.b.add(c.result)
}

func (j *junit) endSuite() {
	n := len(j.suites) - 1
	s := j.suites[n]
	j.suites = j.suites[:n]
	dialect := s.pytest
	for _, outer := range j.suites {
		dialect = dialect || outer.pytest
	}
	if why := s.contradiction(dialect); why != "" {
		j.b.suspect("the totals of suite %q contradict its cases: %s", clip(s.name, 100), why)
	}
	if n > 0 {
		j.suites[n-1].all.add(s.all)
	}
}

// abandon ends a document that stopped early: the open test has no verdict.
func (j *junit) abandon() {
	if j.cur == nil {
		return
	}
	j.cur.result.Status = assay.TestError
	j.cur.result.Message = "the report ends within this test"
	j.b.add(j.cur.result)
	j.cur = nil
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// seconds reads "1,234.5" and "0.02"; anything else is 0.
func seconds(s string) float64 {
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil || !(f >= 0 && f < 1e9) {
		return 0
	}
	return f
}

// cleanXML makes data readable for the decoder: UTF-8 without a mark, no
// characters that XML forbids, Latin-1 where the declaration says so.
func cleanXML(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	head := data[:min(len(data), 200)]
	if regexp.MustCompile(`(?i)encoding=["'](iso-8859-1|latin-?1|windows-1252|cp1252)["']`).Match(head) && !utf8.Valid(data) {
		wide := make([]rune, len(data))
		for i, c := range data {
			wide[i] = rune(c)
		}
		data = []byte(string(wide))
	}
	return bytes.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r', r >= 0x20 && r < 0xFFFE, r >= 0x10000:
			return r
		}
		return utf8.RuneError
	}, data)
}
