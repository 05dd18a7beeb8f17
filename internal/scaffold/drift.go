package scaffold

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// State is how a file stands to what would be written.
type State string

// The states of a file.
const (
	Missing State = "missing"
	Same    State = "same"
	Differs State = "differs"
	// Yours is a configuration that differs: it is there to be changed.
	Yours State = "yours"
)

// Change is one file, its state, and the difference as a unified diff (empty
// for Same).
type Change struct {
	File  File
	State State
	Diff  []byte
}

// Compare lays files over those that are there. Line ends of either kind are
// the same.
func Compare(files []File, have map[string][]byte) []Change {
	var out []Change
	for _, f := range files {
		old, ok := have[f.Path]
		c := Change{File: f, State: Differs}
		switch {
		case !ok:
			c.State, c.Diff = Missing, diff.Diff("/dev/null", nil, f.Path, f.Data)
		case bytes.Equal(unix(old), f.Data):
			c.State = Same
		case f.Config:
			c.State = Yours
		}
		if ok && c.State != Same {
			c.Diff = diff.Diff(f.Path, unix(old), f.Path+" (new)", f.Data)
		}
		out = append(out, c)
	}
	return out
}

func unix(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }
