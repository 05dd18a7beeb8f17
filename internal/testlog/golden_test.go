package testlog_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/testlog"
)

var update = flag.Bool("update", false, "write the .want files anew")

// text is a Log as a golden file shows it: one line per test.
func text(l testlog.Log) string {
	var b strings.Builder
	for _, t := range l.Tests {
		fmt.Fprintf(&b, "%-7s %q", t.Status, t.ID)
		if t.Clause != "" {
			fmt.Fprintf(&b, " clause %q", t.Clause)
		}
		if t.Message != "" {
			first, _, _ := strings.Cut(t.Message, "\n")
			fmt.Fprintf(&b, " : %q", first)
		}
		b.WriteByte('\n')
	}
	for _, p := range l.BuildFailed {
		fmt.Fprintf(&b, "BUILD FAILED %s\n", p)
	}
	for _, s := range l.Suspect {
		fmt.Fprintf(&b, "SUSPECT %s\n", s)
	}
	return b.String()
}

// Each file of testdata is what the real program printed for a sample
// project with one test of each kind; its extension is the format.
func TestRealReports(t *testing.T) {
	for _, format := range testlog.Formats() {
		files, err := filepath.Glob("testdata/*." + format)
		if err != nil || len(files) == 0 {
			t.Fatalf("no sample of %s (%v)", format, err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) { golden(t, format, file) })
		}
	}
}

func golden(t *testing.T, format, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	log, err := testlog.Parse(format, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	got := text(log)
	if *update {
		if err := os.WriteFile(file+".want", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file + ".want")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	crlf, err := testlog.Parse(format, bytes.NewReader(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, text(crlf)); d != "" {
		t.Errorf("with CRLF (-LF +CRLF)\n%s", d)
	}
}
