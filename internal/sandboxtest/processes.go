package sandboxtest

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// grace is more than killing at once takes on a slow machine, and less than
// the ten seconds that engines like to wait for a polite end.
const grace = 8 * time.Second

// linger is a process that says that it is up, in the file $1, and stays.
const linger = `trap "" TERM HUP INT; echo up >"$1"; while :; do sleep 1; done`

// wait waits until that file is there.
const wait = `while [ ! -e up ]; do sleep 0.01; done; `

func (s suite) processes(t *testing.T) {
	for _, tt := range []struct{ name, script string }{
		{"background", `sh -c "$1" "$2" up & ` + wait},
		{"nohup", `nohup sh -c "$1" "$2" up >/dev/null 2>&1 & ` + wait},
		{"setsid", `setsid sh -c "$1" "$2" up & ` + wait},
		{"double fork", `( (setsid sh -c "$1" "$2" up &) & ); ` + wait},
		{"daemon", `w=$PWD; (cd / && env -i PATH="$PATH" setsid sh -c "$1" "$2" "$w/up" ` +
			`</dev/null >/dev/null 2>&1 &); ` + wait},
		{"failed command", `setsid sh -c "$1" "$2" up & ` + wait + `kill -9 $$`},
	} {
		s.test(t, "outlives no command: "+tt.name, func(t *testing.T, b box) {
			word := token()
			o := b.sh(t, tt.script+"echo end", linger, word)
			if o.Killed {
				t.Errorf("the command itself was killed: %+v", o.Exit)
			}
			b.wantGone(t, word)
			if got, _ := b.get(t, run.WorkDir); string(got["up"].Data) != "up\n" {
				t.Error("the process never ran: this test proves nothing")
			}
		})
	}
	s.test(t, "cancel kills at once", cancelKills)
	s.test(t, "cancel while forking", cancelForking)
	s.test(t, "cancelled beforehand", cancelledBefore)
	s.test(t, "the box lives on", livesOn)
}

func cancelKills(t *testing.T, b box) {
	word := token()
	script := `setsid sh -c "$1" "$2" up & ` + wait + `echo ready; ` + linger
	o, took := cancelled(t, b, script, word)
	if !o.Killed {
		t.Errorf("a cancelled command gave %+v, want Killed", o.Exit)
	}
	if took > grace {
		t.Errorf("killing took %v", took)
	}
	b.wantGone(t, word)
}

func cancelForking(t *testing.T, b box) {
	word := token()
	script := wait0 + `while :; do setsid sh -c "$1" "$2" up & sleep 0.05; [ -e up ] && echo ready; done`
	if o, _ := cancelled(t, b, script, word); !o.Killed {
		t.Errorf("a cancelled command gave %+v, want Killed", o.Exit)
	}
	b.wantGone(t, word)
}

// wait0 makes a forking script ignore polite signals as well.
const wait0 = `trap "" TERM HUP INT; `

// cancelled runs a script until it writes to stdout, cancels it, and tells
// how long Run took from then on.
func cancelled(t *testing.T, b box, script, word string) (output, time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	var since time.Time
	ready := &tripwire{f: func() { since = time.Now(); cancel() }}
	mine := box{Box: b.Box, ctx: ctx}
	o, err := mine.try(run.Command{Argv: []string{"sh", "-c", script, "sh", linger, word}, Stdout: ready})
	if err != nil {
		t.Fatalf("a cancelled command is an error: %v", err)
	}
	return o, time.Since(since)
}

func cancelledBefore(t *testing.T, b box) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	o, err := box{Box: b.Box, ctx: ctx}.try(run.Command{Argv: []string{"sh", "-c", "echo ran >ran"}})
	if err != nil || !o.Killed {
		t.Errorf("got %+v, %v, want Killed", o.Exit, err)
	}
}

func livesOn(t *testing.T, b box) {
	b.put(t, run.WorkDir, true, tree.Tree{"f": tree.Text("kept")})
	if o, _ := cancelled(t, b, `echo more >g; echo ready; `+linger, token()); !o.Killed {
		t.Fatalf("got %+v", o.Exit)
	}
	if out := b.ok(t, `cat f g`); out != "keptmore\n" {
		t.Errorf("after a kill, the files read %q", out)
	}
}

func (s suite) boxes(t *testing.T) {
	t.Run("two at once", s.twoAtOnce)
	s.test(t, "close", closeBox)
	s.test(t, "close under a running command", closeRunning)
}

// twoAtOnce: a command that runs in one box notices nothing of files,
// commands and the end of the other.
func (s suite) twoAtOnce(t *testing.T) {
	a, b := s.open(t, run.BoxSpec{}), s.open(t, run.BoxSpec{})
	in, feed := io.Pipe()
	ready := make(chan struct{})
	type ended struct {
		run.Exit
		err error
	}
	done := make(chan ended, 1)
	go func() {
		e, err := a.Run(a.ctx, run.Command{
			Argv: []string{"sh", "-c", `echo mine >own; echo up; read x; echo "$x" >heard`}, Dir: run.WorkDir,
			Stdin: in, Stdout: &tripwire{f: func() { close(ready) }},
		})
		done <- ended{e, err}
	}()
	select {
	case <-ready:
	case e := <-done:
		t.Fatalf("the first box's command ended early: %+v, %v", e.Exit, e.err)
	}
	b.ok(t, `[ ! -e own ] && sleep 0`)
	if got, _ := b.get(t, run.WorkDir); len(got) > 0 {
		t.Errorf("one box sees the other's files: %q", got.Paths())
	}
	if err := b.Close(b.ctx); err != nil {
		t.Errorf("closing the second box: %v", err)
	}
	if _, err := io.WriteString(feed, "hello\n"); err != nil {
		t.Error(err)
	}
	_ = feed.Close()
	if e := <-done; e.err != nil || e.Code != 0 {
		t.Fatalf("the first box's command gave %+v, %v", e.Exit, e.err)
	}
	got, _ := a.get(t, run.WorkDir)
	wantTree(t, got, tree.Tree{"own": tree.Text("mine\n"), "heard": tree.Text("hello\n")})
}

func closeBox(t *testing.T, b box) {
	b.ok(t, `mkdir -p a/b && : >a/b/f && chmod 500 a/b a`)
	root := b.Root()
	for range 2 {
		if err := b.Close(b.ctx); err != nil {
			t.Fatalf("closing: %v", err)
		}
	}
	if root != "" {
		if _, err := os.Lstat(root); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after Close, %s is there: %v", root, err)
		}
	}
	if _, err := b.try(run.Command{Argv: []string{"true"}}); err == nil {
		t.Error("Run works after Close")
	}
	if err := b.Put(b.ctx, run.WorkDir, true, strings.NewReader("")); err == nil {
		t.Error("Put works after Close")
	}
	if err := b.Get(b.ctx, run.WorkDir, 0, io.Discard); err == nil {
		t.Error("Get works after Close")
	}
	if err := b.Clear(b.ctx, run.WorkDir); err == nil {
		t.Error("Clear works after Close")
	}
	_ = b.Facts()
}

// closeRunning: Run may end with Killed or with an error, but it ends.
func closeRunning(t *testing.T, b box) {
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		e, err := b.Run(b.ctx, run.Command{
			Argv: []string{"sh", "-c", `echo ready; ` + linger, "sh", "up"}, Dir: run.WorkDir,
			Stdout: &tripwire{f: func() { close(ready) }},
		})
		if err == nil && !e.Killed && e.Code == 0 {
			err = errors.New("the command ended as if nothing had happened")
		} else {
			err = nil
		}
		done <- err
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatalf("the command ended early: %v", err)
	}
	if err := b.Close(b.ctx); err != nil {
		t.Errorf("closing: %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
