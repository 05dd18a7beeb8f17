package testlog

import (
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// tapLog is the state of a pass over TAP.
type tapLog struct {
	b      *book
	point  *regexp.Regexp
	plan   *regexp.Regexp
	direct *regexp.Regexp
	timing *regexp.Regexp
	levels []*tapLevel // by depth
	inside []string    // names of buffered subtests ("ok 1 - x {") that are open
	yaml   string      // indentation of the YAML block that is open
	inYAML bool
	last   *assay.TestResult // the latest point, for its YAML block
}

// tapLevel is one level of subtests: its points so far and its plan.
type tapLevel struct {
	points []*assay.TestResult // of this level and, already prefixed, below
	count  int
	plan   int // -1: none so far
}

func newTapLevel() *tapLevel { return &tapLevel{plan: -1} }

// parseTAP reads TAP 13 and 14. A test's id is its description, below the
// descriptions of the tests around it: "outer > inner"; a point without a
// description is its number.
func parseTAP(data []byte, b *book) {
	t := &tapLog{b: b, timing: timing(), levels: []*tapLevel{newTapLevel()},
		point:  regexp.MustCompile(`^(not )?ok\b\s*(\d+)?\s*(?:- ?)?(.*)$`),
		plan:   regexp.MustCompile(`^1\.\.(\d+)\s*(#.*)?$`),
		direct: regexp.MustCompile(`(?i)^(skip|todo)\S*\s*(.*)$`),
	}
	for line := range lines(data) {
		t.line(line)
	}
	t.finish()
}

func (t *tapLog) line(line string) {
	body := strings.TrimLeft(line, " ")
	indent := len(line) - len(body)
	if t.inYAML {
		t.yamlLine(line, body)
		return
	}
	if body == "---" && t.last != nil {
		t.inYAML, t.yaml = true, line[:indent]
		return
	}
	depth := indent / 4
	switch {
	case indent%4 != 0 || depth > maxDepth:
	case body == "}" && len(t.inside) > 0:
		t.closeBuffered(depth)
	case strings.HasPrefix(body, "Bail out!"):
		t.b.suspect("the run bailed out: %s", clip(body, 200))
	case t.plan.MatchString(body):
		t.planLine(depth, t.plan.FindStringSubmatch(body))
	case t.point.MatchString(body):
		t.pointLine(depth, t.point.FindStringSubmatch(body))
	}
}

func (t *tapLog) yamlLine(line, body string) {
	if body == "..." && strings.HasPrefix(line, t.yaml) && len(line) == len(t.yaml)+3 {
		t.inYAML = false
		return
	}
	if rest, ok := strings.CutPrefix(body, "error: "); ok && Failing(t.last.Status) {
		t.last.Message = rest + "\n" + t.last.Message
	} else if Failing(t.last.Status) && len(t.last.Message) < maxText {
		t.last.Message += strings.TrimPrefix(line, t.yaml) + "\n"
	}
	if ms, ok := strings.CutPrefix(body, "duration_ms: "); ok && t.last.Seconds == 0 {
		t.last.Seconds = seconds(ms) / 1000
	}
}

func (t *tapLog) level(depth int) *tapLevel {
	for len(t.levels) <= depth {
		t.levels = append(t.levels, newTapLevel())
	}
	return t.levels[depth]
}

func (t *tapLog) planLine(depth int, m []string) {
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.b.suspect("a plan has no readable number")
		return
	}
	l := t.level(depth)
	if l.plan >= 0 {
		t.b.suspect("there are two plans, 1..%d and 1..%d", l.plan, n)
	}
	l.plan = n
}

func (t *tapLog) pointLine(depth int, m []string) {
	l := t.level(depth)
	l.count++
	text, buffered := strings.CutSuffix(strings.TrimSpace(m[3]), " {")
	description, status, reason := t.directive(text, m[1] == "")
	description = t.timing.ReplaceAllString(strings.TrimSpace(description), "")
	if description == "" {
		description = m[2]
	}
	if description == "" {
		description = strconv.Itoa(l.count)
	}
	r := &assay.TestResult{ID: description, Status: status, Message: reason}
	t.settle(depth+1, description)
	l.points = append(l.points, r)
	t.last = r
	if buffered {
		t.inside = append(t.inside, description)
	}
}

// directive takes "# SKIP why" and "# TODO why" off a description, and any
// other comment that begins with " # " and a timing.
func (t *tapLog) directive(text string, ok bool) (description string, s assay.TestStatus, reason string) {
	s = assay.TestPassed
	if !ok {
		s = assay.TestFailed
	}
	i := lastHash(text)
	if i < 0 {
		return unescapeTAP(text), s, ""
	}
	comment := strings.TrimSpace(text[i+1:])
	m := t.direct.FindStringSubmatch(comment)
	switch {
	case m != nil && strings.EqualFold(m[1], "skip"):
		s, reason = assay.TestSkipped, m[2]
	case m != nil && ok:
		s, reason = assay.TestXPass, m[2]
	case m != nil:
		s, reason = assay.TestXFail, m[2]
	case !strings.HasPrefix(comment, "time="):
		return unescapeTAP(text), s, ""
	}
	return unescapeTAP(strings.TrimSpace(text[:i])), s, reason
}

// lastHash finds the last '#' that no backslash escapes and a blank precedes.
func lastHash(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ') {
			return i
		}
	}
	return -1
}

func unescapeTAP(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\#`, `#`).Replace(s)
}

// settle ends the level below a point: its plan is checked and its points get
// the name of the test around them.
func (t *tapLog) settle(depth int, around string) {
	for d := len(t.levels) - 1; d > depth; d-- {
		t.settle(d, "?")
	}
	if depth >= len(t.levels) {
		return
	}
	l := t.levels[depth]
	t.levels = t.levels[:depth]
	if l.plan < 0 || l.plan != l.count {
		t.b.suspect("the subtests of %q don't keep to their plan: %d planned, %d found", clip(around, 100), l.plan, l.count)
	}
	for _, r := range l.points {
		r.ID = around + " > " + r.ID
	}
	t.levels[depth-1].points = append(t.levels[depth-1].points, l.points...)
}

func (t *tapLog) closeBuffered(depth int) {
	name := t.inside[len(t.inside)-1]
	t.inside = t.inside[:len(t.inside)-1]
	t.settle(depth+1, name)
}

func (t *tapLog) finish() {
	t.settle(1, "?")
	l := t.levels[0]
	switch {
	case l.plan < 0:
		t.b.suspect("the plan is missing; the report may be cut off")
	case l.plan != l.count:
		t.b.suspect("%d tests are planned, %d found", l.plan, l.count)
	}
	for _, r := range l.points {
		t.b.add(*r)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
