package sandboxtest

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

func (s suite) isolation(t *testing.T) {
	b := s.open(t, run.BoxSpec{})
	f := b.Facts()
	if f.Kind != s.sb.Name() {
		t.Errorf("Facts are of kind %q, the sandbox is %q", f.Kind, s.sb.Name())
	}
	if !f.Isolated {
		if f.Note == "" {
			t.Error("an unisolated box has no note that says so")
		}
		t.Skip("the sandbox isolates nothing, and says so")
	}
	s.test(t, "ordinary user", ordinaryUser)
	s.test(t, "hidden files are read-only", readOnlyVerify)
	t.Run("no network", s.noNetwork)
	t.Run("limits", s.limits)
	t.Run("memory", s.memory)
	t.Run("processes", s.pids)
}

func ordinaryUser(t *testing.T, b box) {
	if uid := strings.TrimSpace(b.ok(t, `id -u`)); uid == "0" {
		t.Error("commands run as root")
	}
	if o := b.sh(t, `: >/etc/assay-probe`); o.Code == 0 {
		t.Error("a command can write to /etc")
	}
	b.ok(t, `[ ! -e /var/run/docker.sock ]`)
}

func readOnlyVerify(t *testing.T, b box) {
	b.put(t, run.VerifyDir, false, tree.Tree{"t/hidden.py": tree.Text("v"), "x.sh": {Mode: tree.Exec, Data: []byte("#!/bin/sh\n")}})
	for _, script := range []string{
		`echo >/verify/t/hidden.py`, `rm -f /verify/t/hidden.py; [ ! -e /verify/t/hidden.py ]`,
		`: >/verify/new`, `chmod 777 /verify`, `mv /verify /tmp/elsewhere`,
	} {
		if o := b.sh(t, script); o.Code == 0 {
			t.Errorf("a command can do: %s", script)
		}
	}
	b.ok(t, `cat /verify/t/hidden.py && /verify/x.sh`)
}

// dial tries to reach each host:port of its arguments.
const dial = `
import socket, sys
for a in sys.argv[1:]:
    host, port = a.rsplit(":", 1)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=3).close()
        print("reached", a)
    except OSError:
        pass
`

// noNetwork listens on every address of this machine, so that a way out
// would be noticed even where the machine itself has no network.
func (s suite) noNetwork(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	argv := []string{"python3", "-c", dial, "host.docker.internal:" + port, "1.1.1.1:53"}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLinkLocalUnicast() {
			argv = append(argv, net.JoinHostPort(ip.IP.String(), port))
		}
	}
	for _, h := range []http.Handler{nil, http.NotFoundHandler()} {
		b := s.open(t, run.BoxSpec{Role: "agent", Model: h})
		if o := b.cmd(t, argv...); o.Code != 0 || o.out != "" {
			t.Errorf("a box (model: %t) gave %+v: %s%s", h != nil, o.Exit, o.out, o.err)
		}
	}
}

func (s suite) limits(t *testing.T) {
	want := assay.Limits{CPUs: 1.5, MemoryMB: 300, Pids: 99}
	f := s.open(t, run.BoxSpec{Limits: want}).Facts()
	if f.CPUs != want.CPUs || f.MemoryMB != want.MemoryMB || f.Pids != want.Pids {
		t.Errorf("in force are %+v, wanted %+v", f, want)
	}
}

func (s suite) memory(t *testing.T) {
	b := s.open(t, run.BoxSpec{Limits: assay.Limits{MemoryMB: 100}})
	o := b.cmd(t, "python3", "-c", "x = b'x' * (400 << 20); print(len(x))")
	if o.Code == 0 || !o.OOM || o.Killed {
		t.Errorf("over its memory, a command gave %+v, stdout %q", o.Exit, o.out)
	}
	if o := b.sh(t, `exit 0`); o.Code != 0 || o.OOM {
		t.Errorf("the next command gave %+v", o.Exit)
	}
}

func (s suite) pids(t *testing.T) {
	b := s.open(t, run.BoxSpec{Limits: assay.Limits{Pids: 40}})
	o := b.sh(t, `i=0; while [ $i -lt 80 ]; do sleep 300 & i=$((i+1)); done; exit 0`)
	if o.Code == 0 {
		t.Errorf("80 processes ran under a limit of 40: %+v", o.Exit)
	}
	b.ok(t, `true`)
}
