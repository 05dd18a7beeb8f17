package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
	"github.com/assaybot/assay/internal/run"
)

// Exit codes of programs that can't be started, as shells have them.
const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

// drain is how long the last bytes of a dead command's output may take.
const drain = 10 * time.Second

// Run runs one command. Further calls wait for it.
func (b *box) Run(ctx context.Context, c run.Command) (run.Exit, error) {
	if b.isClosed() {
		return run.Exit{}, assay.Infra(assay.InfraSandbox, "running a command in a local box", errClosed)
	}
	if ctx.Err() != nil {
		return run.Exit{Killed: true}, nil
	}
	select {
	case b.busy <- struct{}{}:
		defer func() { <-b.busy }()
	case <-ctx.Done():
		return run.Exit{Killed: true}, nil
	case <-b.closed:
		return run.Exit{}, assay.Infra(assay.InfraSandbox, "running a command in a local box", errClosed)
	}
	e, err := b.run(ctx, c)
	kind := assay.InfraSandbox
	if disk.IsFull(err) {
		kind = assay.InfraDisk
	}
	return e, assay.Infra(kind, "running a command in a local box", err)
}

func (b *box) run(ctx context.Context, c run.Command) (run.Exit, error) {
	if len(c.Argv) == 0 {
		return run.Exit{}, errors.New("the command is empty")
	}
	dir, err := b.folder(c.Dir)
	if err != nil {
		return run.Exit{}, err
	}
	env := b.env(c.Env)
	program, err := lookPath(env["PATH"], dir, c.Argv[0])
	if err != nil {
		return cantStart(c, err)
	}
	p := &process{box: b, dir: dir, program: program, argv: c.Argv, env: env}
	began := time.Now()
	out, err := p.execute(ctx, c)
	if err != nil {
		return run.Exit{}, err
	}
	if out.Errno != 0 {
		return cantStart(c, syscall.Errno(out.Errno))
	}
	e := out.exit()
	e.Wall = time.Since(began)
	return e, nil
}

func (b *box) folder(dir string) (string, error) {
	if dir == "" {
		dir = run.WorkDir
	}
	rel, err := below(dir)
	if err != nil {
		return "", err
	}
	full := filepath.Join(b.root, rel)
	if info, err := os.Stat(full); err != nil || !info.IsDir() {
		return "", fmt.Errorf("there is no folder %s to run in", dir)
	}
	return full, nil
}

// env is all that a command gets: nothing of this process's environment.
func (b *box) env(extra map[string]string) map[string]string {
	env := map[string]string{
		"PATH": b.opt.Path, "HOME": b.root + run.HomeDir, "TMPDIR": b.root + tmpDir,
		"LANG": "C.UTF-8", "TZ": "UTC",
	}
	maps.Copy(env, extra)
	env[marker] = b.dir
	return env
}

func envList(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

// lookPath finds a program as a shell in dir would.
func lookPath(list, dir, name string) (string, error) {
	if strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	err := os.ErrNotExist
	for _, d := range filepath.SplitList(list) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		full := filepath.Join(d, name)
		switch e := executable(full); {
		case e == nil && name != "":
			return full, nil
		case errors.Is(e, os.ErrPermission):
			err = e
		}
	}
	return "", err
}

func executable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return os.ErrPermission
	}
	return nil
}

// cantStart is the exit of a program that isn't there or is none; other
// errors are failures of this machine.
func cantStart(c run.Command, err error) (run.Exit, error) {
	code, why := codeNotFound, "not found"
	switch {
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		code, why = codeNotExecutable, "can't be executed"
	case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return run.Exit{}, fmt.Errorf("starting %s: %w", c.Argv[0], err)
	}
	if c.Stderr != nil {
		if _, err := fmt.Fprintf(c.Stderr, "%s: %s\n", c.Argv[0], why); err != nil {
			return run.Exit{}, err
		}
	}
	return run.Exit{Code: code}, nil
}

// process is one command on its way.
type process struct {
	box     *box
	dir     string
	program string
	argv    []string
	env     map[string]string
}

// execute runs the command between its pipes. When it returns, no process of
// the command lives and no pipe is open.
func (p *process) execute(ctx context.Context, c run.Command) (outcome, error) {
	cmd := &exec.Cmd{Dir: p.dir, Env: envList(p.env)}
	pipes, err := connect(cmd, c)
	if err != nil {
		return outcome{}, err
	}
	defer pipes.close()
	out, err := p.supervise(ctx, cmd, pipes)
	// Before the pipes are drained: a process that was missed holds them.
	err = errors.Join(err, sweep(p.box.dir))
	return out, errors.Join(err, pipes.wait())
}

// start starts cmd and closes this side's copies of the command's files.
func (p *process) start(cmd *exec.Cmd, pipes *pipes) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err := cmd.Start()
	pipes.started()
	return err
}

// direct starts the command without Init in between.
func (p *process) direct(ctx context.Context, cmd *exec.Cmd, pipes *pipes) (outcome, error) {
	cmd.Path, cmd.Args = p.program, p.argv
	if err := p.start(cmd, pipes); err != nil {
		var errno syscall.Errno
		if errors.As(err, &errno) {
			return outcome{Errno: int(errno)}, nil
		}
		return outcome{}, err
	}
	pid := cmd.Process.Pid
	fired := p.box.onEnd(ctx, func() {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // not reaped yet: the group is ours
		_ = sweep(p.box.dir)
	})
	killed, err := waitAndKill(cmd, fired)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return outcome{}, err
	}
	out := outcomeOf(cmd.ProcessState)
	out.Killed = killed
	return out, nil
}

// onEnd calls f when ctx ends or the box closes. The returned function must
// be called: it stops the watch, waits for it and tells whether f was called.
func (b *box) onEnd(ctx context.Context, f func()) (stop func() bool) {
	quit, fired := make(chan struct{}), make(chan bool, 1)
	go func() {
		select {
		case <-ctx.Done():
		case <-b.closed:
		case <-quit:
			fired <- false
			return
		}
		f()
		fired <- true
	}()
	return func() bool {
		close(quit)
		return <-fired
	}
}

// outcome is how a command ended, as told by whoever waited for it.
type outcome struct {
	Errno  int           `json:"errno,omitempty"` // it couldn't be started
	Code   int           `json:"code"`
	Signal int           `json:"signal,omitempty"`
	Killed bool          `json:"killed,omitempty"` // by us, before it ended
	CPU    time.Duration `json:"cpu"`
	Peak   int64         `json:"peak"` // bytes
	Left   int           `json:"left,omitempty"`
}

func (o outcome) exit() run.Exit {
	return run.Exit{
		Code: o.Code, Signal: o.Signal, Killed: o.Killed,
		CPU: o.CPU, PeakMB: int(o.Peak >> 20),
	}
}

// ended fills in a wait status: a signal counts as code 128 + signal.
func (o *outcome) ended(ws syscall.WaitStatus) {
	o.Code = ws.ExitStatus()
	if ws.Signaled() {
		o.Signal = int(ws.Signal())
		o.Code = 128 + o.Signal
	}
}

func (o *outcome) used(ru *syscall.Rusage) {
	o.CPU += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	o.Peak = max(o.Peak, peakBytes(int64(ru.Maxrss))) //nolint:unconvert // 32 bits wide on some platforms
}

func outcomeOf(st *os.ProcessState) outcome {
	var o outcome
	if ws, ok := st.Sys().(syscall.WaitStatus); ok {
		o.ended(ws)
	}
	if ru, ok := st.SysUsage().(*syscall.Rusage); ok {
		o.used(ru)
	}
	return o
}

// pipes are a command's standard files and the copying between them and a
// run.Command's reader and writers.
type pipes struct {
	theirs, ours []*os.File
	copied       []chan error // output
	fed          chan struct{}
}

func connect(cmd *exec.Cmd, c run.Command) (*pipes, error) {
	p := &pipes{}
	stdout, err := p.output(c.Stdout)
	cmd.Stdout, cmd.Stderr = stdout, stdout
	if err == nil && !sameWriter(c.Stdout, c.Stderr) {
		var stderr *os.File
		stderr, err = p.output(c.Stderr)
		cmd.Stderr = stderr
	}
	if err == nil {
		var stdin *os.File
		stdin, err = p.input(c.Stdin)
		cmd.Stdin = stdin
	}
	if err != nil {
		p.started()
		p.close()
		return nil, err
	}
	return p, nil
}

// sameWriter tells whether both outputs go to one writer, which then must not
// be written to by two copiers.
func sameWriter(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// output is the file that a command writes to for w.
func (p *pipes) output(w io.Writer) (*os.File, error) {
	if w == nil {
		return p.null(os.O_WRONLY)
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.theirs, p.ours = append(p.theirs, to), append(p.ours, from)
	done := make(chan error, 1)
	p.copied = append(p.copied, done)
	go func() {
		_, err := io.Copy(w, from)
		// The command mustn't block, or die, because a writer failed.
		_, _ = io.Copy(io.Discard, from)
		done <- err
	}()
	return to, nil
}

// input is the file that a command reads r from.
func (p *pipes) input(r io.Reader) (*os.File, error) {
	if r == nil {
		return p.null(os.O_RDONLY)
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.theirs, p.ours = append(p.theirs, from), append(p.ours, to)
	p.fed = make(chan struct{})
	go func() {
		defer close(p.fed)
		_, _ = io.Copy(to, r) // a command may leave its input unread
		_ = to.Close()
	}()
	return from, nil
}

func (p *pipes) null(flag int) (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, flag, 0)
	if err == nil {
		p.theirs = append(p.theirs, f)
	}
	return f, err
}

// started closes the command's ends on this side.
func (p *pipes) started() {
	for _, f := range p.theirs {
		_ = f.Close()
	}
	p.theirs = nil
}

// wait waits for the end of the output; the command is dead already. Input
// that nobody reads any more is dropped; a reader that blocks for ever is not
// waited for.
func (p *pipes) wait() error {
	timer := time.NewTimer(drain)
	defer timer.Stop()
	var errs []error
	for _, done := range p.copied {
		select {
		case err := <-done:
			errs = append(errs, err)
		case <-timer.C:
			return errors.New("the output of a dead command does not end")
		}
	}
	if p.fed != nil {
		select {
		case <-p.fed:
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errors.Join(errs...)
}

// close ends what is still copying.
func (p *pipes) close() {
	for _, f := range p.ours {
		_ = f.Close()
	}
}
