package scaffold

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// script is the Action's own script, as its runner would start it.
func script(t *testing.T) string {
	t.Helper()
	w, err := parseWorkflow("action.yml", shipped(t)["../../action.yml"])
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range w.steps() {
		if s["id"] == "install" {
			return fmt.Sprint(s["run"])
		}
	}
	t.Fatal("the Action has no step called install")
	return ""
}

// fakeProgram stands for assay, and for curl, which gives it away.
const fakeProgram = "#!/bin/sh\necho 'assay version v0.1.0'\n"

// Modes of the Action, without a network: curl is a script that hands out a
// file, and records its address.
func TestActionInstalls(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash isn't on PATH")
	}
	sum := sha256.Sum256([]byte(fakeProgram))
	good := hex.EncodeToString(sum[:])
	tests := []struct {
		name string
		env  []string
		want string // in the output of a failure; "" for success
	}{
		{"path", []string{"MODE=path"}, ""},
		{"path without a file", []string{"MODE=path", "GIVEN=/nowhere/assay"}, "names no file"},
		{"path unset", []string{"MODE=path", "GIVEN="}, "needs the input path"},
		{"release", []string{"MODE=release", "VERSION=v0.1.0", "SHA256=" + good}, ""},
		{"another checksum", []string{"MODE=release", "VERSION=v0.1.0", "SHA256=" + strings.Repeat("0", 64)}, "another checksum"},
		{"no checksum", []string{"MODE=release", "VERSION=v0.1.0"}, "needs the input sha256"},
		{"a branch", []string{"MODE=release", "VERSION=latest", "SHA256=" + good}, "is no release"},
		{"a path in the version", []string{"MODE=release", "VERSION=v1.0.0/../x", "SHA256=" + good}, "is no release"},
		{"a command in the version", []string{"MODE=release", "VERSION=v1.0.0$(touch pwned)", "SHA256=" + good}, "is no release"},
		{"another host", []string{"MODE=release", "VERSION=v0.1.0", "SHA256=" + good, "REPOSITORY=a/b@evil.example/c"}, "isn't owner/name"},
		{"unknown mode", []string{"MODE=magic"}, "build, path or release"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write("given", fakeProgram)
			write("curl", "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = --output ] && out=$2; shift; done\necho \"$1\" >\"$TEMP/address\"\ncp \"$TEMP/given\" \"$out\"\n")
			cmd := exec.CommandContext(t.Context(), bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script(t))
			cmd.Dir = dir
			cmd.Env = append([]string{
				"PATH=" + dir + ":" + os.Getenv("PATH"), "TEMP=" + dir, "SOURCE=" + dir, "GIVEN=" + filepath.Join(dir, "given"),
				"VERSION=", "SHA256=", "REPOSITORY=assaybot/assay", "SERVER=https://github.com",
				"GITHUB_OUTPUT=" + filepath.Join(dir, "output"), "GITHUB_PATH=" + filepath.Join(dir, "path"),
			}, tt.env...)
			out, err := cmd.CombinedOutput()
			if tt.want != "" {
				if err == nil || !strings.Contains(string(out), "::error title=assay::") || !strings.Contains(string(out), tt.want) {
					t.Errorf("got %v: %s", err, out)
				}
				if _, err := os.Stat(filepath.Join(dir, "path")); err == nil {
					t.Error("a program that wasn't installed is on PATH")
				}
				if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
					t.Error("an input was run")
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			output, _ := os.ReadFile(filepath.Join(dir, "output"))
			if !strings.Contains(string(output), "version=assay version v0.1.0\n") {
				t.Errorf("outputs: %s", output)
			}
			bin, _ := os.ReadFile(filepath.Join(dir, "path"))
			if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(bin)), "assay")); err != nil {
				t.Error(err)
			}
		})
	}
}
