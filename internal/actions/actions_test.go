package actions

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// outputs reads a file of outputs as the runner does.
func outputs(t *testing.T, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, word, ok := strings.Cut(lines.Text(), "<<")
		if plain, value, eq := strings.Cut(lines.Text(), "="); eq && (!ok || len(plain) < len(name)) {
			out[plain] = value
			continue
		}
		if !ok {
			t.Fatalf("the runner would refuse %q", lines.Text())
		}
		var value []string
		closed := false
		for lines.Scan() {
			if closed = lines.Text() == word; closed {
				break
			}
			value = append(value, lines.Text())
		}
		if !closed {
			t.Fatalf("%s is never closed", name)
		}
		out[name] = strings.Join(value, "\n")
	}
	return out
}

// Section 1.4, file-command delimiter injection: a score that names another
// output stays a value.
func TestNoValueSetsAnotherOutput(t *testing.T) {
	for _, value := range []string{
		"", "0.5", "a\nmatrix=[]", "x\n_GitHubActionsFileCommandDelimeter_\nmatrix<<E\n[1]\nE", "EOF\nEOF", "a<<b", `{"include":[]}`,
		"two\nlines\n", "assay_00\nmatrix=1",
	} {
		s := Step{Output: filepath.Join(t.TempDir(), "out")}
		if err := s.Set("score", value); err != nil {
			t.Fatal(err)
		}
		got := outputs(t, s.Output)
		if len(got) != 1 || got["score"] != value {
			t.Errorf("%q came out as %q", value, got)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	s := Step{Output: filepath.Join(t.TempDir(), "out")}
	for name, value := range map[string]string{
		"": "x", "a b": "x", "a\nb": "x", "a=b": "x", "1st": "x", "a<<b": "x",
		"long": strings.Repeat("x", MaxOutput+1), "bytes": "\xff", "nul": "a\x00b",
	} {
		if err := s.Set(name, value); err == nil {
			t.Errorf("%q was set", name)
		}
	}
	if _, err := os.Stat(s.Output); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was written")
	}
	if err := (Step{}).Set("a", "b"); !errors.Is(err, ErrNoStep) {
		t.Errorf("outside of a workflow: %v", err)
	}
}

// Row 47: foreign text in the log must not become a command.
func TestRow47ForeignTextIsNoCommand(t *testing.T) {
	var b bytes.Buffer
	err := Quiet(&b, func(w io.Writer) error {
		_, err := io.WriteString(w, "::add-mask::e\n##[error]no\n::stop-commands::x\n::x::\n::set-output name=a::b")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	word, ok := strings.CutPrefix(lines[0], "::stop-commands::")
	if !ok || len(word) < 32 || lines[len(lines)-1] != "::"+word+"::" {
		t.Errorf("got %q", b.String())
	}
	if strings.Count(b.String(), "::"+word+"::") != 1 {
		t.Error("the text could end the quiet part")
	}
	other := bytes.Buffer{}
	_ = Quiet(&other, func(io.Writer) error { return nil })
	if strings.Contains(other.String(), word) {
		t.Error("the word is always the same")
	}
}

func FuzzSet(f *testing.F) {
	f.Add("a\nb=c")
	f.Add("<<")
	f.Fuzz(func(t *testing.T, value string) {
		s := Step{Output: filepath.Join(t.TempDir(), "out")}
		if s.Set("v", value) != nil || strings.ContainsAny(value, "\r") {
			return // the reader above takes CR LF for a line's end, as the runner on Windows
		}
		if got := outputs(t, s.Output); len(got) != 1 || got["v"] != value {
			t.Errorf("%q came out as %q", value, got)
		}
	})
}
