package testlog_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testlog"
)

// fuzz holds a parser to what must be true of every input: it ends, every
// test has a name that is UTF-8, an id comes once, and a status is one that a
// report may give.
func fuzz(f *testing.F, format string) {
	files, err := filepath.Glob("testdata/*." + format)
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add([]byte{})
	f.Add([]byte("\xff\xfe\x00"))
	allowed := map[assay.TestStatus]bool{assay.TestPassed: true, assay.TestFailed: true, assay.TestError: true,
		assay.TestSkipped: true, assay.TestXFail: true, assay.TestXPass: true}
	f.Fuzz(func(t *testing.T, data []byte) {
		log, err := testlog.Parse(format, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, r := range log.Tests {
			if r.ID == "" || !utf8.ValidString(r.ID+r.Message+r.Clause) || !allowed[r.Status] || seen[r.ID] || r.Seconds < 0 {
				t.Errorf("%+v", r)
			}
			seen[r.ID] = true
		}
		for _, s := range log.Suspect {
			if s == "" || !utf8.ValidString(s) {
				t.Errorf("suspect %q", s)
			}
		}
	})
}

func FuzzJUnit(f *testing.F)    { fuzz(f, testlog.JUnit) }
func FuzzSurefire(f *testing.F) { fuzz(f, testlog.Surefire) }
func FuzzGoTest(f *testing.F)   { fuzz(f, testlog.GoTest) }
func FuzzPytest(f *testing.F)   { fuzz(f, testlog.PytestText) }
func FuzzUnittest(f *testing.F) { fuzz(f, testlog.Unittest) }
func FuzzTAP(f *testing.F)      { fuzz(f, testlog.TAP) }
func FuzzJest(f *testing.F)     { fuzz(f, testlog.Jest) }
func FuzzMocha(f *testing.F)    { fuzz(f, testlog.Mocha) }
func FuzzCargo(f *testing.F)    { fuzz(f, testlog.Cargo) }
