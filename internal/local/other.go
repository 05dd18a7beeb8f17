//go:build unix && !linux

package local

import (
	"context"
	"os/exec"
	"runtime"
	"syscall"
)

// InitArg is the first argument of a process that is to call Init.
const InitArg = "box-init"

// Init does nothing here: only Linux lets a process inherit what its
// descendants leave behind.
func Init([]string) (code int, ok bool) { return 0, false }

// supervise starts the command directly; its process group is killed with it.
func (p *process) supervise(ctx context.Context, cmd *exec.Cmd, pipes *pipes) (outcome, error) {
	return p.direct(ctx, cmd, pipes)
}

// sweep finds nothing here: processes don't show what box they come from.
func sweep(string) error { return nil }

// waitAndKill waits for a command and kills what is left of its group.
func waitAndKill(cmd *exec.Cmd, stop func() bool) (killed bool, err error) {
	err = cmd.Wait()
	killed = stop()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return killed, err
}

// peakBytes: Darwin counts bytes, the BSDs kilobytes.
func peakBytes(maxrss int64) int64 {
	if runtime.GOOS == "darwin" {
		return maxrss
	}
	return maxrss << 10
}
