// Package scaffold decides what 'assay init' writes into a repository: the run
// configuration and the workflows that call assay's own ones at one commit. It
// is pure: it takes what a repository says of itself and returns files and
// differences; it reads nothing, writes nothing and never guesses in silence
// (every choice says where it comes from).
package scaffold

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Facts are what a repository says of itself. Manifests are files of its root
// by name; Paths are files of the whole, for counting. Branch is the default
// branch, "" when it isn't known. Counts tell how many changes were merged
// since a date, from the latest date to the earliest.
type Facts struct {
	Name      string
	Manifests map[string][]byte
	Paths     []string
	Branch    string
	Counts    []Count
}

// Count is how many changes of the main line were merged since a day.
type Count struct {
	Since   time.Time
	Changes int
}

// Found is what was detected, each with the file that says so.
type Found struct {
	Language, LanguageFrom string
	Test, TestFrom         string
	Branch                 string
	Cutoff                 Count
	Counts                 []Count
}

// ManifestNames are the files of a root that Detect reads.
func ManifestNames() []string {
	return []string{
		"go.mod", "Cargo.toml", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "requirements-dev.txt",
		"tox.ini", "pytest.ini", "package.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "pom.xml", "mvnw",
	}
}

// enough is how many changes a suite is made of in comfort: about one in
// three becomes a task.
const enough = 60

// Detect looks at facts.
func Detect(f Facts) Found {
	out := Found{Branch: f.Branch, Counts: f.Counts}
	out.Language, out.LanguageFrom = language(f)
	out.Test, out.TestFrom = test(f, out.Language)
	out.Cutoff = cutoff(f.Counts)
	return out
}

// cutoff is the latest day with enough changes since; where no day has enough,
// the latest of those with most.
func cutoff(counts []Count) (best Count) {
	for i, c := range counts {
		if i == 0 || (best.Changes < enough && c.Changes > best.Changes) {
			best = c
		}
	}
	return best
}

// language is the one of the root's manifest; of several, the one with most
// files, as without any.
func language(f Facts) (name, from string) {
	var found []string
	manifest := map[string]string{}
	for _, m := range []struct{ file, language string }{
		{"go.mod", "go"}, {"Cargo.toml", "rust"}, {"pyproject.toml", "python"}, {"setup.py", "python"},
		{"setup.cfg", "python"}, {"requirements.txt", "python"}, {"package.json", "javascript"}, {"pom.xml", "java"},
	} {
		if _, ok := f.Manifests[m.file]; ok && manifest[m.language] == "" {
			manifest[m.language] = m.file
			found = append(found, m.language)
		}
	}
	files := byLanguage(f.Paths)
	if len(found) == 0 {
		for l := range files {
			found = append(found, l)
		}
		slices.Sort(found)
	}
	if len(found) == 0 {
		return "", ""
	}
	best := slices.MaxFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(files[a], files[b]), slices.Index(found, b)-slices.Index(found, a))
	})
	return best, cmp.Or(manifest[best], "the files' endings")
}

func byLanguage(paths []string) map[string]int {
	endings := map[string]string{
		".go": "go", ".rs": "rust", ".py": "python", ".js": "javascript", ".ts": "javascript", ".tsx": "javascript",
		".jsx": "javascript", ".mjs": "javascript", ".java": "java",
	}
	out := map[string]int{}
	for _, p := range paths {
		if l := endings[path.Ext(p)]; l != "" {
			out[l]++
		}
	}
	return out
}

// test is the command that people run the tests with.
func test(f Facts, language string) (command, from string) {
	switch language {
	case "go":
		return "go test ./...", "go.mod"
	case "rust":
		return "cargo test", "Cargo.toml"
	case "java":
		if _, ok := f.Manifests["mvnw"]; ok {
			return "./mvnw -q test", "mvnw"
		}
		return "mvn -q test", "pom.xml"
	case "python":
		return pythonTest(f)
	case "javascript":
		return nodeTest(f)
	}
	return "", ""
}

var pytest = regexp.MustCompile(`(?m)\bpytest\b`)

func pythonTest(f Facts) (command, from string) {
	for _, name := range []string{"pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt", "requirements.txt"} {
		if data, ok := f.Manifests[name]; ok && (name == "pytest.ini" || pytest.Match(data)) {
			return "python -m pytest", name
		}
	}
	if slices.Contains(f.Paths, "conftest.py") || slices.Contains(f.Paths, "tests/conftest.py") {
		return "python -m pytest", "conftest.py"
	}
	return "python -m unittest", "no mention of pytest"
}

func nodeTest(f Facts) (command, from string) {
	var p struct {
		Scripts map[string]string `json:"scripts"`
	}
	// A package.json that can't be read names no script.
	_ = json.Unmarshal(f.Manifests["package.json"], &p)
	script := p.Scripts["test"]
	if script == "" || strings.Contains(script, "no test specified") {
		return "node --test", "package.json names no test script"
	}
	for _, m := range []struct{ lock, command string }{
		{"pnpm-lock.yaml", "pnpm test"}, {"yarn.lock", "yarn test"}, {"bun.lock", "bun run test"},
	} {
		if _, ok := f.Manifests[m.lock]; ok {
			return m.command, "package.json and " + m.lock
		}
	}
	return "npm test", "package.json"
}
