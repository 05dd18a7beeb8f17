package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// proc is a live process. Start is its start time in clock ticks: with the
// number it names a process for good.
type proc struct {
	pid, parent int
	start       uint64
}

// processes lists all live processes, zombies left out.
func processes() map[int]proc {
	all := map[int]proc{}
	list, err := os.ReadDir("/proc")
	if err != nil {
		return all
	}
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := readProc(pid); ok {
			all[pid] = p
		}
	}
	return all
}

// readProc reads /proc/PID/stat. The program's name, which may hold anything,
// ends at the last ")"; state, parent and (20th after it) start follow.
func readProc(pid int) (proc, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, false
	}
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return proc{}, false
	}
	parent, err1 := strconv.Atoi(f[1])
	start, err2 := strconv.ParseUint(f[19], 10, 64)
	return proc{pid: pid, parent: parent, start: start}, err1 == nil && err2 == nil
}

// descendants are the live processes that come from pid, parents first, so
// that no parent goes on after its child's end.
func descendants(pid int) []proc {
	return offspring(processes(), []int{pid})
}

// offspring are the processes of all that come from those of from.
func offspring(all map[int]proc, from []int) []proc {
	children := map[int][]proc{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var out []proc
	seen := map[int]bool{}
	for len(from) > 0 {
		var next []int
		for _, pid := range from {
			for _, p := range children[pid] {
				if !seen[p.pid] {
					seen[p.pid] = true
					out, next = append(out, p), append(next, p.pid)
				}
			}
		}
		from = next
	}
	return out
}

// killEach sends SIGKILL to each process that is still the one that was
// found. The handle is taken before the second look, so that the number can't
// go to another process in between.
func killEach(list []proc) {
	for _, p := range list {
		if p.pid <= 1 || p.pid == os.Getpid() {
			continue
		}
		fd, err := unix.PidfdOpen(p.pid, 0)
		if now, ok := readProc(p.pid); ok && now.start == p.start {
			if err == nil {
				_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			} else if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
				_ = unix.Kill(p.pid, unix.SIGKILL)
			}
		}
		if err == nil {
			_ = unix.Close(fd)
		}
	}
}

// sweep kills every process that carries the marker of the box in dir, or
// whose working folder, root or program is in it, with their descendants.
func sweep(dir string) error {
	deadline := time.Now().Add(stubborn)
	for {
		found := members(dir)
		if len(found) == 0 {
			return nil
		}
		killEach(found)
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes of the box %s don't die; the first is %d", len(found), dir, found[0].pid)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// members are the processes of a box. This process and those that it comes
// from are never among them, whatever folder they are in.
func members(dir string) []proc {
	all := processes()
	for pid := os.Getpid(); pid > 0; {
		p, ok := all[pid]
		delete(all, pid)
		if !ok {
			break
		}
		pid = p.parent
	}
	delete(all, 1)
	var out []proc
	var pids []int
	for pid, p := range all {
		if belongs(pid, dir) {
			out, pids = append(out, p), append(pids, pid)
			delete(all, pid)
		}
	}
	return append(out, offspring(all, pids)...)
}

func belongs(pid int, dir string) bool {
	for _, name := range []string{"cwd", "root", "exe"} {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err == nil && (to == dir || strings.HasPrefix(to, dir+"/")) {
			return true
		}
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == marker+"="+dir {
			return true
		}
	}
	return false
}
