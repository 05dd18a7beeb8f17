package mine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

func TestMining06SegmentsNotSubstrings(t *testing.T) {
	for name, want := range map[string]assay.FileClass{
		"src/spotbugsTestCases/A.java": assay.ClassTest,
		"latest.go":                    assay.ClassSource,
		"contest.rs":                   assay.ClassSource,
		"src/checkout/cart.ts":         assay.ClassSource,
		"Latest.java":                  assay.ClassSource,
		"src/Latest.java":              assay.ClassSource,
		"buildkit/solver.go":           assay.ClassSource,
		"fanout/x.go":                  assay.ClassSource,
	} {
		if got := Classify(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestClassify(t *testing.T) {
	for want, names := range map[assay.FileClass]string{
		assay.ClassTest: `pkg/a_test.go internal/x/testdata/in.json tests/test_a.py test_a.py pkg/a_test.py conftest.py app/tests.py
			src/cart.test.ts src/jwk/keys.test.json src/cart.spec.tsx e2e/login.ts src/__tests__/cart.js src/__snapshots__/cart.test.js.snap web/cart.e2e-spec.ts cart.cy.ts test/index.js
			crates/a/tests/it.rs src/tests.rs src/parser_test.rs src/test/java/a/FooBar.java src/androidTest/A.kt FooTest.java FooTests.java FooIT.java TestFoo.java FooTestCase.java FooSpec.scala
			foo_test.cc foo_unittest.cc FooTest.cpp test_foo.c spec/models/user_spec.rb test/user_test.rb spec/spec_helper.rb tests/Unit/UserTest.php a.phpt
			MyLib.Tests/FooTests.cs MyLib.UnitTests/Helper.cs src/FooTest.cs unit-tests/a.js integration_tests/x.py testdata/vendor/x.go tests/package-lock.json integrationTest/A.java HTTPTest.java`,
		assay.ClassSource: `main.go src/attest.py attestation.py protest.rb src/main/java/org/springframework/test/context/TestContext.java src/fastest.js manifest.ts
			greatest.go src/Contest.java inspect.py spectrum/a.py aspect.rb Detest.cs latest_release.py spec.go spec/openapi.go contest/a.c lib/testing/x.go src/i18n/en.json respec.js
			src/document.md.ts edit.go Audit.java src/LatestNews/a.tsx Exit.java TESTAMENT.c unittest/mock.py`,
		assay.ClassGenerated: `go.sum web/package-lock.json yarn.lock Cargo.lock poetry.lock vendor/a/b.go vendor/a/b_test.go node_modules/x/index.js dist.min.js api/a.pb.go a_pb2.py zz_generated.deepcopy.go Form1.Designer.cs schema.generated.ts`,
		assay.ClassDocs:      `README.md docs/index.html docs/conf.py CHANGELOG LICENSE src/notes.rst a.txt doc/x.c`,
		assay.ClassConfig:    `package.json pyproject.toml go.mod Makefile Dockerfile .github/workflows/ci.yml .gitignore jest.config.js tsconfig.build.json requirements-dev.txt CMakeLists.txt a.csproj Cargo.toml tox.ini build.gradle.kts .eslintrc.json`,
	} {
		for _, name := range strings.Fields(names) {
			if got := Classify(name); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	}
}

func TestLanguage(t *testing.T) {
	f := func(path string, class assay.FileClass, added int) assay.SplitFile {
		return assay.SplitFile{Path: path, Class: class, Added: added}
	}
	for _, c := range []struct {
		files []assay.SplitFile
		want  string
	}{
		{nil, ""},
		{[]assay.SplitFile{f("a.py", assay.ClassSource, 5), f("b_test.go", assay.ClassTest, 500), f("c.js", assay.ClassSource, 4)}, "python"},
		{[]assay.SplitFile{f("a.js", assay.ClassSource, 5), f("b.py", assay.ClassSource, 5)}, "javascript"},
		{[]assay.SplitFile{f("a.h", assay.ClassSource, 50), f("b.cpp", assay.ClassSource, 5)}, "cpp"},
		{[]assay.SplitFile{f("README.md", assay.ClassDocs, 50), f("b_test.rb", assay.ClassTest, 5)}, "ruby"},
	} {
		if got := Language(c.files); got != c.want {
			t.Errorf("%v: %q, want %q", c.files, got, c.want)
		}
	}
}

const rustOld = `use std::fmt;

/// Adds. Braces in text don't count: }
pub fn add(a: i32, b: i32) -> i32 {
    let _brace = '{';
    let _s = r#"#[cfg(test)] mod x { "#;
    a - b
}

pub fn name<'a>(s: &'a str) -> &'a str {
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 0), 1);
    }
}
`

// diffOf makes the diff of one file with the git program.
func diffOf(t *testing.T, old, new string) *gitdiff.File {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git program")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"a.rs": old, "b.rs": new} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(git, "diff", "--no-index", "--no-color", "--no-ext-diff", "a.rs", "b.rs")
	cmd.Dir = dir
	out, _ := cmd.Output() // exit 1: they differ
	files, _, err := gitdiff.Parse(strings.NewReader(string(out)))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v:\n%s", len(files), err, out)
	}
	return files[0]
}

func TestMining07RustInlineTestsAreSplitByHunk(t *testing.T) {
	fix := strings.Replace(rustOld, "a - b", "a + b", 1)
	addTest := func(s string) string {
		return strings.Replace(s, "    #[test]\n", "    #[test]\n    fn adds_more() {\n        assert_eq!(add(1, 2), 3);\n    }\n\n    #[test]\n", 1)
	}
	addFn := strings.Replace(fix, "#[cfg(test)]\nmod", "pub fn twice(a: i32) -> i32 {\n    add(a, a)\n}\n\n#[cfg(test)]\nmod", 1)
	noTests := rustOld[:strings.Index(rustOld, "#[cfg(test)]\nmod")]
	for _, c := range []struct{ name, old, new, source, tests string }{
		{"both, far apart", rustOld, addTest(fix), fix, addTest(rustOld)},
		{"both, in one hunk", rustOld, addTest(addFn), addFn, addTest(rustOld)},
		{"source only", rustOld, fix, fix, rustOld},
		{"tests only", rustOld, addTest(rustOld), rustOld, addTest(rustOld)},
	} {
		got, ok := SplitRust(diffOf(t, c.old, c.new), []byte(c.old), []byte(c.new))
		if !ok {
			t.Errorf("%s: not separable", c.name)
		}
		if d := cmp.Diff(c.source, string(got.SourceOnly)); d != "" {
			t.Errorf("%s: source: %s", c.name, d)
		}
		if d := cmp.Diff(c.tests, string(got.TestsOnly)); d != "" {
			t.Errorf("%s: tests: %s", c.name, d)
		}
		if got.HasSource != (c.source != c.old) || got.Test != (c.tests != c.old) {
			t.Errorf("%s: has source %v, tests %v", c.name, got.HasSource, got.Test)
		}
	}
	// A module of tests that is new, together with the fix.
	whole := strings.Replace(noTests, "a - b", "a + b", 1) + "#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n"
	got, ok := SplitRust(diffOf(t, noTests, whole), []byte(noTests), []byte(whole))
	if !ok || strings.Contains(string(got.SourceOnly), "mod tests") || !strings.Contains(string(got.TestsOnly), "a - b") {
		t.Errorf("a new module: %v\n%s", ok, got.SourceOnly)
	}
}

func TestMining07InseparableIsSaid(t *testing.T) {
	// A function moves into the tests: neither half can stand alone.
	moved := strings.Replace(rustOld, "pub fn name<'a>(s: &'a str) -> &'a str {\n    s\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n",
		"#[cfg(test)]\nmod tests {\n    use super::*;\n\n    pub fn name<'a>(s: &'a str) -> &'a str {\n        s\n    }\n", 1)
	cfg := strings.Replace(rustOld, "#[cfg(test)]\nmod", "#[cfg(feature = \"x\")]\nmod", 1)
	for name, text := range map[string]string{"the attribute goes": cfg} {
		if _, ok := SplitRust(diffOf(t, rustOld, text), []byte(rustOld), []byte(text)); ok {
			t.Errorf("%s: counts as separable", name)
		}
	}
	if got, ok := SplitRust(diffOf(t, rustOld, moved), []byte(rustOld), []byte(moved)); ok && strings.Contains(string(got.SourceOnly), "pub fn name") {
		t.Errorf("moved: the source half keeps what it lost:\n%s", got.SourceOnly)
	}
}

func TestRustTests(t *testing.T) {
	got := RustTests([]byte(rustOld))
	if d := cmp.Diff([]Lines{{14, 22}}, got); d != "" {
		t.Error(d)
	}
	src := "#[cfg(all(test, feature = \"x\"))]\nuse a::{b};\nfn a() {}\n#[tokio::test]\nasync fn t() {\n  let c = '}'; /* } /* } */ */ let s = \"}\\\"}\"; let l: &'static str = br##\"}\"#\"##;\n}\nfn b() {}\n#[cfg(not(test))]\nfn c() {}\n#[cfg(test)]\nmod more;\n"
	// "use a::{b};" ends at its brace or semicolon: the same line.
	if d := cmp.Diff([]Lines{{1, 2}, {4, 7}, {11, 12}}, RustTests([]byte(src))); d != "" {
		t.Error(d)
	}
}

func FuzzRustTests(f *testing.F) {
	for _, s := range []string{rustOld, "#[test]", "#[cfg(test)] mod x {", "'", "r#\"", "/*", "b'\\", "#[test]fn a(){'a:loop{}}", "\"\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		for _, r := range RustTests([]byte(s)) {
			if r.First < 1 || r.Last < r.First || r.First < last {
				t.Fatalf("%q: %v", s, r)
			}
			last = r.Last
		}
	})
}

func TestFiles(t *testing.T) {
	diff := "diff --git a/src/a.go b/src/a.go\nindex 1..2 100644\n--- a/src/a.go\n+++ b/src/a.go\n@@ -1 +1,2 @@\n-a\n+b\n+c\n" +
		"diff --git a/old_test.go b/new_test.go\nsimilarity index 100%\nrename from old_test.go\nrename to new_test.go\n" +
		"diff --git a/x.png b/x.png\nnew file mode 100644\nindex 000..123\nBinary files /dev/null and b/x.png differ\n" +
		"diff --git a/gone.py b/gone.py\ndeleted file mode 100644\nindex 1..0\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
	files, _, err := gitdiff.Parse(strings.NewReader(diff))
	if err != nil {
		t.Fatal(err)
	}
	want := []assay.SplitFile{
		{Path: "src/a.go", Class: assay.ClassSource, Status: "modified", Added: 2, Removed: 1},
		{Path: "new_test.go", Old: "old_test.go", Class: assay.ClassTest, Status: "renamed"},
		{Path: "x.png", Class: assay.ClassSource, Status: "added", Binary: true},
		{Path: "gone.py", Class: assay.ClassSource, Status: "deleted", Removed: 1},
	}
	if d := cmp.Diff(want, Files(files)); d != "" {
		t.Error(d)
	}
}
