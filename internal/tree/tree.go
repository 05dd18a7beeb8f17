// Package tree holds a workspace as a value: paths, modes and bytes. It reads
// and writes tar streams and folders, compares and overlays; it never runs
// git and never follows a link.
package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assaybot/assay/internal/assay"
)

// Mode is a git file mode.
type Mode uint32

// The modes that a tree holds; nothing else is kept (no directories, no
// special files, no setuid bits).
const (
	File Mode = 0o100644
	Exec Mode = 0o100755
	Link Mode = 0o120000
)

// Entry is one file. For a link, Data is the target.
type Entry struct {
	Mode Mode
	Data []byte
}

// Tree maps clean, relative, slash-separated paths to entries. Entries' Data
// must not be changed: trees share it.
type Tree map[string]Entry

// Text is an ordinary file with the given content.
func Text(s string) Entry { return Entry{Mode: File, Data: []byte(s)} }

// Paths lists the paths in byte order.
func (t Tree) Paths() []string {
	out := make([]string, 0, len(t))
	for p := range t {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// Size is the number of bytes of all entries.
func (t Tree) Size() int64 {
	var n int64
	for _, e := range t {
		n += int64(len(e.Data))
	}
	return n
}

// Digest is the SHA-256, in hex, over paths, modes and contents in order.
func (t Tree) Digest() string {
	h := sha256.New()
	for _, p := range t.Paths() {
		e := t[p]
		sum := sha256.Sum256(e.Data)
		_, _ = fmt.Fprintf(h, "%o %x %d:%s\n", e.Mode, sum, len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Clone is a copy that can be changed; contents are shared.
func (t Tree) Clone() Tree {
	out := make(Tree, len(t))
	for p, e := range t {
		out[p] = e
	}
	return out
}

// Over is base with every entry of top laid over it. A file of top replaces a
// folder of base at the same path, and the other way round.
func Over(base, top Tree) Tree {
	out := base.Clone()
	for p := range top {
		for q := path.Dir(p); q != "."; q = path.Dir(q) {
			delete(out, q)
		}
	}
	if folders := shadowedFolders(base, top); len(folders) > 0 {
		for p := range base {
			if under(p, folders) {
				delete(out, p)
			}
		}
	}
	for p, e := range top {
		out[p] = e
	}
	return out
}

func shadowedFolders(base, top Tree) map[string]bool {
	folders := map[string]bool{}
	for p := range base {
		for q := path.Dir(p); q != "."; q = path.Dir(q) {
			if _, ok := top[q]; ok {
				folders[q] = true
			}
		}
	}
	return folders
}

func under(p string, folders map[string]bool) bool {
	for q := path.Dir(p); q != "."; q = path.Dir(q) {
		if folders[q] {
			return true
		}
	}
	return false
}

// Sub is the part of t below dir, with paths relative to it.
func (t Tree) Sub(dir string) Tree {
	out := Tree{}
	for p, e := range t {
		if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
			out[rest] = e
		}
	}
	return out
}

// In is t with every path below dir.
func (t Tree) In(dir string) Tree {
	out := make(Tree, len(t))
	for p, e := range t {
		out[path.Join(dir, p)] = e
	}
	return out
}

// Same tells whether two entries are equal in mode and content.
func Same(a, b Entry) bool { return a.Mode == b.Mode && string(a.Data) == string(b.Data) }

// Diff lists what changed from base to after, in path order. A renamed file
// is a deletion and an addition.
func Diff(base, after Tree) []assay.FileChange {
	var out []assay.FileChange
	for _, p := range Over(base, after).unionPaths(base) {
		b, was := base[p]
		a, is := after[p]
		switch {
		case !was && is:
			out = append(out, assay.FileChange{Path: p, Kind: "added"})
		case was && !is:
			out = append(out, assay.FileChange{Path: p, Kind: "deleted"})
		case string(a.Data) != string(b.Data):
			out = append(out, assay.FileChange{Path: p, Kind: "modified"})
		case a.Mode != b.Mode:
			out = append(out, assay.FileChange{Path: p, Kind: "mode"})
		}
	}
	return out
}

func (t Tree) unionPaths(other Tree) []string {
	all := t.Clone()
	for p, e := range other {
		all[p] = e
	}
	return all.Paths()
}

// Match tells whether a path matches one of the globs: doublestar patterns
// from the root ("src/**/*.py"); a pattern without a slash matches the last
// segment anywhere, one that ends in "/" everything below a folder.
func Match(globs []string, p string) bool {
	for _, g := range globs {
		if matchOne(g, p) {
			return true
		}
	}
	return false
}

func matchOne(g, p string) bool {
	if strings.HasSuffix(g, "/") {
		g += "**"
	}
	if !strings.Contains(g, "/") {
		g = "**/" + g
	}
	ok, err := doublestar.Match(g, p)
	return err == nil && ok
}

// BadGlob says what is wrong with a glob, "" if nothing is.
func BadGlob(g string) string {
	if !doublestar.ValidatePattern(g) {
		return fmt.Sprintf("%q is no valid glob", g)
	}
	return ""
}

// Clean checks that p is a relative path that stays inside, and returns it
// clean, with slashes.
func Clean(p string) (string, error) {
	switch {
	case p == "", strings.ContainsRune(p, 0):
		return "", fmt.Errorf("%q is no path", p)
	case path.IsAbs(p):
		return "", fmt.Errorf("%q is absolute; it must be relative", p)
	}
	c := path.Clean(p)
	if c == ".." || strings.HasPrefix(c, "../") || c == "." {
		return "", fmt.Errorf("%q leaves the folder", p)
	}
	return c, nil
}
