package testlog_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testlog"
)

func parse(t *testing.T, format, report string) testlog.Log {
	t.Helper()
	log, err := testlog.Parse(format, strings.NewReader(report))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestUnknownFormatIsTheUsersMistake(t *testing.T) {
	_, err := testlog.Parse("auto", strings.NewReader(""))
	if !assay.IsUser(err) || !strings.Contains(err.Error(), "junit") {
		t.Errorf("got %v; want a user error that names the formats", err)
	}
	if _, err := testlog.ParseAll("auto", nil); !assay.IsUser(err) {
		t.Errorf("ParseAll: got %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("disk gone") }

func TestReadErrorIsAnError(t *testing.T) {
	if _, err := testlog.Parse("junit", broken{}); err == nil || !strings.Contains(err.Error(), "disk gone") {
		t.Errorf("got %v", err)
	}
}

// A report that was cut off anywhere never passes for a complete one, unless
// no test is gone.
func TestTornReportsAreSuspect(t *testing.T) {
	for _, format := range testlog.Formats() {
		files, _ := filepath.Glob("testdata/*." + format)
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			full := parse(t, format, string(data))
			end := len(bytes.TrimSpace(data))
			cuts := []int{1, 7, end / 3, end / 2, end - 40, end - 1}
			if format == "cargo" { // between two programs there is nothing to see; the exit status tells
				cuts = cuts[:4]
			}
			for _, cut := range cuts {
				torn := parse(t, format, string(data[:cut]))
				if len(torn.Suspect) == 0 && len(torn.Tests) > 0 && !cmp.Equal(torn.Tests, full.Tests) {
					t.Errorf("%s cut at %d of %d: %d of %d tests and nothing suspect", file, cut, end, len(torn.Tests), len(full.Tests))
				}
			}
		}
	}
}

func TestSuspect(t *testing.T) {
	tests := []struct{ name, format, report, want string }{
		{"more declared than found", "junit", `<testsuite tests="3"><testcase name="a"/></testsuite>`, "3 tests declared, 1 found"},
		{"fewer declared than found", "junit", `<testsuite tests="1" failures="0"><testcase name="a"/><testcase name="b"/></testsuite>`, "1 tests declared, 2 found"},
		{"failures without a case", "junit", `<testsuite tests="1" failures="1"><testcase name="a"/></testsuite>`, "1 failures and errors declared, 0 found"},
		{"hidden failures", "junit", `<testsuite tests="1" failures="0" errors="0"><testcase name="a"><failure/></testcase></testsuite>`, "0 failures and errors declared, 1 found"},
		{"totals of the root", "junit", `<testsuites tests="9"><testsuite tests="1"><testcase name="a"/></testsuite></testsuites>`, "9 tests declared"},
		{"two documents", "junit", `<testsuite/><testsuite/>`, "several documents"},
		{"text around", "junit", `<testsuite/>ok`, "outside"},
		{"another document", "junit", `<html><body/></html>`, "root element is <html>"},
		{"nothing", "junit", ``, "no XML document"},
		{"no XML", "junit", `PASSED everything`, "outside"},
		{"nested cases", "junit", `<testsuite><testcase name="a"><testcase name="b"/></testcase></testsuite>`, "holds a <testcase>"},
		{"a case without a suite", "junit", `<testsuites><testcase name=" "/></testsuites>`, "a test has no name"},
		{"deep", "junit", strings.Repeat("<testsuite>", 200000), "deeper"},
		{"entity bomb", "junit", `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>`, "malformed"},
		{"package without an end", "gotest-json", `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
`, "package p never ended"},
		{"passed and failed", "gotest-json", `{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, "passed though"},
		{"ended twice", "gotest-json", `{"Action":"fail","Package":"p"}
{"Action":"pass","Package":"p"}
`, "ended twice"},
		{"tests of what didn't build", "gotest-json", `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`, "didn't build and yet"},
		{"dots only", "pytest-text", "...\n3 passed in 0.01s\n", "says 3 passed, the lines 0"},
		{"a printed verdict", "pytest-text", "t.py::test_a PASSED [ 50%]\nt.py::test_b PASSED\nt.py::test_b FAILED [100%]\n=== 1 failed, 1 passed in 0.01s ===\n", "says 1 passed, the lines 2"},
		{"a printed summary", "pytest-text", "== short test summary info ==\nPASSED t.py::test_a\n== short test summary info ==\nPASSED t.py::test_a\n= 1 passed in 0.01s =\n", "two short summaries"},
		{"two ends", "pytest-text", "t.py::test_a PASSED\n= 1 passed in 0.01s =\n= 1 passed in 0.01s =\n", "two closing lines"},
		{"a printed line", "unittest", "test_a (m.C.test_a) ... test_b (m.C.test_b) ... ok\nok\n\n------\nRan 1 test in 0.0s\n\nOK\n", ""},
		{"an extra test", "unittest", "test_a (m.C.test_a) ... ok\ntest_b (m.C.test_b) ... ok\n\n---\nRan 1 test in 0.0s\n\nOK\n", "says 1 tests, the lines 2"},
		{"OK and failed", "unittest", "test_a (m.C.test_a) ... FAIL\n\n---\nRan 1 test in 0.0s\n\nOK\n", "OK though"},
		{"plan", "tap", "1..3\nok 1 - a\n", "3 tests are planned, 1 found"},
		{"no plan", "tap", "ok 1 - a\n", "plan is missing"},
		{"two plans", "tap", "1..1\nok 1 - a\n1..1\n", "two plans"},
		{"bail out", "tap", "1..1\nok 1 - a\nBail out! no database\n", "no database"},
		{"subtest plan", "tap", "    ok 1 - in\nok 1 - a\n1..1\n", "don't keep to their plan"},
		{"interrupted", "jest", `{"numTotalTests":0,"wasInterrupted":true}`, "interrupted"},
		{"totals", "jest", `{"numTotalTests":2,"testResults":[]}`, "2 tests declared, 0 found"},
		{"success", "jest", `{"numTotalTests":0,"success":true,"testResults":[{"name":"f","status":"failed"}]}`, "success though"},
		{"two values", "jest", `{"numTotalTests":0}{}`, "more than one"},
		{"another file", "jest", `{}`, "no jest report"},
		{"another file", "mocha", `{}`, "no mocha report"},
		{"totals", "cargo", "running 2 tests\ntest a ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored;\n", "2 planned"},
		{"no end", "cargo", "running 1 test\ntest a ... ok\n", "no closing line"},
	}
	for _, tt := range tests {
		t.Run(tt.format+" "+tt.name, func(t *testing.T) {
			got := strings.Join(parse(t, tt.format, tt.report).Suspect, "\n")
			if !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") {
				t.Errorf("suspect %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReports(t *testing.T) {
	tests := []struct{ name, format, report, want string }{
		{"worst status wins", "junit", `<testsuite><testcase classname="c" name="a[x y]"><failure message="m"/></testcase><testcase classname="c" name="a[x y]"/></testsuite>`,
			"failed  \"c::a[x y]\" : \"m\"\n"},
		{"clause", "junit", `<testsuite tests="1"><testcase classname="m.C" name="t"><properties><property name="clause" value="It works."/></properties></testcase></testsuite>`,
			"passed  \"m.C::t\" clause \"It works.\"\n"},
		{"latin-1", "junit", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><testsuite><testcase name=\"caf\xe9\"/></testsuite>",
			"passed  \"café\"\n"},
		{"stray bytes", "junit", "\xef\xbb\xbf<testsuite><testcase name=\"a\x01\xff\"/></testsuite>",
			"passed  \"a\uFFFD\uFFFD\"\n"},
		{"nested suites", "junit", `<testsuites tests="2"><testsuite tests="2"><testsuite tests="1"><testcase name="a"/></testsuite><testcase name="b"/></testsuite></testsuites>`,
			"passed  \"a\"\npassed  \"b\"\n"},
		{"DOCTYPE", "junit", `<!DOCTYPE testsuite SYSTEM "http://example.org/x.dtd"><testsuite><testcase name="a"/></testsuite>`, "passed  \"a\"\n"},
		{"unexpected success", "junit", `<testsuite failures="1"><testcase name="a"><failure type="xpass" message="m"/></testcase></testsuite>`, "xpass   \"a\" : \"m\"\n"},
		{"zero tests", "junit", `<testsuites tests="0"/>`, ""},
		{"no build, old", "gotest-json", "# p\n./x.go:1:1: undefined: y\nFAIL\tp [build failed]\n{\"Action\":\"skip\",\"Package\":\"q\"}\n", "BUILD FAILED p\n"},
		{"no build, setup", "gotest-json", "{\"Action\":\"output\",\"Package\":\"p\",\"Output\":\"FAIL\\tp [setup failed]\\n\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n", "BUILD FAILED p\n"},
		{"panic elsewhere", "gotest-json", "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestA\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n",
			"error   \"p.TestA\" : \"the test began and never ended\"\n"},
		{"interleaved", "gotest-json", "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestA\"}\n{not json\nnoise\n\xff\n{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestA\",\"Elapsed\":0.5}\n{\"Action\":\"pass\",\"Package\":\"p\"}\n",
			"passed  \"p.TestA\"\n"},
		{"several runs", "gotest-json", "{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestA\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n",
			"failed  \"p.TestA\"\n"},
		{"xdist and colours", "pytest-text", "[gw0] [ 50%] \x1b[32mPASSED\x1b[0m t.py::test_a[x y] \n[gw1] [100%] FAILED t.py::test_b[a - b] \n= short test summary info =\nFAILED t.py::test_b[a - b] - assert 1 == 2 - no\n= 1 failed, 1 passed in 1.20s =\n",
			"passed  \"t.py::test_a[x y]\"\nfailed  \"t.py::test_b[a - b]\" : \"assert 1 == 2 - no\"\n"},
		{"bare word", "pytest-text", "PASSED\nPASSED \n= no tests ran in 0.01s =\n", ""},
		{"older unittest", "unittest", "test_a (m.C)\nIt counts. ... ok\ntest_b (m.C) ... skipped 'x'\n\n---\nRan 2 tests in 0.001s\n\nOK (skipped=1)\n",
			"passed  \"m.C.test_a\" clause \"It counts.\"\nskipped \"m.C.test_b\"\n"},
		{"no tests", "unittest", "\n---\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", ""},
		{"skip all", "tap", "1..0 # SKIP no network\n", ""},
		{"numbers", "tap", "ok\nnot ok\n1..2\n", "passed  \"1\"\nfailed  \"2\"\n"},
		{"own and printed", "cargo", "running 1 test\ntest a ... printed\nok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n", "passed  \"a\"\n"},
		{"no build", "cargo", "error: could not compile `x` (lib test) due to 1 previous error\n", "BUILD FAILED x\n"},
		{"timing", "cargo", "running 1 test\ntest a ... ok <0.001s>\ntest a ... ok (0.01s)\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n", "passed  \"a\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.format+" "+tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, text(parse(t, tt.format, tt.report))); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestParseAll(t *testing.T) {
	a := []byte(`<testsuite tests="1"><testcase classname="A" name="x"/></testsuite>`)
	b := []byte(`<testsuite tests="2"><testcase classname="B" name="x"/></testsuite>`)
	log, err := testlog.ParseAll("surefire", map[string][]byte{"TEST-B.xml": b, "TEST-A.xml": a, "A.txt": []byte("Tests run: 1")})
	if err != nil {
		t.Fatal(err)
	}
	want := "passed  \"A::x\"\npassed  \"B::x\"\nSUSPECT TEST-B.xml: the totals of suite \"\" contradict its cases: 2 tests declared, 1 found\n"
	if d := cmp.Diff(want, text(log)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	log, err = testlog.ParseAll("junit", map[string][]byte{"a.xml": a, "b.xml": a})
	if err != nil {
		t.Fatal(err)
	}
	if len(log.Suspect) != 1 || !strings.Contains(log.Suspect[0], "several reports") {
		t.Errorf("suspect: %q", log.Suspect)
	}
	if log, err := testlog.ParseAll("tap", nil); err != nil || len(log.Tests)+len(log.Suspect) > 0 {
		t.Errorf("no files: %+v, %v", log, err)
	}
}

// One line of 10 MB, as a test that dumps a blob makes it, costs no test.
func TestLongLines(t *testing.T) {
	blob := strings.Repeat("x", 10<<20)
	reports := map[string]string{
		"junit":       `<testsuite tests="1"><testcase name="a"/><system-out>` + blob + `</system-out></testsuite>`,
		"gotest-json": `{"Action":"output","Package":"p","Test":"TestA","Output":"` + blob + "\"}\n{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Package\":\"p\"}\n",
		"pytest-text": blob + "\nt.py::test_a PASSED\n= 1 passed in 0.01s =\n",
		"tap":         "1..1\n" + blob + "\nok 1 - a\n",
		"cargo":       "running 1 test\ntest a ... " + blob + "\nok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored;\n",
		"unittest":    "test_a (m.C.test_a) ... " + blob + "\nok\n\n---\nRan 1 test in 0.0s\n\nOK\n",
	}
	for format, report := range reports {
		log := parse(t, format, report)
		if len(log.Tests) != 1 || log.Tests[0].Status != assay.TestPassed || len(log.Suspect) > 0 {
			t.Errorf("%s: %d tests, suspect %q", format, len(log.Tests), log.Suspect)
		}
	}
}
