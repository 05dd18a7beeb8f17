package flow

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadLock(t *testing.T) {
	const numpy = "numpy==2.0\n"
	for _, tt := range []struct {
		name, text string
		lock       bool
		undated    []string
	}{
		{"no folder", "", false, nil},
		{"no dependencies", lockLine + "\n", false, nil},
		{"a lock", lockLine + "\n" + numpy, true, nil},
		{"undated", "pandas\n scipy>=1 \npandas\n\n" + lockLine + "\n" + numpy, true, []string{"pandas", "scipy>=1"}},
		{"no line", "pandas\n", false, []string{"pandas"}},
	} {
		lock, undated := readLock([]byte(tt.text))
		if strings.HasPrefix(lock, "sha256:") != tt.lock || cmp.Diff(tt.undated, undated) != "" {
			t.Errorf("%s: %q %q", tt.name, lock, undated)
		}
	}
	a, _ := readLock([]byte("x\n" + lockLine + "\n" + numpy))
	b, _ := readLock([]byte(lockLine + "\n" + numpy))
	c, _ := readLock([]byte(lockLine + "\nnumpy==2.1\n"))
	if a != b || a == c {
		t.Errorf("digests: %s %s %s", a, b, c)
	}
}
