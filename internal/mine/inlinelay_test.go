package mine

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const rustTests = "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 0), 1);\n    }\n}"

// Mining case 7: the hidden tests take the place of the tests in the agent's
// own version of the file, whose code stays.
func TestMining07TestsAreLaidIntoTheAgentsFile(t *testing.T) {
	fixed := strings.Replace(rustOld, "a - b", "a + b", 1)
	fixed = strings.Replace(fixed, "add(1, 0), 1", "add(1, 2), 3", 1)
	source, tests, why := PartRust([]byte(rustOld), []byte(fixed))
	if why != "" {
		t.Fatal(why)
	}
	if d := cmp.Diff(strings.Replace(rustOld, "a - b", "a + b", 1), string(source)); d != "" {
		t.Errorf("source: %s", d)
	}
	if want := strings.Replace(rustTests, "add(1, 0), 1", "add(1, 2), 3", 1) + "\n"; string(tests) != want {
		t.Errorf("tests: %q", tests)
	}
	code := "/// Adds.\npub fn add(a: i32, b: i32) -> i32 {\n    b + a // mine\n}\n"
	for name, work := range map[string]string{
		"the old tests":           code + "\n" + rustTests + "\n",
		"no tests":                code,
		"no last line break":      strings.TrimSuffix(code, "\n"),
		"tests of its own":        code + "#[test]\nfn mine() {}\n#[allow(unused)]\n// why\n#[cfg(test)]\nuse std::{fmt, io};\n",
		"tests before the code":   rustTests + "\n" + code,
		"an attribute at the end": code + "#[cfg(any())]",
	} {
		got := string(LayRust([]byte(work), tests))
		if strings.Count(got, "#[cfg(test)]") != 1 || strings.Contains(got, "fn mine") || strings.Contains(got, "std::") {
			t.Errorf("%s: tests of the agent's are left:\n%s", name, got)
		}
		if !strings.Contains(got, "b + a // mine") || !strings.HasSuffix(got, "\n"+guard+string(tests)) {
			t.Errorf("%s: laid\n%s", name, got)
		}
		again := LayRust([]byte(got), tests)
		if strings.Count(string(again), "mod tests") != 1 {
			t.Errorf("%s: laid twice\n%s", name, again)
		}
	}
	if got := string(LayRust([]byte(code+rustTests), nil)); got != code {
		t.Errorf("tests that the change removes: %q", got)
	}
}

func TestMining07PartsOfAFile(t *testing.T) {
	nested := "mod a {\n    pub fn f() {}\n    #[cfg(test)]\n    mod tests {\n        #[test]\n        fn t() {}\n    }\n}\n"
	helper := "impl A {\n    #[cfg(test)]\n    fn probe(&self) {}\n}\n"
	two := "#[cfg(test)]\nuse x::{a, b};\n\npub fn f() {}\n\n#[should_panic]\n#[test]\nfn t() { f() }\n"
	for _, c := range []struct{ name, old, merged, source, tests, why string }{
		{"the tests are new", "fn f() {}\n", "fn f() { g() }\n\n" + rustTests + "\n", "fn f() { g() }\n\n\n", rustTests + "\n", ""},
		{"the tests go", "fn f() {}\n" + rustTests + "\n", "fn f() { g() }\n", "fn f() { g() }\n\n" + rustTests + "\n", "", ""},
		{"several", two, strings.Replace(two, "f() }", "f(); f() }", 1), two, "#[cfg(test)]\nuse x::{a, b};\n\n#[should_panic]\n#[test]\nfn t() { f(); f() }\n", ""},
		{"one more", "fn f() {}\n\n#[test]\nfn t() {}\n", "fn f() { g() }\n\n#[test]\nfn t() {}\n\n#[test]\nfn u() {}\n",
			"fn f() { g() }\n\n\n\n#[test]\nfn t() {}\n", "#[test]\nfn t() {}\n\n#[test]\nfn u() {}\n", ""},
		{"tests deep inside change", nested, strings.Replace(nested, "fn t() {}", "fn t() { f() }", 1), "", "", "tests within other items changed"},
		{"a helper deep inside stays", helper + rustTests, helper + "fn g() {}\n" + rustTests, helper + "fn g() {}\n" + rustTests, rustTests + "\n", ""},
	} {
		source, tests, why := PartRust([]byte(c.old), []byte(c.merged))
		if d := cmp.Diff([]string{c.source, c.tests, c.why}, []string{string(source), string(tests), why}); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func FuzzLayRust(f *testing.F) {
	for _, s := range []string{rustOld, "#[test]", "#[cfg(test)] mod x {", "]#[test]", "#[a]#[test]fn f(){};", "}#[cfg(test)]use a;", "/*#[test]"} {
		f.Add(s, rustTests)
	}
	f.Fuzz(func(t *testing.T, work, tests string) {
		if got := LayRust([]byte(work), []byte(tests)); !bytes.HasSuffix(got, []byte(tests)) {
			t.Fatalf("%q over %q: %q", tests, work, got)
		}
		if source, hidden, why := PartRust([]byte(work), []byte(tests)); why == "" {
			laid := LayRust(source, hidden)
			a, _ := testItems(laid)
			b, _ := testItems([]byte(tests))
			if d := cmp.Diff(texts([]byte(tests), b), texts(laid, a)); d != "" {
				t.Fatal(d)
			}
		}
	})
}
