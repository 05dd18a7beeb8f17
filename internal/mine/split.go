package mine

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/assaybot/assay/internal/assay"
)

// Classify says what a slash-separated path of a change is. It looks at whole
// segments of the path and whole words of them, with each language's own
// rules for names, never at substrings: latest.go and checkout/cart.ts are
// source. The first folder that decides wins.
func Classify(name string) assay.FileClass {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	dirs, file := splitPath(name)
	if c, ok := classOfDirs(dirs, file); ok {
		return c
	}
	switch {
	case generatedName(file):
		return assay.ClassGenerated
	case !mainTree(dirs) && testName(file):
		return assay.ClassTest
	case configName(file):
		return assay.ClassConfig
	case docsName(file):
		return assay.ClassDocs
	case configExt(file):
		return assay.ClassConfig
	}
	return assay.ClassSource
}

func splitPath(name string) (dirs []string, file string) {
	parts := strings.Split(name, "/")
	return parts[:len(parts)-1], parts[len(parts)-1]
}

// mainTree tells Maven's and Gradle's src/main, where a folder named test
// is a part of the product.
func mainTree(dirs []string) bool {
	for i := 1; i < len(dirs); i++ {
		if dirs[i] == "main" && dirs[i-1] == "src" {
			return true
		}
	}
	return false
}

func classOfDirs(dirs []string, file string) (assay.FileClass, bool) {
	for i, d := range dirs {
		switch {
		case vendored(d):
			return assay.ClassGenerated, true
		case !mainTree(dirs) && testDir(d, file):
			return assay.ClassTest, true
		case i == 0 && docsDir(d):
			return assay.ClassDocs, true
		case i == 0 && strings.HasPrefix(d, "."):
			return assay.ClassConfig, true
		}
	}
	return "", false
}

func vendored(dir string) bool {
	switch strings.ToLower(dir) {
	case "vendor", "node_modules", "bower_components", "third_party", "thirdparty", "__pycache__", ".yarn", "godeps":
		return true
	}
	return false
}

func docsDir(dir string) bool {
	switch strings.ToLower(dir) {
	case "doc", "docs", "documentation", "website", ".changeset", "changelog.d", "newsfragments":
		return true
	}
	return false
}

// testDir tells a folder of tests. "spec" is one for languages that name
// tests so; elsewhere it holds specifications.
func testDir(dir, file string) bool {
	switch d := strings.ToLower(dir); d {
	case "__tests__", "__mocks__", "__fixtures__", "__snapshots__", "testdata", "unittests", "e2e", "cypress", "fixtures":
		return true
	case "spec", "specs":
		return slices.Contains([]string{".rb", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".php", ".coffee", ".cr", ".lua"}, path.Ext(file))
	}
	w := words(dir)
	for i, word := range w {
		switch {
		case word == "tests":
			return true
		case word == "test" && (i == len(w)-1 || testSecond(w[i+1])):
			return true
		}
	}
	return false
}

// testSecond tells the words that follow "test" in a folder's name.
func testSecond(word string) bool {
	switch word {
	case "case", "cases", "data", "fixture", "fixtures", "resources", "util", "utils", "helper", "helpers",
		"support", "suite", "suites", "files", "projects":
		return true
	}
	return false
}

// words splits a name at signs and at changes of case, in lower case:
// "spotbugsTestCases" is spotbugs, test, cases; "HTTPTest" is http, test.
func words(s string) []string {
	var out []string
	rs := []rune(s)
	word := make([]rune, 0, len(rs))
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	for i, r := range rs {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}

// testName applies the rules of the file's language.
func testName(file string) bool {
	ext := path.Ext(file)
	stem := strings.TrimSuffix(file, ext)
	if strings.EqualFold(ext, ".json") { // keys.test.json, beside cart.test.ts
		return strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec")
	}
	switch languages()[ext] {
	case "go":
		return strings.HasSuffix(stem, "_test")
	case "python":
		return stem == "conftest" || snakeTest(stem)
	case "rust", "dart", "elixir", "shell":
		return snakeTest(stem)
	case "ruby", "lua":
		return snakeTest(stem) || strings.HasSuffix(stem, "_spec") || stem == "spec_helper" || stem == "test_helper" || stem == "rails_helper"
	case "javascript", "typescript":
		return scriptTest(stem)
	case "java", "kotlin", "scala", "groovy", "php", "csharp", "swift":
		return camelTest(stem)
	case "c", "cpp":
		return snakeTest(stem) || camelTest(stem) || strings.HasSuffix(stem, "_unittest")
	}
	return ext == ".snap" || ext == ".bats" || ext == ".phpt" || ext == ".t"
}

func snakeTest(stem string) bool {
	return stem == "test" || stem == "tests" || strings.HasPrefix(stem, "test_") ||
		strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "_tests")
}

// scriptTest: cart.test.ts, cart.spec.js, cart.e2e-spec.ts, cart-test.js.
func scriptTest(stem string) bool {
	parts := strings.Split(stem, ".")
	for _, p := range parts[1:] {
		switch p {
		case "test", "tests", "spec", "e2e", "e2e-spec", "cy", "test-d", "int-test":
			return true
		}
	}
	first := parts[0]
	return first == "test" || strings.HasSuffix(first, "-test") || strings.HasSuffix(first, "_test") ||
		strings.HasSuffix(first, "-spec") || strings.HasSuffix(first, "_spec")
}

// camelTest: CartTest, CartTests, CartTestCase, CartIT, CartSpec, TestCart;
// not Latest, Contest, or TEST in the middle.
func camelTest(stem string) bool {
	w := words(stem)
	if len(w) < 2 {
		return stem == "Test" || stem == "Tests"
	}
	last := w[len(w)-1]
	switch last {
	case "test", "tests", "spec", "specs", "cest":
		return true
	case "case":
		return w[len(w)-2] == "test" || strings.HasSuffix(stem, "ITCase")
	case "it":
		return strings.HasSuffix(stem, "IT")
	}
	return strings.HasPrefix(stem, "Test")
}

func generatedName(file string) bool {
	low := strings.ToLower(file)
	switch low {
	case "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock",
		"go.sum", "go.work.sum", "cargo.lock", "poetry.lock", "pdm.lock", "uv.lock", "pipfile.lock", "gemfile.lock",
		"composer.lock", "packages.lock.json", "gradle.lockfile", "mix.lock", "pubspec.lock", "flake.lock", "podfile.lock":
		return true
	}
	for _, suffix := range []string{".min.js", ".min.css", ".js.map", ".css.map", ".pb.go", ".pb.gw.go", "_pb2.py", "_pb2.pyi",
		"_pb2_grpc.py", ".pb.cc", ".pb.h", "_pb.js", "_pb.d.ts", "_pb.rb", ".designer.cs", ".g.cs", ".g.dart", "_generated.go", "_gen.go"} {
		if strings.HasSuffix(low, suffix) {
			return true
		}
	}
	return strings.HasPrefix(low, "zz_generated") || strings.Contains(low, ".generated.")
}

func docsName(file string) bool {
	low := strings.ToLower(file)
	switch path.Ext(low) {
	case ".md", ".mdx", ".rst", ".adoc", ".txt", ".rdoc", ".pod":
		return true
	}
	stem, _, _ := strings.Cut(low, ".")
	switch stem {
	case "readme", "changelog", "changes", "history", "news", "license", "licence", "copying", "authors", "contributors",
		"contributing", "notice", "codeowners", "security", "maintainers":
		return path.Ext(low) == "" || !known(path.Ext(low))
	}
	return false
}

func known(ext string) bool { return languages()[ext] != "" }

// configName tells files of build tools and checkers by their whole names.
func configName(file string) bool {
	low := strings.ToLower(file)
	switch low {
	case "package.json", "pyproject.toml", "setup.py", "setup.cfg", "noxfile.py", "go.mod", "go.work", "cargo.toml", "build.rs",
		"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "makefile", "gnumakefile",
		"cmakelists.txt", "meson.build", "build.bazel", "workspace", "dockerfile", "gemfile", "rakefile", "composer.json",
		"manifest.in", "pipfile", "phpunit.xml", "phpunit.xml.dist", "nuget.config", "directory.build.props",
		"directory.packages.props", "global.json", "build.sbt", "justfile", "procfile", "jenkinsfile", "renovate.json", "turbo.json", "nx.json", "lerna.json":
		return true
	}
	stem, rest, _ := strings.Cut(low, ".")
	switch {
	case strings.HasPrefix(file, "."):
		return true
	case stem == "dockerfile", strings.HasPrefix(low, "docker-compose"):
		return true
	case strings.HasPrefix(low, "requirements") && strings.HasSuffix(low, ".txt"), strings.HasPrefix(low, "constraints") && strings.HasSuffix(low, ".txt"):
		return true
	case strings.HasPrefix(low, "tsconfig") && strings.HasSuffix(low, ".json"):
		return true
	}
	// jest.config.js, vite.config.mts, eslint.config.js.
	return strings.HasPrefix(rest, "config.") && languages()["."+strings.TrimPrefix(rest, "config.")] != ""
}

func configExt(file string) bool {
	switch strings.ToLower(path.Ext(file)) {
	case ".toml", ".ini", ".cfg", ".yml", ".yaml", ".csproj", ".fsproj", ".vbproj", ".sln", ".props", ".targets",
		".gemspec", ".gradle", ".cmake", ".bzl", ".podspec", ".nix", ".mk":
		return true
	}
	return false
}

// languages maps an extension to the name of its language.
func languages() map[string]string { return byExt }

// byExt is never written to.
var byExt = map[string]string{
	".go": "go", ".py": "python", ".pyi": "python", ".pyx": "python",
	".js": "javascript", ".jsx": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".vue": "javascript", ".svelte": "javascript",
	".ts": "typescript", ".tsx": "typescript", ".mts": "typescript", ".cts": "typescript",
	".rs": "rust", ".java": "java", ".kt": "kotlin", ".kts": "kotlin", ".scala": "scala", ".groovy": "groovy",
	".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp", ".ipp": "cpp",
	".rb": "ruby", ".php": "php", ".cs": "csharp", ".swift": "swift", ".dart": "dart", ".ex": "elixir", ".exs": "elixir",
	".lua": "lua", ".sh": "shell", ".bash": "shell",
}

// Language is the language with most changed lines in source files, else in
// tests; "" where no file has a known one. Ties go to the first by name.
func Language(files []assay.SplitFile) string {
	for _, classes := range [][]assay.FileClass{{assay.ClassSource, assay.ClassInline}, {assay.ClassTest}} {
		lines := map[string]int{}
		for _, f := range files {
			if l := languages()[path.Ext(f.Path)]; l != "" && slices.Contains(classes, f.Class) {
				lines[l] += 1 + f.Added + f.Removed
			}
		}
		// Headers go with C++ where there is any.
		if lines["cpp"] > 0 {
			lines["cpp"] += lines["c"]
			delete(lines, "c")
		}
		best := ""
		for l, n := range lines {
			if best == "" || n > lines[best] || n == lines[best] && l < best {
				best = l
			}
		}
		if best != "" {
			return best
		}
	}
	return ""
}

// Files lists the paths of a parsed diff with their classes and sizes, in the
// order of the diff. Status is added, modified, deleted, renamed or copied. A
// file that moves between classes counts as what it is after.
func Files(diff []*gitdiff.File) []assay.SplitFile {
	out := make([]assay.SplitFile, 0, len(diff))
	for _, f := range diff {
		s := assay.SplitFile{Path: f.NewName, Status: "modified", Binary: f.IsBinary}
		switch {
		case f.IsNew:
			s.Status = "added"
		case f.IsDelete:
			s.Path, s.Status = f.OldName, "deleted"
		case f.IsRename:
			s.Old, s.Status = f.OldName, "renamed"
		case f.IsCopy:
			s.Old, s.Status = f.OldName, "copied"
		}
		s.Class = Classify(s.Path)
		for _, frag := range f.TextFragments {
			s.Added, s.Removed = s.Added+int(frag.LinesAdded), s.Removed+int(frag.LinesDeleted)
		}
		out = append(out, s)
	}
	return out
}
