package inbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// drainTime bounds how long output is read after every process is dead. In a
// box the pipes are closed by then.
const drainTime = 5 * time.Second

// Exit codes of commands that could not be started, as shells have them.
const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

// running is the command under way.
type running struct {
	mu     sync.Mutex
	pid    int
	killed bool
}

// kill ends the command under way and all that it started.
func (b *box) kill() {
	b.mu.Lock()
	r := b.current
	b.mu.Unlock()
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed = true
	if r.pid > 0 {
		b.procs.killAll(r.pid)
	}
}

// run runs a command; its input and output are st's, its errors go to the
// pipe that it names.
func (b *box) run(st *stream, cmd command) reply {
	r, stderr, err := b.begin(cmd.Stderr)
	if stderr != nil {
		defer func() { _ = stderr.closeWrite() }()
	}
	if err != nil {
		return replyOf(err)
	}
	defer func() {
		b.mu.Lock()
		b.current = nil
		b.mu.Unlock()
	}()
	exit, err := b.execute(r, cmd, stdio{in: st, out: st, err: stderr})
	if err != nil {
		return replyOf(err)
	}
	return reply{Exit: &exit}
}

func (b *box) begin(pipe uint32) (*running, *stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	stderr := b.pipes[pipe]
	delete(b.pipes, pipe)
	switch {
	case stderr == nil:
		return nil, nil, errors.New("the command names no pipe")
	case b.current != nil:
		return nil, stderr, errors.New("the box runs another command")
	}
	b.current = &running{}
	return b.current, stderr, nil
}

type stdio struct{ in, out, err *stream }

// execute starts the command, waits for it, kills what is left and waits
// until its output is sent.
func (b *box) execute(r *running, cmd command, to stdio) (Exit, error) {
	pipes, err := openPipes(cmd.Stdin)
	if err != nil {
		return Exit{}, err
	}
	before, start := oomKills(), time.Now()
	pid, exit := b.start(r, cmd, pipes)
	pipes.closeChild()
	if pid == 0 {
		pipes.closeOurs()
		_, _ = fmt.Fprintln(to.err, exit.reason)
		return Exit{Code: exit.code, Killed: exit.killed}, nil
	}
	var out sync.WaitGroup
	out.Go(func() { pump(to.out, pipes.stdout) })
	out.Go(func() { pump(to.err, pipes.stderr) })
	if pipes.stdin != nil {
		b.wg.Go(func() { pumpIn(pipes.stdin, to.in) })
	}
	end := b.procs.wait(pid)
	res := end.exit()
	res.Wall = time.Since(start)
	r.mu.Lock()
	r.pid = 0
	res.Killed = r.killed
	r.mu.Unlock()
	res.OOM = oomKills() > before
	pipes.endOutput()
	out.Wait()
	pipes.closeOurs()
	return res, nil
}

// failure is why a command didn't start.
type failure struct {
	code   int
	reason string
	killed bool
}

func (b *box) start(r *running, cmd command, p *pipes) (int, failure) {
	env := b.environment(cmd.Env)
	path, err := lookPath(cmd.Argv[0], cmd.Dir, env)
	if err != nil {
		return 0, failure{code: codeOf(err), reason: err.Error()}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed {
		return 0, failure{code: 128 + int(syscall.SIGKILL), reason: "cancelled", killed: true}
	}
	pid, err := b.procs.start(path, cmd.Argv, &syscall.ProcAttr{Dir: cmd.Dir, Env: env, Files: p.child()})
	if err != nil {
		return 0, failure{code: codeOf(err), reason: fmt.Sprintf("starting %s in %s: %v", path, cmd.Dir, err)}
	}
	r.pid = pid
	return pid, failure{}
}

func codeOf(err error) int {
	if errors.Is(err, os.ErrNotExist) {
		return codeNotFound
	}
	return codeNotExecutable
}

// environment is the image's own, with the box's user, and the command's
// variables over it.
func (b *box) environment(over []string) []string {
	b.mu.Lock()
	home := b.home
	b.mu.Unlock()
	// The image's variables came to this process, and they are part of the
	// environment that the task asks for.
	all := os.Environ() //nolint:forbidigo // the box's own, not the person's
	fixed := []string{"HOME=" + home, "USER=agent", "LOGNAME=agent", "LANG=C.UTF-8", "TZ=UTC"}
	all = append(append(all, fixed...), over...)
	last := map[string]int{}
	for i, kv := range all {
		name, _, _ := strings.Cut(kv, "=")
		last[name] = i
	}
	out := make([]string, 0, len(all)+1)
	for i, kv := range all {
		name, _, _ := strings.Cut(kv, "=")
		if last[name] == i && name != "HOSTNAME" && name != "PWD" {
			out = append(out, kv)
		}
	}
	if _, ok := last["PATH"]; !ok {
		out = append(out, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	}
	return out
}

// pump copies a command's output; when it can't be sent it is discarded, so
// that the command never blocks on it.
func pump(to io.Writer, from *os.File) {
	buf := make([]byte, maxData)
	if _, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, buf); err != nil {
		discard(from)
	}
}

func pumpIn(to *os.File, from io.Reader) {
	// A command that doesn't read its input is no fault.
	_, _ = io.Copy(to, from)
	_ = to.Close()
}
