package testlog

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// goEvent is one line of "go test -json".
type goEvent struct {
	Action, Package, Test, Output string
	Elapsed                       float64
	ImportPath, FailedBuild       string
}

// goPackage is what is known of one package.
type goPackage struct {
	open   map[string]bool // tests that run
	output map[string]string
	failed bool // a test of it failed
	tests  int
	ended  string // pass, fail, skip
	broken bool   // didn't build
}

type goLog struct {
	b     *book
	order []string
	pkgs  map[string]*goPackage
}

// parseGoTest reads "go test -json". A test's id is "package.Test/sub".
// Lines that are no events (what a compiler printed, say) are passed over.
func parseGoTest(data []byte, b *book) {
	g := &goLog{b: b, pkgs: map[string]*goPackage{}}
	noBuild := regexp.MustCompile(`^FAIL\s+(\S+)\s+\[(?:build|setup) failed\]`)
	torn := len(data) > 0 && data[len(data)-1] != '\n'
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		var ev goEvent
		if line[0] != '{' || json.Unmarshal(line, &ev) != nil {
			if m := noBuild.FindSubmatch(line); m != nil {
				g.pkg(string(m[1])).broken = true
			}
			if torn && len(data) == 0 && line[0] == '{' {
				b.suspect("the last line is torn")
			}
			continue
		}
		g.event(ev, noBuild)
	}
	g.finish()
}

func (g *goLog) pkg(name string) *goPackage {
	p := g.pkgs[name]
	if p == nil {
		p = &goPackage{open: map[string]bool{}, output: map[string]string{}}
		g.pkgs[name] = p
		g.order = append(g.order, name)
	}
	return p
}

func (g *goLog) event(ev goEvent, noBuild *regexp.Regexp) {
	switch {
	case ev.Action == "build-fail":
		name, _, _ := strings.Cut(ev.ImportPath, " ")
		g.b.buildFailed(name)
	case ev.Action == "build-output", ev.Action == "":
	case ev.Test == "":
		g.packageEvent(ev, noBuild)
	default:
		g.testEvent(ev)
	}
}

func (g *goLog) packageEvent(ev goEvent, noBuild *regexp.Regexp) {
	p := g.pkg(ev.Package)
	switch ev.Action {
	case "pass", "fail", "skip":
		if p.ended != "" && p.ended != ev.Action {
			g.b.suspect("package %s ended twice: %s, then %s", ev.Package, p.ended, ev.Action)
		}
		p.ended = ev.Action
		p.broken = p.broken || ev.FailedBuild != ""
	case "output":
		p.broken = p.broken || noBuild.MatchString(ev.Output)
		p.keep("", ev.Output)
	}
}

func (g *goLog) testEvent(ev goEvent) {
	p := g.pkg(ev.Package)
	status := assay.TestStatus("")
	switch ev.Action {
	case "run":
		p.open[ev.Test] = true
		p.output[ev.Test] = ""
		return
	case "output":
		p.keep(ev.Test, ev.Output)
		return
	case "pass", "bench":
		status = assay.TestPassed
	case "skip":
		status = assay.TestSkipped
	case "fail":
		status = assay.TestFailed
		p.failed = true
	default:
		return
	}
	delete(p.open, ev.Test)
	p.tests++
	r := assay.TestResult{ID: goID(ev.Package, ev.Test), Status: status, Seconds: ev.Elapsed}
	if status != assay.TestPassed {
		r.Message = p.output[ev.Test]
	}
	delete(p.output, ev.Test)
	g.b.add(r)
}

func goID(pkg, test string) string {
	if pkg == "" {
		return test
	}
	return pkg + "." + test
}

// keep appends to a test's output, as far as a message goes; frames that
// every test has are left out.
func (p *goPackage) keep(test, out string) {
	if strings.HasPrefix(out, "=== ") || len(p.output[test]) > maxText {
		return
	}
	p.output[test] += clip(out, maxText)
}

// finish enters what has no event of its own: tests without an end, packages
// that failed though no test of theirs did, packages that didn't build.
func (g *goLog) finish() {
	for _, name := range g.order {
		p := g.pkgs[name]
		for _, test := range sortedKeys(p.open) {
			p.failed = true
			g.b.add(assay.TestResult{ID: goID(name, test), Status: assay.TestError,
				Message: "the test began and never ended\n" + p.output[test]})
		}
		switch {
		case p.broken:
			g.broken(name)
		case p.ended == "fail" && !p.failed:
			g.b.add(assay.TestResult{ID: name, Status: assay.TestError,
				Message: "the package failed though none of its tests did\n" + p.output[""]})
		case p.ended == "pass" && p.failed:
			g.b.suspect("package %s passed though a test of it failed", name)
		case p.ended == "" && (p.tests > 0 || len(p.open) > 0) && name != "":
			g.b.suspect("package %s never ended", name)
		}
	}
}

func (g *goLog) broken(name string) {
	g.b.buildFailed(name)
	n := g.b.drop(func(id string) bool { return strings.HasPrefix(id, name+".Test") })
	if n > 0 {
		g.b.suspect("package %s didn't build and yet reports %d tests", name, n)
	}
}
