package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/ledger"
)

// person is somebody at a keyboard with the released program: a folder, a
// clean environment, and the small suite as suite/.
type person struct {
	t   testing.TB
	dir string
	env []string
}

func newPerson(t testing.TB, env ...string) *person {
	t.Helper()
	p := &person{t: t, dir: t.TempDir()}
	p.env = append(append(cleanEnv(p.dir), "ASSAY_BOX_PROGRAM="+release(t)), env...)
	if err := unpack(suiteFile, p.path("suite")); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *person) path(name string) string { return filepath.Join(p.dir, name) }

func (p *person) write(name, text string) {
	p.t.Helper()
	if err := writeFile(p.path(name), []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) writeJSON(name string, v any) {
	p.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(name, string(data))
}

// said is what a command line answered.
type said struct {
	out, err string
	code     int
}

func (p *person) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), release(p.t), args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

func (p *person) types(args ...string) said {
	p.t.Helper()
	var out, errs bytes.Buffer
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return said{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// must types a command that has to end with a status.
func (p *person) must(code int, args ...string) said {
	p.t.Helper()
	s := p.types(args...)
	if s.code != code {
		p.t.Fatalf("assay %s: status %d, want %d\n%s%s", strings.Join(args, " "), s.code, code, s.out, s.err)
	}
	return s
}

// results are the results that count, by agent's label (or name) and task.
func (p *person) results(dir string) map[string]assay.Result {
	p.t.Helper()
	l, err := ledger.OpenRead(p.path(dir))
	if err != nil {
		p.t.Fatal(err)
	}
	latest, problems := l.Latest()
	if len(problems) > 0 {
		p.t.Error(problems)
	}
	out := map[string]assay.Result{}
	for _, r := range latest {
		out[r.Trial.Agent.Key()+" "+r.Trial.Task] = r
	}
	return out
}

// attempt is the folder of a result's attempt.
func (p *person) attempt(dir string, r assay.Result) string {
	return filepath.Join(p.path(dir), r.Trial.Dir(), "attempts", "1")
}

func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// sandboxes runs a test in every sandbox that this machine has.
func sandboxes(t *testing.T, test func(t *testing.T, sandbox string)) {
	t.Run("local", func(t *testing.T) { test(t, "local") })
	t.Run("docker", func(t *testing.T) {
		needDocker(t)
		test(t, "docker")
	})
}
