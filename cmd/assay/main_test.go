package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"github.com/assaybot/assay/internal/docker"
	"github.com/assaybot/assay/internal/local"
)

// TestMain lets the test binary be the program: as a script's command, and as
// the first process of a local box.
func TestMain(m *testing.M) {
	if code, ok := local.Init(os.Args); ok {
		os.Exit(code)
	}
	testscript.Main(tidy{m}, map[string]func(){"assay": main})
}

// programDir holds the released program while the tests run.
var programDir string

// tidy runs tests and removes what they share.
type tidy struct{ m *testing.M }

func (t tidy) Run() int {
	var err error
	if programDir, err = os.MkdirTemp("", "assay-test-program-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(programDir) }()
	return t.m.Run()
}

// TestScripts runs testdata/script: one text per subject, each a person at
// the keyboard.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", Setup: prepareScript, Condition: condition(t), RequireExplicitExec: false,
		RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit": exitWith, "glob": globOne,
		},
	})
}

// suiteFile is the small suite that every script finds as suite/.
const suiteFile = "testdata/suite.txtar"

func prepareScript(e *testscript.Env) error {
	for _, kv := range cleanEnv(e.WorkDir) {
		name, value, _ := strings.Cut(kv, "=")
		e.Setenv(name, value)
	}
	self, err := exec.LookPath("assay")
	if err != nil {
		return err
	}
	e.Setenv("self", self)
	// The released program, for what takes long with the race detector.
	program, err := built()
	if err != nil {
		return err
	}
	e.Setenv("program", program)
	e.Setenv("path", os.Getenv("PATH"))
	return unpack(suiteFile, filepath.Join(e.WorkDir, "suite"))
}

// cleanEnv is the environment of a person whose home is dir and who has set
// up nothing; what the machine needs to reach its engine and its programs
// stays.
func cleanEnv(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "ASSAY_CACHE=" + filepath.Join(dir, "cache"),
		"DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "GORACE=atexit_sleep_ms=0", "LC_ALL=C", "TZ=UTC",
	}
}

// unpack writes the files of an archive below dir.
func unpack(archive, dir string) error {
	a, err := txtar.ParseFile(archive)
	if err != nil {
		return err
	}
	for _, f := range a.Files {
		if err := writeFile(filepath.Join(dir, f.Name), f.Data); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

func condition(t *testing.T) func(string) (bool, error) {
	return func(cond string) (bool, error) {
		switch cond {
		case "docker":
			return dockerAnswers(t), nil
		case "python":
			return has(t, "python", "python3"), nil
		}
		return false, fmt.Errorf("unknown condition %q", cond)
	}
}

// required tells whether ASSAY_REQUIRE names a thing: then its absence fails
// a test in place of skipping it.
func required(what string) bool {
	return slices.Contains(strings.Split(os.Getenv("ASSAY_REQUIRE"), ","), what)
}

// need skips a test on a machine without a thing, or fails it where the thing
// is required.
func need(t testing.TB, what string, there bool, why string) {
	t.Helper()
	switch {
	case there:
	case required(what):
		t.Fatalf("%s is required here: %s", what, why)
	default:
		t.Skip(why)
	}
}

func has(t *testing.T, what, program string) bool {
	_, err := exec.LookPath(program)
	if err != nil && required(what) {
		t.Errorf("%s is required here: %v", what, err)
	}
	return err == nil
}

func dockerAnswers(t *testing.T) bool {
	err := dockerFault()
	if err != nil && required("docker") {
		t.Errorf("docker is required here: %v", err)
	}
	return err == nil
}

// dockerFault is why no engine can be used, nil when one answers.
var dockerFault = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := docker.New(ctx, docker.Options{Host: os.Getenv("DOCKER_HOST")})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(ctx) }()
	return s.Ping(ctx)
})

// needDocker skips a test where no engine answers.
func needDocker(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs minutes of a Docker engine")
	}
	err := dockerFault()
	need(t, "docker", err == nil, fmt.Sprintf("no Docker engine: %v", err))
}

// release builds the program as it is released, once per test binary: static,
// so that it serves as the first process of a Docker box too.
func release(t testing.TB) string {
	t.Helper()
	name, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

var built = sync.OnceValues(func() (string, error) {
	name := filepath.Join(programDir, "assay")
	cmd := exec.Command("go", "build", "-trimpath", "-o", name, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return name, nil
})
