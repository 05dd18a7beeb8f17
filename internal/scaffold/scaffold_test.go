package scaffold

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDetect(t *testing.T) {
	m := func(kv ...string) map[string][]byte {
		out := map[string][]byte{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i]] = []byte(kv[i+1])
		}
		return out
	}
	tests := []struct {
		name                  string
		in                    Facts
		language, test, where string
	}{
		{"nothing", Facts{}, "", "", ""},
		{"go", Facts{Manifests: m("go.mod", "")}, "go", "go test ./...", "go.mod"},
		{"rust", Facts{Manifests: m("Cargo.toml", "")}, "rust", "cargo test", "Cargo.toml"},
		{"java", Facts{Manifests: m("pom.xml", "")}, "java", "mvn -q test", "pom.xml"},
		{"java with a wrapper", Facts{Manifests: m("pom.xml", "", "mvnw", "")}, "java", "./mvnw -q test", "mvnw"},
		{"pytest", Facts{Manifests: m("pyproject.toml", "dev = ['pytest>=8']")}, "python", "python -m pytest", "pyproject.toml"},
		{"unittest", Facts{Manifests: m("setup.py", "")}, "python", "python -m unittest", "no mention of pytest"},
		{"conftest", Facts{Manifests: m("setup.py", ""), Paths: []string{"tests/conftest.py"}}, "python", "python -m pytest", "conftest.py"},
		{"npm", Facts{Manifests: m("package.json", `{"scripts":{"test":"jest"}}`)}, "javascript", "npm test", "package.json"},
		{"yarn", Facts{Manifests: m("package.json", `{"scripts":{"test":"jest"}}`, "yarn.lock", "")}, "javascript", "yarn test", "package.json and yarn.lock"},
		{"npm's own placeholder", Facts{Manifests: m("package.json", `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`)}, "javascript", "node --test", "package.json names no test script"},
		{"broken package.json", Facts{Manifests: m("package.json", "{")}, "javascript", "node --test", "package.json names no test script"},
		{"tools in JavaScript", Facts{Manifests: m("go.mod", "", "package.json", "{}"), Paths: []string{"a.go", "b.go", "c.js"}}, "go", "go test ./...", "go.mod"},
		{"mostly JavaScript", Facts{Manifests: m("go.mod", "", "package.json", "{}"), Paths: []string{"a.go", "b.ts", "c.js"}}, "javascript", "node --test", "package.json names no test script"},
		{"no manifest", Facts{Paths: []string{"a.py", "b.py", "c.go"}}, "python", "python -m unittest", "no mention of pytest"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Detect(tt.in)
			if got.Language != tt.language || got.Test != tt.test || got.TestFrom != tt.where {
				t.Errorf("got %q, %q (%q)", got.Language, got.Test, got.TestFrom)
			}
		})
	}
}

func TestCutoff(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	tests := []struct {
		counts [3]int
		want   int
	}{{[3]int{100, 200, 300}, 30}, {[3]int{10, 70, 300}, 20}, {[3]int{1, 2, 3}, 10}, {[3]int{3, 3, 3}, 30}, {[3]int{0, 5, 5}, 20}, {[3]int{}, 30}}
	for _, tt := range tests {
		got := cutoff([]Count{{day(30), tt.counts[0]}, {day(20), tt.counts[1]}, {day(10), tt.counts[2]}})
		if got.Since.Day() != tt.want {
			t.Errorf("%v: got day %d, want %d", tt.counts, got.Since.Day(), tt.want)
		}
	}
}

func TestMinuteIsNeverCrowded(t *testing.T) {
	seen := map[int]bool{}
	for i := range 500 {
		m := minute(fmt.Sprint("repository ", i))
		seen[m] = true
		if m%2 == 0 || m%15 == 0 || m < 3 || m > 57 {
			t.Errorf("minute %d", m)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d minutes are used", len(seen))
	}
}

func TestMakeKeepsForeignWordsInTheirPlace(t *testing.T) {
	f := sampleFound()
	f.Test, f.Branch = "x\nagents: [evil]", "a\"\nagents: [evil]"
	files, err := Make("n\nagents: [evil]", f, Pin{"a/b", strings.Repeat("a", 40), "v1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(files[0].Data), "\nagents: [evil]") {
		t.Errorf("a line was injected:\n%s", files[0].Data)
	}
}

func TestPin(t *testing.T) {
	sha := strings.Repeat("0a", 20)
	for pin, ok := range map[Pin]bool{
		{"assaybot/assay", sha, "v1.2.3"}: true, {"assaybot/assay", sha, "v0.0.0-20260101000000-0123456789ab+dirty"}: true,
		{"assaybot/assay", "main", "v1"}: false, {"assaybot/assay", strings.ToUpper(sha), "v1"}: false, {"assaybot", sha, "v1"}: false,
		{"assaybot/assay", sha, "v1\n- run: x"}: false, {"assaybot/assay", sha, ""}: false, {"a/b@c", sha, "v1"}: false,
	} {
		if err := pin.Check(); (err == nil) != ok {
			t.Errorf("%v: %v", pin, err)
		}
	}
}

func TestCompare(t *testing.T) {
	files := []File{{Path: "a", Data: []byte("1\n")}, {Path: "b", Data: []byte("1\n")}, {Path: "c", Data: []byte("1\n")}, {Path: "d", Data: []byte("1\n"), Config: true}}
	got := map[string]State{}
	for _, c := range Compare(files, map[string][]byte{"b": []byte("1\r\n"), "c": []byte("2\n"), "d": []byte("2\n")}) {
		got[c.File.Path] = c.State
		if (c.State == Same) != (len(c.Diff) == 0) {
			t.Errorf("%s: %q", c.File.Path, c.Diff)
		}
	}
	if d := cmp.Diff(map[string]State{"a": Missing, "b": Same, "c": Differs, "d": Yours}, got); d != "" {
		t.Error(d)
	}
}

// A commit of digits alone, or with one e among them, is no number.
func TestPinStaysText(t *testing.T) {
	for _, sha := range []string{strings.Repeat("0123456789", 4), strings.Repeat("1", 30) + "e" + strings.Repeat("2", 9)} {
		files, err := Make("thing", sampleFound(), Pin{"assaybot/assay", sha, "v1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.Config {
				continue
			}
			w, err := parseWorkflow(f.Path, f.Data)
			if err != nil {
				t.Fatal(err)
			}
			for name, j := range w.jobs {
				with, _ := j["with"].(map[string]any)
				if with["assay-ref"] != sha {
					t.Errorf("%s: job %s hands on %v", f.Path, name, with["assay-ref"])
				}
			}
		}
	}
}
