package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/docker/docker/api/types"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/inbox"
	"github.com/assaybot/assay/internal/run"
)

// modelAddr is where a box listens for calls of the model, on its own
// loopback.
const modelAddr = "127.0.0.1:4100"

// box is one container.
type box struct {
	s     *Sandbox
	id    string
	spec  run.BoxSpec
	conn  types.HijackedResponse
	lines *demux
	in    *inbox.Client

	wg      sync.WaitGroup
	endInfo context.CancelFunc
	known   chan struct{}
	facts   assay.Box

	closeOnce sync.Once
	closeErr  error
}

var _ run.Box = (*box)(nil)

// Root is "": paths in a container are what they are.
func (b *box) Root() string { return "" }

func (b *box) ModelURL() string {
	if b.spec.Model == nil {
		return ""
	}
	return "http://" + modelAddr
}

// fail names what was done, and adds what the box's first process said last.
func (b *box) fail(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, errors.Join(ctx.Err(), err))
	}
	select {
	case <-b.in.Done():
		if said := b.lines.tail(); said != "" {
			err = fmt.Errorf("%w (its first process said: %s)", err, said)
		}
	default:
	}
	return infra(doing, err)
}

func (b *box) Put(ctx context.Context, dir string, own bool, r io.Reader) error {
	return b.fail(ctx, "putting files into the box at "+dir, b.in.Put(ctx, dir, own, r))
}

func (b *box) Get(ctx context.Context, dir string, limit int64, w io.Writer) error {
	err := b.in.Get(ctx, dir, limit, w)
	if errors.Is(err, inbox.ErrTooLarge) {
		return run.ErrTooLarge
	}
	return b.fail(ctx, "getting files from the box at "+dir, err)
}

func (b *box) Clear(ctx context.Context, dir string) error {
	return b.fail(ctx, "emptying the box's folder "+dir, b.in.Clear(ctx, dir))
}

func (b *box) Run(ctx context.Context, cmd run.Command) (run.Exit, error) {
	if len(cmd.Argv) == 0 {
		return run.Exit{}, permanent("running a command in the box", errors.New("there is no command"))
	}
	dir := cmd.Dir
	if dir == "" {
		dir = run.WorkDir
	}
	x, err := b.in.Run(ctx, inbox.Command{
		Argv: cmd.Argv, Dir: dir, Env: cmd.Env, Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr,
	})
	if err != nil {
		return run.Exit{}, b.fail(context.WithoutCancel(ctx), "running "+cmd.Argv[0]+" in the box", err)
	}
	return run.Exit{
		Code: x.Code, Signal: x.Signal, Killed: x.Killed, OOM: x.OOM,
		CPU: x.CPU, PeakMB: int((x.PeakKB + 1023) / 1024), Wall: x.Wall,
	}, nil
}

// Facts waits for the engine's answer, which was asked for when the box was
// opened.
func (b *box) Facts() assay.Box {
	<-b.known
	return b.facts
}

// learn asks the engine which limits are in force.
func (b *box) learn(ctx context.Context) {
	defer close(b.known)
	b.facts = assay.Box{Kind: "docker", Image: b.spec.Image.Ref, Isolated: !b.spec.Network}
	c, err := b.s.c.ContainerInspect(ctx, b.id)
	if err != nil || c.HostConfig == nil {
		b.facts.Note = fmt.Sprintf("the engine did not tell which limits are in force: %v", err)
		return
	}
	h := c.HostConfig
	b.facts.Image = c.Image
	b.facts.Isolated = h.NetworkMode.IsNone()
	b.facts.CPUs = float64(h.NanoCPUs) / 1e9
	b.facts.MemoryMB = int(h.Memory >> 20)
	// Commands run as an ordinary user, which has none of the first
	// process's capabilities.
	b.facts.Rights = slices.Concat([]string{"no capabilities"}, h.SecurityOpt, b.s.confined)
	if h.PidsLimit != nil {
		b.facts.Pids = int(*h.PidsLimit)
	}
	if want := b.spec.Limits.CPUs; want > b.facts.CPUs {
		b.facts.Note = fmt.Sprintf("%g processors were asked for, the engine has %d", want, b.s.cpus)
	}
}

// Close kills the container and removes it. It is complete when it returns,
// and works under a cancelled ctx too.
func (b *box) Close(ctx context.Context) error {
	b.closeOnce.Do(func() {
		ctx, cancel := closing(ctx)
		defer cancel()
		b.endInfo()
		b.closeErr = infra("removing the box", b.s.removeContainer(ctx, b.id))
		if b.in != nil {
			b.conn.Close()
			b.in.Wait()
		}
		b.wg.Wait()
		b.s.mu.Lock()
		delete(b.s.boxes, b)
		b.s.mu.Unlock()
	})
	return b.closeErr
}
