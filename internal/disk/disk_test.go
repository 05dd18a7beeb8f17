package disk

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test binary play the first locker: a real second process.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "hold" {
		if _, err := Lock(os.Args[2], "pid 4711 on first"); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("held")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0) // without releasing: as a crash does
	}
	os.Exit(m.Run())
}

func TestWriteFileReplacesAndLeavesNothingBeside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "result.json")
	for _, text := range []string{"first, longer", "second"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Fatalf("got %q, %v, want %q", got, err, text)
		}
	}
	wantNames(t, dir, "result.json")
}

func TestWriteFileFailsWithoutTraces(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(target, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := WriteFile(target, []byte("x"))
	if err == nil || !strings.Contains(err.Error(), target) {
		t.Fatalf("writing over a folder gave %v, want an error that names it", err)
	}
	wantNames(t, dir, "folder")
	if err := WriteFile(filepath.Join(dir, "none", "x"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("writing into a missing folder gave %v", err)
	}
}

func wantNames(t *testing.T, dir, want string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(list))
	for _, e := range list {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("folder holds %q, want %q", got, want)
	}
}

func TestWriteJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.json")
	if err := WriteJSON(path, map[string]string{"a": "<b> & c"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := "{\n  \"a\": \"<b> & c\"\n}\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err := WriteJSON(path, func() {}); err == nil {
		t.Error("a function was written as JSON")
	}
	if again, _ := os.ReadFile(path); string(again) != string(got) {
		t.Errorf("a failed write changed the file to %q", again)
	}
}

func TestAppend(t *testing.T) {
	tests := []struct{ name, before, want string }{
		{"missing", "-", "new\n"},
		{"empty", "", "new\n"},
		{"whole", "old\n", "old\nnew\n"},
		{"torn", "old\n{\"ha", "old\n{\"ha\nnew\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.jsonl")
			if tt.before != "-" {
				if err := os.WriteFile(path, []byte(tt.before), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := Append(path, []byte("new")); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestIsFull(t *testing.T) {
	if err := fmt.Errorf("writing: %w", &os.PathError{Op: "write", Err: syscall.ENOSPC}); !IsFull(err) {
		t.Errorf("%v is not seen as a full disk", err)
	}
	if !IsFull(syscall.EDQUOT) || IsFull(nil) || IsFull(syscall.EIO) {
		t.Error("quota, no error or an I/O error is told wrongly")
	}
	if runtime.GOOS != "linux" {
		t.Skip("/dev/full is a device of Linux")
	}
	if err := Append("/dev/full", []byte("x")); !IsFull(err) {
		t.Errorf("a full device gave %v", err)
	}
}

func TestFree(t *testing.T) {
	dir := t.TempDir()
	n, err := Free(dir)
	if err != nil || n <= 0 {
		t.Fatalf("Free = %d, %v", n, err)
	}
	if n, err := Free(filepath.Join(dir, "not", "yet")); err != nil || n <= 0 {
		t.Errorf("Free of a folder to be made = %d, %v", n, err)
	}
}

func TestLockRefusesByNameAndReleases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := Lock(path, "pid 1 on here")
	if err != nil {
		t.Fatal(err)
	}
	var held *Held
	if _, err := Lock(path, "pid 2"); !errors.As(err, &held) || held.Owner != "pid 1 on here" {
		t.Fatalf("second lock gave %v, want *Held with the first one's text", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	release, err = Lock(path, "pid 2")
	if err != nil {
		t.Fatalf("a released lock can't be taken: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Errorf("releasing a removed lock: %v", err)
	}
}

func TestLockOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first := exec.CommandContext(t.Context(), os.Args[0], "hold", path)
	in, err := first.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the first locker said %q, %v", line, err)
	}
	var held *Held
	if _, err := Lock(path, "second"); !errors.As(err, &held) || held.Owner != "pid 4711 on first" {
		t.Errorf("while the first lives, Lock gave %v", err)
	}
	_ = in.Close()
	if err := first.Wait(); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); len(text) == 0 {
		t.Error("the dead process's text is gone: this test proves nothing")
	}
	release, err := Lock(path, "second")
	if err != nil {
		t.Fatalf("a dead process's lock was not taken over: %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "second\n" {
		t.Errorf("the lock names %q", text)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
