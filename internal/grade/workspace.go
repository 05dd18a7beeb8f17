package grade

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// Restored is one path of the workspace that grading doesn't take as the agent
// left it, and why.
type Restored struct {
	Path   string
	Reason string
}

func (r Restored) String() string { return r.Path + ": " + r.Reason }

//go:embed shadows.txt
var shadowNames string

// cleaner builds the graded tree.
type cleaner struct {
	task    assay.Task
	base    tree.Tree
	after   tree.Tree
	allowed map[string]bool
	graded  tree.Tree
	out     []Restored
}

// Workspace is the tree to grade: after, with everything that steers test
// programs at its state in base. That is the built-in list (see protected),
// the task's Protected globs, the scripts and test settings of package.json,
// the pytest sections of shared files, new files that shadow the standard
// library or a test program, links that lead outside, and what lies where a
// check expects a report. allowed are the paths that the reference solution
// changes; they are never touched. Compiled droppings (__pycache__) that base
// lacks are left out without a word. restored is in path order.
func Workspace(task assay.Task, base, after tree.Tree, allowed []string) (graded tree.Tree, restored []Restored) {
	c := &cleaner{task: task, base: base, after: after, graded: after.Clone(), allowed: map[string]bool{}}
	for _, p := range allowed {
		c.allowed[p] = true
	}
	c.droppings()
	c.links()
	c.reports()
	c.protectedFiles()
	c.sharedFiles()
	c.shadows()
	sort.SliceStable(c.out, func(i, j int) bool { return c.out[i].Path < c.out[j].Path })
	return c.graded, c.out
}

func (c *cleaner) note(p, format string, args ...any) {
	c.out = append(c.out, Restored{Path: p, Reason: fmt.Sprintf(format, args...)})
}

// dropping tells files that tools leave behind by themselves.
func dropping(p string) bool {
	return tree.Match([]string{"**/__pycache__/**", "*.pyc", "*.pyo", "**/.pytest_cache/**"}, p)
}

func (c *cleaner) droppings() {
	for p, e := range c.after {
		if b, was := c.base[p]; dropping(p) && (!was || !tree.Same(b, e)) {
			c.back(p)
		}
	}
}

// back puts one path to its state at the base. A file that stands where its
// folder was, and a folder that stands in its place, give way.
func (c *cleaner) back(p string) {
	_, is := c.graded[p]
	delete(c.graded, p)
	e, was := c.base[p]
	if !was {
		return
	}
	for q := path.Dir(p); q != "."; q = path.Dir(q) {
		delete(c.graded, q)
	}
	if !is {
		for q := range c.graded.Sub(p) {
			delete(c.graded, path.Join(p, q))
		}
	}
	c.graded[p] = e
}

// restore is back with a note, for a path that may be touched.
func (c *cleaner) restore(ch assay.FileChange, reason string) {
	if c.allowed[ch.Path] {
		return
	}
	c.back(ch.Path)
	c.note(ch.Path, "%s, %s", ch.Kind, reason)
}

// changes are what still differs from the base.
func (c *cleaner) changes() []assay.FileChange { return tree.Diff(c.base, c.graded) }

// links takes out new links that lead out of the workspace, and whatever
// stands below a link.
func (c *cleaner) links() {
	for _, p := range c.graded.Paths() {
		e, is := c.graded[p]
		if b, was := c.base[p]; !is || was && tree.Same(b, e) {
			continue
		}
		if at := c.throughLink(p); at != "" {
			delete(c.graded, p)
			c.note(p, "it lies below the link %s; left out", at)
			continue
		}
		if e.Mode == tree.Link && outside(p, string(e.Data)) {
			delete(c.graded, p)
			c.note(p, "a link that leads out of the workspace (%s); left out", e.Data)
		}
	}
}

func (c *cleaner) throughLink(p string) string {
	for q := path.Dir(p); q != "."; q = path.Dir(q) {
		if c.after[q].Mode == tree.Link {
			return q
		}
	}
	return ""
}

// outside tells whether a link at p leads out of the tree. A ".." after a name
// counts as outside, since that name may be a link itself.
func outside(p, target string) bool {
	if path.IsAbs(target) || strings.ContainsRune(target, '\\') {
		return true
	}
	up, named := 0, false
	for _, part := range strings.Split(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if named {
				return true
			}
			up++
		default:
			named = true
		}
	}
	return up > strings.Count(p, "/")
}

// reports takes out what lies where a check's command is to write its report.
func (c *cleaner) reports() {
	globs := reportPaths(c.task)
	for _, p := range c.graded.Paths() {
		if tree.Match(globs, p) {
			delete(c.graded, p)
			c.note(p, "it lies where a check expects its report; left out")
		}
	}
}

// protectedFiles puts the built-in list and the task's own globs back.
func (c *cleaner) protectedFiles() {
	globs, suite := protected(c.task), suiteTest(c.task)
	for _, ch := range c.changes() {
		switch {
		case tree.Match(globs, ch.Path):
			c.restore(ch, "it steers the tests; put back")
		case tree.Match(c.task.Protected, ch.Path):
			c.restore(ch, "the task protects it; put back")
		case suite(ch.Path):
			c.restore(ch, "it is a test that must go on passing; put back")
		case testRunnerPackage(ch.Path):
			c.restore(ch, "it is part of a test program; put back")
		case viteConfig(ch.Path) && (aboutTests(c.base[ch.Path]) || aboutTests(c.after[ch.Path])):
			c.restore(ch, "it configures vitest; put back")
		}
	}
}

// suiteTest tells the test files of a task whose whole suite must go on
// passing: an agent that edits a test it broke has broken it all the same. A
// shard's word is a file, a Go package, a target of cargo or a Java class.
func suiteTest(task assay.Task) func(p string) bool {
	words := map[string]bool{}
	for _, s := range Steps(task) {
		for _, w := range s.Words {
			words[path.Clean(w)] = true
		}
	}
	return func(p string) bool {
		stem := strings.TrimSuffix(path.Base(p), path.Ext(p))
		switch {
		case len(words) == 0:
			return false
		case words[p]:
			return true
		case strings.HasSuffix(p, "_test.go"):
			return words[path.Dir(p)]
		case strings.HasSuffix(p, ".java"):
			return words[stem]
		}
		return strings.HasSuffix(p, ".rs") && words["--test="+stem]
	}
}

// testRunnerPackage tells installed JavaScript test programs and the links by
// which scripts start them.
func testRunnerPackage(p string) bool {
	return tree.Match([]string{"**/node_modules/.bin/**", "**/node_modules/{jest,vitest,mocha,ava,tap,jasmine,karma}/**",
		"**/node_modules/{jest-*,@jest,@vitest}/**"}, p)
}

func viteConfig(p string) bool { return tree.Match([]string{"vite.config.*"}, p) }

func aboutTests(e tree.Entry) bool {
	s := string(e.Data)
	return strings.Contains(s, "vitest") || strings.Contains(s, "test:") || strings.Contains(s, "test =")
}

// protected are the globs of files that exist only to steer test programs.
func protected(task assay.Task) []string {
	globs := []string{
		// Python: hooks that run before any test does.
		"conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth",
		"**/*.dist-info/entry_points.txt", "**/*.egg-info/entry_points.txt",
		"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", ".coveragerc", "nose2.cfg", "unittest.cfg",
		// JavaScript.
		"jest.config.*", "jest-*.config.*", "jest.setup.*", "vitest.config.*", "vitest.workspace.*", "vitest.setup.*",
		".mocharc*", "mocha.opts", "ava.config.*", "karma.conf.*", ".taprc", "jasmine.json",
		"playwright.config.*", "cypress.config.*", ".npmrc", ".yarnrc", ".yarnrc.yml",
		// Rust: a runner of its own can be named here.
		"**/.cargo/config", "**/.cargo/config.toml", "**/.config/nextest.toml",
		// Others.
		".rspec", "phpunit.xml", "phpunit.xml.dist", "junit-platform.properties",
	}
	if usesMake(task) {
		globs = append(globs, "Makefile", "makefile", "GNUmakefile")
	}
	return globs
}

// usesMake tells whether a check's command runs make.
func usesMake(task assay.Task) bool {
	for _, c := range task.Checks {
		for _, arg := range c.Command {
			words := strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()", r) })
			if slices.ContainsFunc(words, func(w string) bool { return path.Base(w) == "make" || path.Base(w) == "gmake" }) {
				return true
			}
		}
	}
	return false
}

// sharedFiles puts back the parts of files that hold more than test settings.
func (c *cleaner) sharedFiles() {
	for _, ch := range c.changes() {
		if c.allowed[ch.Path] {
			continue
		}
		switch path.Base(ch.Path) {
		case "package.json":
			c.splice(ch, packageJSON, "its scripts and test settings")
		case "pyproject.toml":
			c.splice(ch, pyproject, "its pytest settings")
		case "setup.cfg", "tox.ini":
			c.splice(ch, iniFile, "its pytest settings")
		}
	}
}

// splicer returns after with base's test settings. ok is false when the two
// can't be parted safely.
type splicer func(base, after []byte) (merged []byte, ok bool)

func (c *cleaner) splice(ch assay.FileChange, do splicer, what string) {
	b, was := c.base[ch.Path]
	a, is := c.graded[ch.Path]
	if !is || was && (b.Mode == tree.Link || a.Mode == tree.Link) {
		c.restore(ch, "it holds "+what[len("its "):]+"; put back")
		return
	}
	merged, ok := do(b.Data, a.Data)
	switch {
	case !ok && a.Mode != tree.Link:
		c.restore(ch, what+" can't be told apart; put back as a whole")
	case ok && string(merged) != string(a.Data):
		c.graded[ch.Path] = tree.Entry{Mode: a.Mode, Data: merged}
		c.note(ch.Path, "%s, %s are put back", ch.Kind, what)
	}
}

// shadows takes out new Python modules that would be imported in place of the
// standard library or a test program: at the root, below src, and wherever
// the base has tests.
func (c *cleaner) shadows() {
	names := map[string]bool{}
	for _, n := range strings.Fields(shadowNames) {
		names[n] = true
	}
	places := c.importPlaces()
	for _, ch := range c.changes() {
		dir, name, ok := moduleOf(ch.Path, places)
		if !ok || ch.Kind != "added" || !names[name] || c.allowed[ch.Path] || c.known(dir, name) {
			continue
		}
		c.back(ch.Path)
		c.note(ch.Path, "added, it shadows the module %s; left out", name)
	}
}

// importPlaces are folders that a test program puts on the path.
func (c *cleaner) importPlaces() map[string]bool {
	places := map[string]bool{".": true, "src": true}
	globs := append([]string{"test_*.py", "*_test.py", "tests.py"}, c.task.Visible...)
	for p := range c.base {
		if tree.Match(globs, p) {
			places[path.Dir(p)] = true
		}
	}
	return places
}

// moduleOf says which top-level module a file makes in one of places. A folder
// counts with all that is in it, since with an __init__.py it is a module.
func moduleOf(p string, places map[string]bool) (dir, name string, ok bool) {
	for q := p; q != "."; q = path.Dir(q) {
		if places[path.Dir(q)] {
			base := path.Base(q)
			if q != p {
				return path.Dir(q), base, true
			}
			name, ext, _ := strings.Cut(base, ".")
			if ext == "py" || ext == "pyc" || strings.HasSuffix(ext, "so") || strings.HasSuffix(ext, "pyd") {
				return path.Dir(q), name, true
			}
		}
	}
	return "", "", false
}

// known tells whether the base has that module already, or nothing of after
// makes it one: a folder without an __init__.py shadows nothing.
func (c *cleaner) known(dir, name string) bool {
	at := path.Join(dir, name)
	if _, ok := c.base[at+".py"]; ok || len(c.base.Sub(at)) > 0 {
		return true
	}
	for p := range c.after {
		switch {
		case path.Dir(p) == dir && strings.HasPrefix(path.Base(p), name+"."):
			return false
		case path.Dir(p) == at && strings.HasPrefix(path.Base(p), "__init__."):
			return false
		}
	}
	return true
}
