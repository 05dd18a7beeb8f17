package testlog_test

import (
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/testlog"
)

// TestMining25AStrayByteLosesNothing: a byte that is no UTF-8 costs itself,
// not the log that it is in.
func TestMining25AStrayByteLosesNothing(t *testing.T) {
	for format, report := range map[string]string{
		testlog.JUnit:      "<testsuite><testcase name=\"a\"><system-out>\xff\x00\x1b[31m</system-out></testcase><testcase name=\"b\"/></testsuite>",
		testlog.GoTest:     "{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"a\",\"Output\":\"\xff\\n\"}\n{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"a\"}\n\xfe\n{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"b\"}\n",
		testlog.PytestText: "\xff\xfe\nt.py::a PASSED\nnoise \xc3\nt.py::b PASSED\n= 2 passed in 1s =\n",
		testlog.TAP:        "1..2\n# \xff\nok 1 - a\n\xc0\xaf\nok 2 - b\n",
		testlog.Unittest:   "\xff\na (m.C.a) ... ok\nb (m.C.b) ... ok\n\n---\nRan 2 tests in 0.001s\n\nOK\n",
		testlog.Cargo:      "\xff\nrunning 2 tests\ntest a ... ok\ntest b ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
	} {
		log, err := testlog.ParseAll(format, map[string][]byte{"report": []byte(report)})
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		var got []string
		for _, x := range log.Tests {
			got = append(got, x.ID+" "+string(x.Status))
		}
		if text := strings.Join(got, ", "); len(got) != 2 || strings.Count(text, " passed") != 2 {
			t.Errorf("%s: %s; %v", format, text, log.Suspect)
		}
	}
}
