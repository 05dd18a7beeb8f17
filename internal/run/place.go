package run

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// put unpacks a tree into a folder of a box.
func put(ctx context.Context, box Box, dir string, own bool, t tree.Tree) error {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.CloseWithError(safely(func() error { return tree.WriteTar(w, t) }))
	}()
	err := box.Put(ctx, dir, own, r)
	_ = r.Close()
	<-done
	return assay.Infra(assay.InfraSandbox, "putting files into "+dir, err)
}

// place turns the workspace of a box from have into want: one Put when have
// is empty, else what is gone is removed and what changed is put.
func place(ctx context.Context, box Box, have, want tree.Tree) error {
	if have == nil {
		return put(ctx, box, WorkDir, true, want)
	}
	gone, changed := []string{}, tree.Tree{}
	for p := range have {
		if _, ok := want[p]; !ok {
			gone = append(gone, p)
		}
	}
	for p, e := range want {
		if !samePath(have, want, p) {
			changed[p] = e
			if old, ok := have[p]; ok && old.Mode != e.Mode {
				gone = append(gone, p) // unpacking over a link would follow it
			}
		}
	}
	gone = append(gone, emptied(have, want, gone)...)
	if err := remove(ctx, box, gone); err != nil {
		return err
	}
	if len(changed) == 0 {
		return nil
	}
	return put(ctx, box, WorkDir, true, changed)
}

// emptied lists the folders of have that want no longer has.
func emptied(have, want tree.Tree, gone []string) []string {
	if len(gone) == 0 {
		return nil
	}
	kept := folders(want)
	var out []string
	for dir := range folders(have) {
		if !kept[dir] {
			out = append(out, dir)
		}
	}
	return out
}

func folders(t tree.Tree) map[string]bool {
	out := map[string]bool{}
	for p := range t {
		for d := path.Dir(p); d != "." && !out[d]; d = path.Dir(d) {
			out[d] = true
		}
	}
	return out
}

// remove deletes paths of the workspace, given below it.
func remove(ctx context.Context, box Box, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	exit, err := box.Run(ctx, Command{
		Argv: []string{"xargs", "-0", "rm", "-rf", "--"}, Dir: WorkDir,
		Stdin: strings.NewReader("./" + strings.Join(paths, "\x00./") + "\x00"),
	})
	if err == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("exit status %d", exit.Code)
	}
	return assay.Infra(assay.InfraSandbox, "removing files of the workspace", err)
}

// setup runs a task's setup lines, one shell each. It gives the first line
// that failed with the end of its output, "" when all went well.
func setup(ctx context.Context, box Box, lines []string, cmd Command) (failed string, err error) {
	for _, line := range lines {
		said := newTail(tailBytes)
		c := cmd
		c.Argv, c.Dir = []string{"sh", "-c", line}, WorkDir
		c.Stdout, c.Stderr = both(said, cmd.Stdout), both(said, cmd.Stderr)
		exit, err := box.Run(ctx, c)
		if err != nil {
			return "", assay.Infra(assay.InfraSandbox, "running setup", err)
		}
		if exit.Code != 0 || exit.Killed || exit.Signal != 0 {
			return fmt.Sprintf("%s (exit status %d)\n%s", line, exit.Code, clip(string(said.bytes()), 2000)), nil
		}
	}
	return "", nil
}

func both(a, b io.Writer) io.Writer {
	if b == nil {
		return a
	}
	return io.MultiWriter(a, b)
}
