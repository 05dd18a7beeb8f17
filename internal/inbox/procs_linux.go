package inbox

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// rekill is how often killing is repeated while processes are left.
const rekill = 20 * time.Millisecond

// processes starts, waits for and kills a command's processes.
type processes interface {
	start(path string, argv []string, attr *syscall.ProcAttr) (int, error)
	// wait returns when the main process and all others are dead.
	wait(pid int) ending
	killAll(pid int)
}

// ending is how the main process ended, and what all of them used.
type ending struct {
	status syscall.WaitStatus
	cpu    time.Duration
	peakKB int64
}

func (e *ending) add(u *syscall.Rusage) {
	e.cpu += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	e.peakKB = max(e.peakKB, u.Maxrss)
}

func (e ending) exit() Exit {
	x := Exit{CPU: e.cpu, PeakKB: e.peakKB, Code: e.status.ExitStatus()}
	if e.status.Signaled() {
		x.Signal = int(e.status.Signal())
		x.Code = 128 + x.Signal
	}
	return x
}

// namespace is a box: every process but this one belongs to the command.
type namespace struct{}

func (namespace) start(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	attr.Sys = &syscall.SysProcAttr{
		Setsid:     true,
		Credential: &syscall.Credential{Uid: userID, Gid: groupID},
	}
	// When memory runs out the command must go, never this process: the
	// child inherits the higher score, and can't get below ours.
	setOOMScore("500")
	defer setOOMScore("0")
	return syscall.ForkExec(path, argv, attr)
}

func setOOMScore(v string) { _ = os.WriteFile("/proc/self/oom_score_adj", []byte(v), 0o644) }

func (namespace) killAll(int) {
	if firstOfBox() {
		_ = syscall.Kill(-1, syscall.SIGKILL)
	}
}

func (n namespace) wait(pid int) ending {
	var e ending
	for {
		got, status, ok := e.reap(-1)
		if !ok || got == pid {
			e.status = status
			break
		}
	}
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		n.killUntil(stop)
	}()
	for {
		if _, _, ok := e.reap(-1); !ok {
			break
		}
	}
	close(stop)
	<-stopped
	return e
}

// killUntil kills again and again: a process may be born while others die.
func (n namespace) killUntil(stop <-chan struct{}) {
	t := time.NewTicker(rekill)
	defer t.Stop()
	for {
		n.killAll(0)
		select {
		case <-stop:
			return
		case <-t.C:
		}
	}
}

// reap waits for one process; false when there is none left.
func (e *ending) reap(pid int) (int, syscall.WaitStatus, bool) {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		got, err := syscall.Wait4(pid, &status, 0, &usage)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return 0, 0, false
		}
		e.add(&usage)
		return got, status, true
	}
}

// lookPath finds a program the way that execvp does, with the command's own
// PATH and folder.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var found error = &fs.PathError{Op: "starting", Path: name, Err: syscall.ENOENT}
	for _, d := range filepath.SplitList(variable(env, "PATH")) {
		p := filepath.Join(d, name)
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		info, err := os.Stat(p)
		if err != nil || info.IsDir() {
			continue
		}
		if info.Mode()&0o111 != 0 {
			return p, nil
		}
		found = &fs.PathError{Op: "starting", Path: p, Err: syscall.EACCES}
	}
	return "", found
}

func variable(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// oomKills is how often memory ran out in this box so far, by either version
// of the control groups.
func oomKills() int64 {
	for _, file := range []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"} {
		if data, err := os.ReadFile(file); err == nil {
			return counter(data, "oom_kill")
		}
	}
	return 0
}

func counter(data []byte, name string) int64 {
	sc := bufio.NewScanner(bytes.NewReader(data))
	for sc.Scan() {
		fields := strings.Fields(sc.Text())
		if len(fields) == 2 && fields[0] == name {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}
