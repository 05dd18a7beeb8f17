package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// InitArg is the first argument of a process that is to call Init.
const InitArg = "box-init"

// The files of a process that calls Init, besides the command's own.
const (
	controlFile = 3 // read end: closed by the owner to have all killed
	statusFile  = 4 // write end: an outcome as JSON, when all are dead
)

// stubborn is how long processes may take to die from SIGKILL.
const stubborn = 10 * time.Second

// Init is what stands between a box and its command: call it first thing in
// main with os.Args. For an ordinary start of the program it does nothing and
// returns false. Else it runs the command, inherits whatever the command
// leaves behind (a "child subreaper"), kills all of it when the command ends
// or its owner says so or dies, and returns the exit status of the process.
func Init(args []string) (code int, ok bool) {
	if len(args) < 4 || args[1] != InitArg {
		return 0, false
	}
	if err := initMain(args[2], args[3:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", InitArg, err)
		return 1, true
	}
	return 0, true
}

func initMain(program string, argv []string) error {
	syscall.CloseOnExec(controlFile)
	syscall.CloseOnExec(statusFile)
	control, status := os.NewFile(controlFile, "control"), os.NewFile(statusFile, "status")
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}
	// Handled, so that a command can't end its keeper politely; not
	// ignored, since that would be inherited.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	out := keep(control, program, argv)
	return json.NewEncoder(status).Encode(out)
}

// keep runs the command until it and all its descendants are dead.
func keep(control io.Reader, program string, argv []string) outcome {
	p, err := os.StartProcess(program, argv, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		return outcome{Errno: max(int(errno), 1)}
	}
	r := &reaper{main: p.Pid, exited: make(chan struct{}), empty: make(chan struct{})}
	go r.run()
	asked := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, control)
		close(asked)
	}()
	killed := false
	select {
	case <-r.exited:
	case <-asked:
		killed = true
	}
	left := r.killAll()
	if left > 0 {
		return outcome{Killed: killed, Left: left}
	}
	r.out.Killed = killed
	return r.out
}

// reaper waits for every child, own and inherited. Out is complete when
// empty is closed.
type reaper struct {
	main          int
	exited, empty chan struct{}
	out           outcome
}

func (r *reaper) run() {
	defer close(r.empty)
	for {
		var ws syscall.WaitStatus
		var ru syscall.Rusage
		pid, err := syscall.Wait4(-1, &ws, unix.WALL, &ru)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return // ECHILD: no descendant is left
		}
		r.out.used(&ru)
		if pid == r.main {
			r.out.ended(ws)
			close(r.exited)
		}
	}
}

// killAll kills descendants until there are none: what a dying process forked
// a moment ago becomes a child of this one and is found the next time. It
// returns how many it couldn't end.
func (r *reaper) killAll() int {
	deadline := time.Now().Add(stubborn)
	for {
		found := descendants(os.Getpid())
		killEach(found)
		select {
		case <-r.empty:
			return 0
		case <-time.After(2 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return max(len(found), 1)
		}
	}
}

// supervise runs the command with Init in between, where there is one.
func (p *process) supervise(ctx context.Context, cmd *exec.Cmd, pipes *pipes) (outcome, error) {
	via := p.box.opt.Init
	if len(via) == 0 {
		return p.direct(ctx, cmd, pipes)
	}
	cmd.Path = via[0]
	cmd.Args = append(append(append([]string{}, via...), p.program), p.argv...)
	control, status, err := p.startInit(cmd, pipes)
	if err != nil {
		return outcome{}, err
	}
	stop := p.box.onEnd(ctx, func() { _ = control.Close() })
	report, readErr := io.ReadAll(status) // to the end of Init, and so of all
	fired := stop()
	waitErr := cmd.Wait()
	_, _ = control.Close(), status.Close()
	if readErr != nil {
		return outcome{}, readErr
	}
	return p.judge(report, fired, cmd, waitErr)
}

func (p *process) startInit(cmd *exec.Cmd, pipes *pipes) (control, status *os.File, err error) {
	controlR, control, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	status, statusW, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, controlR.Close(), control.Close())
	}
	cmd.ExtraFiles = []*os.File{controlR, statusW}
	err = p.start(cmd, pipes)
	_, _ = controlR.Close(), statusW.Close()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("starting %s: %w", cmd.Path, err), control.Close(), status.Close())
	}
	return control, status, nil
}

// judge reads what Init reported. An Init without a report was killed by its
// own command: that counts as the command's end, and the sweep that follows
// ends what it left.
func (p *process) judge(report []byte, fired bool, cmd *exec.Cmd, waitErr error) (outcome, error) {
	if len(bytes.TrimSpace(report)) == 0 {
		out := outcomeOf(cmd.ProcessState)
		if out.Signal == 0 {
			return out, fmt.Errorf("%s failed: %w", cmd.Path, waitErr)
		}
		out.Killed = fired
		return out, nil
	}
	var out outcome
	if err := json.Unmarshal(report, &out); err != nil {
		return out, fmt.Errorf("reading the report of %s: %w", cmd.Path, err)
	}
	if out.Left > 0 {
		return out, fmt.Errorf("%d processes of a command don't die", out.Left)
	}
	return out, nil
}

// waitAndKill waits for a command that was started directly and kills its
// group before the leader is reaped: until then no other group can have its
// number. Stop is onEnd's.
func waitAndKill(cmd *exec.Cmd, stop func() bool) (killed bool, err error) {
	pid := cmd.Process.Pid
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	killed = stop()
	_ = unix.Kill(-pid, unix.SIGKILL)
	return killed, cmd.Wait()
}

// peakBytes: Linux counts kilobytes.
func peakBytes(maxrss int64) int64 { return maxrss << 10 }
