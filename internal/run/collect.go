package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/assaybot/assay/internal/tree"
)

// leftover is the workspace as the agent left it.
type leftover struct {
	tree tree.Tree
	// special are files that a tree can't hold (sockets, devices).
	special []string
	// start is what the agent got, prepared what setup made of it; they
	// are the same without setup.
	start, prepared tree.Tree
}

// maxIgnored bounds the list of ignored paths in a result.
const maxIgnored = 200

// counted is the part of what was left that counts as the agent's work: no
// .git, nothing that setup made, no file of the variant's overlay, no
// droppings. It also lists what was left out and may surprise.
func (a *attempt) counted(ctx context.Context, left leftover) (tree.Tree, []string, error) {
	after, nested := a.r.Patches.WithoutGit(left.tree)
	after = undo(after, left.start, left.prepared, true)
	after = undo(after, a.base, left.start, false)
	var added []string
	for _, p := range after.Paths() {
		if _, ok := a.base[p]; !ok {
			added = append(added, p)
		}
	}
	ignored, err := a.r.Patches.Ignored(ctx, a.base, added)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range ignored {
		delete(after, p)
	}
	list := append(append(nested, left.special...), ignored...)
	if n := len(list); n > maxIgnored {
		list = append(list[:maxIgnored:maxIgnored], fmt.Sprintf("... and %d more", n-maxIgnored))
	}
	return after, list, nil
}

// undo takes a step from before to then out of after: every path that the
// step changed gets its state from before back. With untouched, only paths
// that are still as the step left them.
func undo(after, before, then tree.Tree, untouched bool) tree.Tree {
	out, back := after.Clone(), tree.Tree{}
	for _, p := range unequal(before, then) {
		if untouched && !samePath(after, then, p) {
			continue
		}
		if e, ok := before[p]; ok {
			back[p] = e
		} else {
			delete(out, p)
		}
	}
	return tree.Over(out, back)
}

// unequal lists the paths in which two trees differ.
func unequal(a, b tree.Tree) []string {
	var out []string
	for p := range a {
		if !samePath(a, b, p) {
			out = append(out, p)
		}
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			out = append(out, p)
		}
	}
	return out
}

// samePath tells whether both trees have the same at p, or nothing.
func samePath(a, b tree.Tree, p string) bool {
	x, inA := a[p]
	y, inB := b[p]
	return inA == inB && tree.Same(x, y)
}

// fetch reads a folder of a box as a tree of at most mb megabytes.
func fetch(ctx context.Context, box Box, dir string, mb int) (tree.Tree, []string, error) {
	limit := int64(mb) << 20
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := safely(func() error { return box.Get(ctx, dir, limit, w) })
		_ = w.CloseWithError(err)
		done <- err
	}()
	t, special, err := tree.ReadTar(r, tree.Bounds{Bytes: limit})
	if err == nil { // a sender may pad its archive: let it end
		_, err = io.Copy(io.Discard, r)
	}
	_ = r.CloseWithError(errDone)
	if sent := <-done; sent != nil && !errors.Is(sent, errDone) {
		err = sent
	}
	return t, special, err
}

// errDone tells the sender of an archive that nobody reads on.
var errDone = errors.New("the archive's reader is done")

// tooLarge tells whether a tree was over its limit.
func tooLarge(err error) bool {
	return errors.Is(err, ErrTooLarge) || errors.Is(err, tree.ErrTooLarge)
}

// digest is the SHA-256 of data in hex.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
