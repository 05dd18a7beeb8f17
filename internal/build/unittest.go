package build

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	importsUnittest = regexp.MustCompile(`(?m)^\s*(?:import|from)\s+unittest\b`)
	importsPytest   = regexp.MustCompile(`(?m)^\s*(?:import|from)\s+pytest\b`)
	namesPytest     = regexp.MustCompile(`(?i)\bpytest\b`)
)

// unittestCommand runs the tests with the standard library's own runner, nil
// for a project that uses pytest: a task then needs nothing that isn't
// Python's. why says from what that was seen.
func unittestCommand(in Input) (argv []string, why string) {
	tests := pythonTests(in.Tests)
	if in.All {
		tests = pythonTests(in.Files.Paths())
	}
	if len(tests) == 0 || usesPytest(in) {
		return nil, ""
	}
	for _, p := range tests {
		if text := in.text(p); !importsUnittest.MatchString(text) || importsPytest.MatchString(text) {
			return nil, ""
		}
	}
	root := in.importRoot(tests)
	at := "{work}"
	if root != "." {
		at += "/" + root
	}
	argv = []string{"python3", "-I", "{runner}/unittest_junit.py", "--tests", at, "--source", "{work}"}
	if strings.HasPrefix(pythonPath(in), "{work}/src:") {
		argv = append(argv, "--source", "{work}/src")
	}
	if p := pattern(tests); p != "test_*.py" {
		argv = append(argv, "--pattern", p)
	}
	return append(argv, "--report", "{report}"), "unittest: the tests import it, and nothing names pytest"
}

// usesPytest tells a project that names pytest in its configuration or
// requirements, or that has its files.
func usesPytest(in Input) bool {
	if len(in.under("**/conftest.py", "pytest.ini", ".pytest.ini")) > 0 {
		return true
	}
	files := append([]string{"pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "Makefile", "Pipfile", "noxfile.py"}, requirementFiles(in)...)
	for _, p := range files {
		if namesPytest.MatchString(in.text(p)) {
			return true
		}
	}
	return false
}

// importRoot is the deepest folder that holds all tests and that is no
// package: from there their modules have the names by which they may import
// each other.
func (in Input) importRoot(tests []string) string {
	root := path.Dir(tests[0])
	for _, p := range tests[1:] {
		for !strings.HasPrefix(p, root+"/") && root != "." {
			root = path.Dir(root)
		}
	}
	for root != "." && in.has(root+"/__init__.py") {
		root = path.Dir(root)
	}
	return root
}

// pattern is a glob of file names that finds the tests: one name by itself,
// several by what their names have in common.
func pattern(tests []string) string {
	first := path.Base(tests[0])
	every := func(ok func(string) bool) bool {
		return !slices.ContainsFunc(tests, func(p string) bool { return !ok(path.Base(p)) })
	}
	switch {
	case every(func(base string) bool { return base == first }):
		return first
	case every(func(base string) bool { return strings.HasPrefix(base, "test_") }):
		return "test_*.py"
	case every(func(base string) bool { return strings.HasSuffix(base, "_test.py") }):
		return "*_test.py"
	}
	return "*test*.py"
}
