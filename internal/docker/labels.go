package docker

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Labels of everything that we make. A container, volume or network without
// labelOwner isn't ours.
const (
	labelRun   = "io.assay.run"
	labelRole  = "io.assay.role"
	labelOwner = "io.assay.owner"
	labelKit   = "io.assay.kit"
)

// Roles of what outlives a run.
const (
	roleProgram = "program"
	roleKit     = "kit"
	roleEnv     = "env"
	roleCA      = "ca"
)

// owner is the process that made an object: "pid:start:host".
type owner struct {
	Pid   int
	Start string // its start in clock ticks since boot, "" when unknown
	Host  string
}

func (o owner) String() string { return fmt.Sprintf("%d:%s:%s", o.Pid, o.Start, o.Host) }

func parseOwner(s string) (owner, bool) {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) != 3 {
		return owner{}, false
	}
	pid, err := strconv.Atoi(parts[0])
	return owner{Pid: pid, Start: parts[1], Host: parts[2]}, err == nil && pid > 0
}

// dead tells whether an object's owner is known to be gone. Of a process on
// another machine nothing is known.
func (o owner) dead(me owner) bool {
	if o.Host != me.Host {
		return false
	}
	p, err := os.FindProcess(o.Pid)
	if err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return true
	}
	return startOf(o.Pid) != o.Start
}

// startOf is when a process of this machine started; "" where that can't be
// read.
func startOf(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The program's name stands in brackets and may hold anything.
	_, rest, ok := strings.Cut(string(data[strings.LastIndexByte(string(data), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return ""
	}
	return fields[19]
}

func (s *Sandbox) labels(runID, role string) map[string]string {
	if runID == "" {
		runID = s.opts.Run
	}
	return map[string]string{labelRun: runID, labelRole: role, labelOwner: s.owner.String()}
}

// imageLabels are an image's. They name no owner: containers inherit them,
// also those that a person starts.
func imageLabels(role string) map[string]string { return map[string]string{labelRole: role} }

// unique is a name that no object has.
func unique(parts ...string) string {
	var b [6]byte
	// It never fails: see crypto/rand.
	_, _ = rand.Read(b[:])
	for i, p := range parts {
		parts[i] = plain(p)
	}
	return "assay-" + strings.Join(parts, "-") + "-" + hex.EncodeToString(b[:])
}

// plain keeps what the engine allows in names, and not too much of it.
func plain(s string) string {
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '_'
	}, s)
	if len(out) > 40 {
		out = out[:40]
	}
	return out
}
