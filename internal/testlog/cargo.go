package testlog

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// cargoLog is the state of a pass over what "cargo test" printed.
type cargoLog struct {
	b       *book
	running *regexp.Regexp
	docs    *regexp.Regexp
	begin   *regexp.Regexp
	test    *regexp.Regexp
	result  *regexp.Regexp
	noBuild *regexp.Regexp
	hash    *regexp.Regexp
	timing  *regexp.Regexp
	binary  string
	planned int // tests of the binary that runs; -1: none runs
	seen    map[string]assay.TestStatus
	open    string // the test whose verdict comes on a later line
}

// parseCargo reads the text of "cargo test" (its two streams together). A
// test's id is "binary::test": the crate's name for the library's unit tests,
// "bin/name" for those of a program, the file's name for tests/*.rs and
// "doc/name" for documentation tests, since the same names recur in each.
func parseCargo(data []byte, b *book) {
	c := &cargoLog{b: b, planned: -1, timing: timing(),
		running: regexp.MustCompile(`^\s*Running (unittests )?(\S+) \((.+)\)$`),
		docs:    regexp.MustCompile(`^\s*Doc-tests (\S+)$`),
		begin:   regexp.MustCompile(`^running (\d+) tests?$`),
		test:    regexp.MustCompile(`^test (.+?)(?: - should panic)? \.\.\. ?(.*)$`),
		result:  regexp.MustCompile(`^test result: (ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;`),
		noBuild: regexp.MustCompile("^error: could not compile `([^`]+)`"),
		hash:    regexp.MustCompile(`-[0-9a-f]{8,}(?:\.exe)?$`),
	}
	for line := range lines(data) {
		c.line(line)
	}
	c.close()
	if c.planned >= 0 {
		b.suspect("the tests of %q have no closing line", c.binary)
	}
}

func (c *cargoLog) line(line string) {
	if m := c.running.FindStringSubmatch(line); m != nil {
		c.next(c.binaryName(m[1] != "", m[2], m[3]))
	} else if m := c.docs.FindStringSubmatch(line); m != nil {
		c.next("doc/" + m[1])
	} else if m := c.noBuild.FindStringSubmatch(line); m != nil {
		c.b.buildFailed(m[1])
	} else if m := c.begin.FindStringSubmatch(line); m != nil {
		c.beginBinary(m[1])
	} else if m := c.result.FindStringSubmatch(line); m != nil {
		c.endBinary(m)
	} else if m := c.test.FindStringSubmatch(line); m != nil && c.planned >= 0 {
		c.testLine(m[1], m[2])
	} else if c.open != "" {
		c.testLine(c.open, line)
	}
}

// binaryName is the name of a test program from its source and its file
// (target/debug/deps/name-0123456789abcdef).
func (c *cargoLog) binaryName(unit bool, source, file string) string {
	name := c.hash.ReplaceAllString(path.Base(strings.ReplaceAll(file, `\`, "/")), "")
	source = strings.ReplaceAll(source, `\`, "/")
	if unit && (path.Base(source) == "main.rs" || strings.Contains(source, "/bin/")) {
		return "bin/" + name
	}
	return name
}

func (c *cargoLog) next(binary string) {
	if c.planned >= 0 {
		c.b.suspect("the tests of %q have no closing line", c.binary)
		c.close()
	}
	c.binary, c.planned = binary, -1
}

func (c *cargoLog) beginBinary(n string) {
	if c.planned >= 0 {
		c.b.suspect("the tests of %q have no closing line", c.binary)
		c.close()
	}
	planned, err := strconv.Atoi(n)
	if err != nil {
		c.b.suspect("the number of tests of %q can't be read", c.binary)
		return
	}
	c.planned, c.seen, c.open = planned, map[string]assay.TestStatus{}, ""
}

func (c *cargoLog) testLine(name, verdict string) {
	c.open = ""
	verdict = c.timing.ReplaceAllString(verdict, "")
	var s assay.TestStatus
	var message string
	switch {
	case verdict == "ok", strings.HasPrefix(verdict, "bench:"):
		s = assay.TestPassed
	case verdict == "FAILED", strings.HasPrefix(verdict, "FAILED "):
		s = assay.TestFailed
	case verdict == "ignored", strings.HasPrefix(verdict, "ignored, "):
		s, message = assay.TestSkipped, strings.TrimPrefix(strings.TrimPrefix(verdict, "ignored"), ", ")
	default:
		c.open = name
		if _, ok := c.seen[name]; !ok {
			c.seen[name] = ""
		}
		return
	}
	c.seen[name] = s
	c.b.add(assay.TestResult{ID: c.id(name), Status: s, Message: message})
}

func (c *cargoLog) id(name string) string {
	if c.binary == "" {
		return name
	}
	return c.binary + "::" + name
}

// close enters the tests of the current program that began and never ended.
func (c *cargoLog) close() {
	for _, name := range sortedKeys(c.seen) {
		if c.seen[name] == "" {
			c.b.add(assay.TestResult{ID: c.id(name), Status: assay.TestError, Message: "no verdict can be read for this test"})
		}
	}
	c.seen, c.open = nil, ""
}

func (c *cargoLog) endBinary(m []string) {
	if c.planned < 0 {
		c.b.suspect("there is a closing line without tests before it")
		return
	}
	count := map[assay.TestStatus]int{}
	for _, s := range c.seen {
		count[s]++
	}
	declared := [3]int{atoi(m[2]), atoi(m[3]), atoi(m[4])}
	found := [3]int{count[assay.TestPassed], count[assay.TestFailed], count[assay.TestSkipped]}
	if declared != found || len(c.seen) != c.planned {
		c.b.suspect("the tests of %q: %d planned and %v passed, failed, ignored declared; %d and %v found",
			c.binary, c.planned, declared, len(c.seen), found)
	}
	if m[1] == "ok" && found[1] > 0 {
		c.b.suspect("the tests of %q are called ok though one failed", c.binary)
	}
	c.close()
	c.planned = -1
}

// atoi reads digits that a pattern has matched; what overflows is -1.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
