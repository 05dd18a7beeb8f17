package build

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

type pyproject struct {
	Project struct {
		Name         string              `toml:"name"`
		Requires     string              `toml:"requires-python"`
		Dependencies []string            `toml:"dependencies"`
		Optional     map[string][]string `toml:"optional-dependencies"`
		Classifiers  []string            `toml:"classifiers"`
	} `toml:"project"`
	Build struct {
		Requires []string `toml:"requires"`
	} `toml:"build-system"`
	Groups map[string][]any `toml:"dependency-groups"`
	Tool   struct {
		Poetry struct {
			Dependencies map[string]any `toml:"dependencies"`
			Dev          map[string]any `toml:"dev-dependencies"`
			Group        map[string]struct {
				Dependencies map[string]any `toml:"dependencies"`
			} `toml:"group"`
		} `toml:"poetry"`
	} `toml:"tool"`
}

// pythonVersions that are proposed, newest first.
func pythonVersions() []string { return []string{"3.13", "3.12", "3.11", "3.10", "3.9"} }

// pytest is the requirement of a project whose tests it runs.
const pytest = "pytest>=7"

func proposePython(in Input) (Recipe, error) {
	var p pyproject
	if e, ok := in.Files["pyproject.toml"]; ok {
		if err := toml.Unmarshal(e.Data, &p); err != nil {
			return Recipe{}, &NoRecipe{"pyproject.toml can't be read: " + err.Error()}
		}
	}
	tests := pythonTests(in.Tests)
	if len(tests) == 0 && !in.All {
		return Recipe{}, &NoRecipe{"the change has no Python test file that pytest would collect"}
	}
	version, from := pythonVersion(in, p)
	needs, needFrom := pythonNeeds(in, p)
	var files []string
	if len(needs) == 0 {
		files = requirementFiles(in)
	}
	r := Recipe{
		Env:    map[string]string{"PYTHONPATH": pythonPath(in), "PYTHONDONTWRITEBYTECODE": "1"},
		Report: assay.Report{Format: "junit"}, Units: tests, Requires: []string{"python3"},
		Why: append([]string{fmt.Sprintf("python:%s-slim from %s", version, from)}, needFrom...),
	}
	runner := []string{pytest}
	if argv, why := unittestCommand(in); argv != nil {
		r.Test, runner = argv, nil
		r.Why = append(r.Why, why)
	} else {
		r.Test = append([]string{"python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--junitxml={report}", "-o", "junit_family=xunit2"}, tests...)
	}
	env, setup := pretend(in)
	maps.Copy(r.Env, env)
	r.Setup = setup
	r.Dockerfile, r.Context = pythonImage(in, version, append(runner, needs...), files)
	return r, nil
}

// pythonImage is the Dockerfile and its context. Without anything to install
// it is the base alone, which needs no network to build.
func pythonImage(in Input, version string, needs, files []string) (string, tree.Tree) {
	from := "FROM python:" + version + "-slim"
	if len(needs)+len(files) == 0 {
		return dockerfile(from), tree.Tree{}
	}
	// Nothing else of the repository enters the context: the image is shared
	// by every task whose requirements are the same.
	copied := in.context(files...)
	copied["install.sh"] = tree.Text(pythonInstall(in, needs, files) + withoutOwn(in))
	return dockerfile(from,
		"ENV PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1",
		"WORKDIR /opt/deps",
		"COPY . .",
		"RUN sh install.sh",
	), copied
}

// pythonTests are the files that pytest collects by its default names; a
// changed conftest.py or helper alone runs the tests of its folder.
func pythonTests(tests []string) []string {
	var out []string
	for _, p := range tests {
		base := path.Base(p)
		if strings.HasSuffix(base, ".py") && (strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py")) {
			out = append(out, p)
		}
	}
	return out
}

func pythonPath(in Input) string {
	for p := range in.Files {
		if strings.HasPrefix(p, "src/") && strings.HasSuffix(p, "/__init__.py") {
			return "{work}/src:{work}"
		}
	}
	return "{work}"
}

var pythonMinor = regexp.MustCompile(`Python :: (3\.\d+)$`)

// pythonVersion is the one that is pinned, or the newest that requires-python
// allows and that CI or, where CI tells none, the classifiers name.
func pythonVersion(in Input, p pyproject) (version, from string) {
	named := map[string]bool{}
	for _, c := range p.Project.Classifiers {
		if m := pythonMinor.FindStringSubmatch(c); m != nil {
			named[m[1]] = true
		}
	}
	requires := p.Project.Requires
	if requires == "" {
		requires = quoted(in.text("setup.py"), "python_requires")
	}
	if requires == "" {
		requires = setupCfgValue(in.text("setup.cfg"), "options", "python_requires")
	}
	fits := func(v string) bool { return allowed(v, requires) }
	if v, file := in.hintsOf(pythonTool()).choose(pythonVersions(), 2, fits); v != "" {
		return v, file
	}
	for _, v := range pythonVersions() {
		if fits(v) && (len(named) == 0 || named[v]) {
			return v, fmt.Sprintf("requires-python %q and classifiers", requires)
		}
	}
	for _, v := range pythonVersions() {
		if fits(v) {
			return v, fmt.Sprintf("requires-python %q", requires)
		}
	}
	return pythonVersions()[0], "the default"
}

func quoted(text, name string) string {
	m := regexp.MustCompile(name + `\s*=\s*["']([^"']+)["']`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}

var clause = regexp.MustCompile(`^(>=|<=|==|!=|~=|>|<)\s*([\d.*]+)$`)

// allowed tells whether a minor version fits a specifier such as
// ">=3.9,<3.13"; clauses about patch releases are no hindrance.
func allowed(v, requires string) bool {
	for _, c := range strings.Split(requires, ",") {
		m := clause.FindStringSubmatch(strings.TrimSpace(c))
		if m == nil {
			continue
		}
		bound := strings.TrimSuffix(m[2], ".*")
		minor := bound
		if parts := strings.Split(bound, "."); len(parts) > 2 {
			minor = strings.Join(parts[:2], ".")
		}
		switch m[1] {
		case ">=", "~=", ">":
			if newer(minor, v) {
				return false
			}
		case "<=":
			if newer(v, minor) {
				return false
			}
		case "<":
			if !newer(minor, v) && (bound == minor || newer(v, minor)) {
				return false
			}
		case "==":
			if minor != v && strings.Contains(minor, ".") {
				return false
			}
		}
	}
	return true
}

// testGroups are the names of extras and groups that hold what tests need.
func testGroup(name string) bool {
	switch strings.ToLower(strings.NewReplacer("_", "-").Replace(name)) {
	case "test", "tests", "testing", "dev", "develop", "development", "default", "extra", "all", "extras", "test-extra":
		return true
	}
	return false
}

// pythonNeeds are the requirements that the manifests name.
func pythonNeeds(in Input, p pyproject) (needs, why []string) {
	add := func(from string, reqs []string) {
		if len(reqs) > 0 {
			needs = append(needs, reqs...)
			why = append(why, fmt.Sprintf("%d requirements from %s", len(reqs), from))
		}
	}
	add("project.dependencies", p.Project.Dependencies)
	for _, name := range sorted(p.Project.Optional) {
		if testGroup(name) {
			add("optional-dependencies."+name, expand(p, p.Project.Optional[name], 0))
		}
	}
	for _, name := range sorted(p.Groups) {
		if testGroup(name) {
			add("dependency-groups."+name, textsOf(p.Groups[name]))
		}
	}
	add("tool.poetry", poetry(p))
	add("setup.cfg", setupCfg(in.text("setup.cfg")))
	return unique(needs), why
}

func sorted[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func textsOf(in []any) []string {
	var out []string
	for _, v := range in {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

var selfExtra = regexp.MustCompile(`^([A-Za-z0-9._-]+)\[([^\]]+)\]$`)

// expand replaces a project's references to its own extras.
func expand(p pyproject, reqs []string, depth int) []string {
	var out []string
	for _, r := range reqs {
		m := selfExtra.FindStringSubmatch(strings.TrimSpace(r))
		if m == nil || !strings.EqualFold(m[1], p.Project.Name) || depth > 5 {
			out = append(out, r)
			continue
		}
		for _, name := range strings.Split(m[2], ",") {
			out = append(out, expand(p, p.Project.Optional[strings.TrimSpace(name)], depth+1)...)
		}
	}
	return out
}

// poetry turns poetry's tables into requirements; its carets are dropped, as
// the date bounds the versions.
func poetry(p pyproject) []string {
	var out []string
	tables := []map[string]any{p.Tool.Poetry.Dependencies, p.Tool.Poetry.Dev}
	for _, name := range sorted(p.Tool.Poetry.Group) {
		if testGroup(name) {
			tables = append(tables, p.Tool.Poetry.Group[name].Dependencies)
		}
	}
	for _, t := range tables {
		for _, name := range sorted(t) {
			if name != "python" {
				out = append(out, name)
			}
		}
	}
	return out
}

// setupCfgValue is a value of one line in a section of setup.cfg.
func setupCfgValue(text, section, key string) string {
	in := ""
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "[") {
			in = strings.Trim(trimmed, "[]")
		}
		name, value, ok := strings.Cut(trimmed, "=")
		if ok && in == section && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// setupCfg reads install_requires and the test extras of setup.cfg.
func setupCfg(text string) []string {
	var out []string
	section, key := "", ""
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case strings.HasPrefix(trimmed, "["):
			section, key = strings.Trim(trimmed, "[]"), ""
		case line[0] != ' ' && line[0] != '\t':
			name, value, _ := strings.Cut(trimmed, "=")
			key = strings.TrimSpace(name)
			if v := strings.TrimSpace(value); v != "" && wanted(section, key) {
				out = append(out, v)
			}
		case wanted(section, key):
			out = append(out, trimmed)
		}
	}
	return out
}

func wanted(section, key string) bool {
	return (section == "options" && key == "install_requires") || (section == "options.extras_require" && testGroup(key))
}

func requirementFiles(in Input) []string {
	var out []string
	for _, p := range in.under("requirements*.txt", "requirements/*.txt", "*-requirements.txt", "test_requirements.txt") {
		if strings.Count(p, "/") > 1 {
			continue
		}
		out = append(out, p)
	}
	return out
}

func unique(in []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range in {
		s = strings.TrimSpace(s)
		if s != "" && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// useRequirement tells which requirement files are for tests: the plain one,
// test, dev and default ones.
func useRequirement(p string) bool {
	name := strings.TrimSuffix(path.Base(p), ".txt")
	for _, part := range regexp.MustCompile(`[-_.]`).Split(name, -1) {
		switch part {
		case "doc", "docs", "release", "build", "example", "examples", "benchmark", "lint", "developer":
			return false
		}
	}
	return true
}

// pythonInstall is a script that resolves everything as of the date where the
// index tells dates, one requirement at a time where the whole fails: an
// optional package that can't be built must not take the rest with it.
func pythonInstall(in Input, needs, files []string) string {
	var b strings.Builder
	b.WriteString("set -u\n")
	if in.Date.IsZero() {
		b.WriteString("pip() { python3 -m pip install --no-cache-dir \"$@\"; }\n")
	} else {
		fmt.Fprintf(&b, "python3 -m pip install --no-cache-dir uv >/dev/null 2>&1\ndate=%s\n", quarter(in.Date).Format("2006-01-02"))
		b.WriteString("pip() {\n  python3 -m uv pip install --system --break-system-packages --native-tls --exclude-newer \"$date\" \"$@\" || {\n  echo \"$@\" >>/opt/deps/undated.txt\n  python3 -m pip install --no-cache-dir \"$@\"\n  }\n}\n")
	}
	if len(needs) > 0 && needs[0] == pytest {
		fmt.Fprintf(&b, "pip %s || exit 1\n", shell(pytest))
		needs = needs[1:]
	}
	if len(needs) > 0 {
		fmt.Fprintf(&b, "pip %s || for r in %s; do pip \"$r\" || echo \"$r\" >>/opt/deps/missing.txt; done\n", shellWords(needs), shellWords(needs))
	} else {
		for _, f := range files {
			if useRequirement(f) {
				fmt.Fprintf(&b, "pip -r %s || echo %s >>/opt/deps/missing.txt\n", shell(f), shell(f))
			}
		}
	}
	b.WriteString("python3 -m pip freeze >/opt/deps/lock.txt\n")
	return b.String()
}
