package sandboxtest

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

func (s suite) commands(t *testing.T) {
	s.test(t, "exit codes", exitCodes)
	s.test(t, "signals", signals)
	s.test(t, "stdin", stdin)
	s.test(t, "output", outputs)
	s.test(t, "missing programs", missingPrograms)
	s.test(t, "working folder", workingFolder)
	s.test(t, "figures", figures)
	t.Run("environment", s.environment)
}

func exitCodes(t *testing.T, b box) {
	for _, code := range []string{"0", "1", "3", "127", "255"} {
		o := b.sh(t, `exit "$1"`, code)
		if got := o.Code; o.Signal != 0 || o.Killed || o.OOM || code != strconv.Itoa(got) {
			t.Errorf("exit %s gave %+v", code, o.Exit)
		}
	}
}

// A sandbox that can't tell a signal from an exit status gives the shell's
// 128 + signal with Signal 0.
func signals(t *testing.T, b box) {
	for _, sig := range []int{9, 15, 6} {
		o := b.sh(t, `kill -"$1" $$; while :; do sleep 1; done`, strconv.Itoa(sig))
		if o.Code != 128+sig || (o.Signal != sig && o.Signal != 0) || o.Killed {
			t.Errorf("signal %d gave %+v, want code %d", sig, o.Exit, 128+sig)
		}
	}
}

func stdin(t *testing.T, b box) {
	in := bytes.Repeat([]byte("line \xff\x00\r\n"), 100_000)
	o, err := b.try(run.Command{Argv: []string{"cat"}, Stdin: bytes.NewReader(in)})
	if err != nil || o.Code != 0 || o.out != string(in) {
		t.Errorf("cat gave %d bytes of %d, %+v, %v", len(o.out), len(in), o.Exit, err)
	}
	if o := b.cmd(t, "cat"); o.Code != 0 || o.out != "" {
		t.Errorf("without stdin, cat gave %+v, %q", o.Exit, o.out)
	}
	o, err = b.try(run.Command{Argv: []string{"true"}, Stdin: bytes.NewReader(make([]byte, 8<<20))})
	if err != nil || o.Code != 0 {
		t.Errorf("a program that reads no input gave %+v, %v", o.Exit, err)
	}
}

func outputs(t *testing.T, b box) {
	o := b.sh(t, `printf 'out\377\000\r\n'; printf 'err\376' >&2; printf last`)
	if o.out != "out\xff\x00\r\nlast" || o.err != "err\xfe" {
		t.Errorf("stdout %q, stderr %q", o.out, o.err)
	}
	o = b.sh(t, `head -c 10485760 /dev/zero; echo done >&2`)
	if len(o.out) != 10<<20 || strings.Trim(o.out, "\x00") != "" || o.err != "done\n" {
		t.Errorf("10 MB of output came as %d bytes, stderr %q", len(o.out), o.err)
	}
	if _, err := b.Run(b.ctx, run.Command{Argv: []string{"sh", "-c", "echo x; echo y >&2"}, Dir: run.WorkDir}); err != nil {
		t.Errorf("nobody wants the output: %v", err)
	}
}

func missingPrograms(t *testing.T, b box) {
	for _, name := range []string{"no-such-program-here", "/no/such/program"} {
		o := b.cmd(t, name, "arg")
		if o.Code != 127 || !strings.Contains(o.err, name) {
			t.Errorf("%s gave %+v, stderr %q; want code 127 and its name", name, o.Exit, o.err)
		}
	}
	b.put(t, run.WorkDir, true, tree.Tree{"text": tree.Text("no program")})
	if o := b.cmd(t, "./text"); o.Code != 126 || o.err == "" {
		t.Errorf("a file that can't be executed gave %+v, stderr %q; want code 126", o.Exit, o.err)
	}
	if _, err := b.try(run.Command{}); err == nil {
		t.Error("a command without arguments is no error")
	}
}

func workingFolder(t *testing.T, b box) {
	b.put(t, run.WorkDir, true, tree.Tree{"sub dir/f": tree.Text("here"), "f": tree.Text("top")})
	o, err := b.try(run.Command{Argv: []string{"cat", "f"}, Dir: run.WorkDir + "/sub dir"})
	if err != nil || o.out != "here" {
		t.Errorf("got %q, %v", o.out, err)
	}
	// Arguments reach the program as they are: no shell in between.
	o = b.cmd(t, "printf", "%s|", "a b", "$HOME", "*", "'", "")
	if want := "a b|$HOME|*|'||"; o.out != want {
		t.Errorf("arguments came as %q, want %q", o.out, want)
	}
}

func figures(t *testing.T, b box) {
	o := b.cmd(t, "python3", "-c", "sum(range(3_000_000)); x = b'x' * (32 << 20)")
	if o.Code != 0 || o.CPU <= 0 || o.Wall <= 0 || o.PeakMB < 16 {
		t.Errorf("CPU, wall time or memory is missing or wrong: %+v, stderr %q", o.Exit, o.err)
	}
}

func (s suite) environment(t *testing.T) {
	const canary = "canary-of-the-host"
	t.Setenv("ASSAY_TEST_CANARY", canary)
	t.Setenv("ANTHROPIC_API_KEY", canary)
	b := s.open(t, run.BoxSpec{})
	o, err := b.try(run.Command{
		Argv: []string{"env"},
		Env:  map[string]string{"GIVEN": "a b=c", "LANG": "C"},
	})
	if err != nil || strings.Contains(o.out, canary) {
		t.Errorf("the host's environment leaks, or %v:\n%s", err, o.out)
	}
	for _, want := range []string{"GIVEN=a b=c", "LANG=C", "HOME=" + b.Root() + run.HomeDir, "TZ=UTC"} {
		if !strings.Contains("\n"+o.out, "\n"+want+"\n") {
			t.Errorf("%q is missing in the environment:\n%s", want, o.out)
		}
	}
	if n := strings.Count("\n"+o.out, "\nLANG="); n != 1 {
		t.Errorf("LANG is set %d times", n)
	}
	b.ok(t, `f=$(mktemp) && rm "$f"`)
}
