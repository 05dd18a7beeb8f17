package inbox

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// group runs commands outside of a box: it kills only their own group.
type group struct{}

func (group) start(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	attr.Sys = &syscall.SysProcAttr{Setpgid: true}
	return syscall.ForkExec(path, argv, attr)
}

func (g group) wait(pid int) ending {
	var e ending
	_, e.status, _ = e.reap(pid)
	g.killAll(pid)
	return e
}

func (group) killAll(pid int) {
	if pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// pair is a client and a box of this process, below a folder.
func pair(t *testing.T, model http.Handler) (*Client, string) {
	t.Helper()
	root := t.TempDir()
	toBox, fromHost, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	toHost, fromBox, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &box{procs: group{}, root: root}
	served := make(chan error, 1)
	go func() {
		served <- b.serve(toBox, fromBox)
		_ = fromBox.Close()
	}()
	c := NewClient(toHost, fromHost, model)
	t.Cleanup(func() {
		_ = fromHost.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		c.Wait()
	})
	return c, root
}

func tarOf(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(h.Name))
		}
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(tw, h.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func list(t *testing.T, r io.Reader) string {
	t.Helper()
	var out []string
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(out, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%c:%s:%d", h.Typeflag, h.Name, h.Size))
	}
}

func TestMainRefusesOutsideOfABox(t *testing.T) {
	if got := Main(strings.NewReader(""), io.Discard); got != 2 {
		t.Errorf("got %d", got)
	}
	// It must not kill either: this test goes on.
	namespace{}.killAll(0)
}

func TestCommands(t *testing.T) {
	c, root := pair(t, nil)
	big := strings.Repeat("0123456789abcdef", 1<<16)
	cases := []struct {
		name        string
		script      string
		stdin, want string
		code        int
		signal      int
	}{
		{name: "output", script: "echo out; echo err >&2", want: "out\n|err\n"},
		{name: "exit code", script: "exit 7", want: "|", code: 7},
		{name: "signal", script: "kill -TERM $$", want: "|", code: 143, signal: 15},
		{name: "input", script: "cat", stdin: big, want: big + "|"},
		{name: "input not read", script: "echo done", stdin: big, want: "done\n|"},
		{name: "environment", script: `echo "$WORD $LANG $USER"`, want: "a=b C.UTF-8 agent\n|"},
		{name: "background", script: "sleep 100 & echo up", want: "up\n|"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			x, err := c.Run(t.Context(), Command{
				Argv: []string{"sh", "-c", tc.script}, Dir: root, Env: map[string]string{"WORD": "a=b"},
				Stdin: strings.NewReader(tc.stdin), Stdout: &out, Stderr: &errs,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := out.String() + "|" + errs.String(); got != tc.want {
				t.Errorf("got %.80q, want %.80q", got, tc.want)
			}
			if x.Code != tc.code || x.Signal != tc.signal || x.Killed || x.PeakKB == 0 {
				t.Errorf("got %+v", x)
			}
		})
	}
}

func TestCommandsThatDoNotStart(t *testing.T) {
	c, root := pair(t, nil)
	if err := os.WriteFile(filepath.Join(root, "plain"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		argv, dir string
		code      int
	}{
		{"no-such-program", root, 127}, {"./plain", root, 126}, {"./none", root, 127}, {"true", root + "/nowhere", 127},
	}
	for _, tc := range cases {
		var errs bytes.Buffer
		x, err := c.Run(t.Context(), Command{Argv: []string{tc.argv}, Dir: tc.dir, Stderr: &errs})
		if err != nil || x.Code != tc.code || errs.Len() == 0 {
			t.Errorf("%s: %+v, %v, %q", tc.argv, x, err, errs.String())
		}
	}
}

func TestCancelKills(t *testing.T) {
	c, root := pair(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x, err := c.Run(ctx, Command{Argv: []string{"sh", "-c", "echo up; exec sleep 100"}, Dir: root, Stdout: writer(func([]byte) { cancel() })})
	if err != nil || !x.Killed || x.Signal != 9 {
		t.Errorf("got %+v, %v", x, err)
	}
	if x, err := c.Run(t.Context(), Command{Argv: []string{"true"}, Dir: root}); err != nil || x.Killed {
		t.Errorf("afterwards %+v, %v", x, err)
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestOneCommandAtATime(t *testing.T) {
	c, root := pair(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := c.Run(ctx, Command{Argv: []string{"sh", "-c", "echo up; exec sleep 100"}, Dir: root, Stdout: writer(func([]byte) {
		if _, err := c.Run(t.Context(), Command{Argv: []string{"true"}, Dir: root}); err == nil {
			t.Error("two commands ran at once")
		}
		cancel()
	})})
	if err != nil {
		t.Error(err)
	}
}

func TestPutNeverFollowsLinks(t *testing.T) {
	outside := t.TempDir()
	cases := map[string][]tar.Header{
		"through an own link": {
			{Typeflag: tar.TypeSymlink, Name: "a", Linkname: outside}, {Typeflag: tar.TypeReg, Name: "a/f"}},
		"over an own link": {
			{Typeflag: tar.TypeSymlink, Name: "f", Linkname: outside + "/f"}, {Typeflag: tar.TypeReg, Name: "f"}},
		"a folder over a link": {
			{Typeflag: tar.TypeSymlink, Name: "a", Linkname: outside}, {Typeflag: tar.TypeDir, Name: "a/"}, {Typeflag: tar.TypeReg, Name: "a/f"}},
		"dots":        {{Typeflag: tar.TypeReg, Name: "../f"}},
		"absolute":    {{Typeflag: tar.TypeReg, Name: outside + "/f"}},
		"a hard link": {{Typeflag: tar.TypeLink, Name: "f", Linkname: "../../etc/passwd"}},
		"a device":    {{Typeflag: tar.TypeChar, Name: "f"}},
	}
	for name, headers := range cases {
		t.Run(name, func(t *testing.T) {
			c, _ := pair(t, nil)
			// Whether it is refused or replaced, nothing may appear outside.
			_ = c.Put(t.Context(), "/work", true, tarOf(t, headers...))
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("outside there is %v", left)
			}
		})
	}
}

func TestPutThroughALinkInThePath(t *testing.T) {
	c, root := pair(t, nil)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, "work")); err != nil {
		t.Fatal(err)
	}
	if err := c.Put(t.Context(), "/work/sub", true, tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "f"})); err == nil {
		t.Error("it was put")
	}
	var got bytes.Buffer
	if err := c.Get(t.Context(), "/work", 0, &got); err != nil || list(t, &got) != "" {
		t.Errorf("it was got: %v", err)
	}
}

func TestPutTellsWhy(t *testing.T) {
	c, _ := pair(t, nil)
	// Far more than the window comes after the fault.
	r := io.MultiReader(strings.NewReader(strings.Repeat("junk", 1024)), io.LimitReader(zeros{}, 4<<20))
	if err := c.Put(t.Context(), "/work", true, r); err == nil || errors.Is(err, errReset) {
		t.Errorf("got %v", err)
	}
	broken := errors.New("broken source")
	if err := c.Put(t.Context(), "/work", true, io.MultiReader(strings.NewReader("x"), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestGet(t *testing.T) {
	c, root := pair(t, nil)
	work := filepath.Join(root, "work")
	steps := []error{
		os.MkdirAll(work+"/sub/empty", 0o755),
		os.WriteFile(work+"/f", []byte("abc"), 0o644),
		os.WriteFile(work+"/n\xff\n", []byte("odd"), 0o644),
		os.Symlink(".", work+"/loop"),
		unix.Mkfifo(work+"/pipe", 0o644),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", work+"/sock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var got bytes.Buffer
	if err := c.Get(t.Context(), "/work", 1<<20, &got); err != nil {
		t.Fatal(err)
	}
	want := "0:f:3 2:loop:0 0:n\xff\n:3 6:pipe:0 6:sock:0 5:sub/:0 5:sub/empty/:0"
	if s := list(t, &got); s != want {
		t.Errorf("got %q, want %q", s, want)
	}
}

func TestGetTooLarge(t *testing.T) {
	many := func(dir string) error {
		for i := range 300 {
			if err := os.WriteFile(fmt.Sprintf("%s/%d", dir, i), nil, 0o644); err != nil {
				return err
			}
		}
		return nil
	}
	cases := map[string]func(dir string) error{
		"sparse": func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/s", nil, 0o644), os.Truncate(dir+"/s", 1<<40))
		},
		"many": many,
		"deep": func(dir string) error { return os.MkdirAll(dir+strings.Repeat("/d", maxDepth+5), 0o755) },
	}
	for name, fill := range cases {
		t.Run(name, func(t *testing.T) {
			c, root := pair(t, nil)
			if err := errors.Join(os.Mkdir(root+"/work", 0o755), fill(root+"/work")); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), "/work", 100_000, io.Discard); !errors.Is(err, ErrTooLarge) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestModel(t *testing.T) {
	model := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprintf(w, "%s %d %s", r.URL.Path, n, strings.Repeat("x", 1<<20))
	})
	c, _ := pair(t, model)
	addr := freeAddr(t)
	if err := c.Setup(t.Context(), Setup{Home: "/home", Model: addr}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		res, err := http.Post("http://"+addr+"/v1", "text/plain", io.LimitReader(zeros{}, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || !strings.HasPrefix(string(body), "/v1 1048576 ") || len(body) != 1<<20+12 {
			t.Errorf("got %d bytes, %.20q, %v", len(body), body, err)
		}
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func TestSlowReaderBlocksNothingElse(t *testing.T) {
	c, root := pair(t, nil)
	blocked, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		first := true
		_, err := c.Run(t.Context(), Command{Argv: []string{"sh", "-c", "head -c 4000000 /dev/zero"}, Dir: root, Stdout: writer(func([]byte) {
			if first {
				first = false
				close(blocked)
				<-release
			}
		})})
		done <- err
	}()
	<-blocked
	if err := c.Put(t.Context(), "/work", true, tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "f"})); err != nil {
		t.Error(err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// FuzzBox feeds a box with any bytes: it may end, but must not hang, panic or
// leave its folder.
func FuzzBox(f *testing.F) {
	f.Add(appendFrame(nil, frame{kind: frameOpen, id: 1, payload: []byte(`{"op":"get","dir":"/x"}`)}))
	f.Add(appendFrame(appendFrame(nil, frame{kind: frameOpen, id: 1, payload: []byte(`{"op":"put","dir":"/x"}`)}), frame{kind: frameData, id: 1, payload: []byte("tar")}))
	f.Add(appendFrame(nil, frame{kind: frameWindow, id: 1, payload: []byte{255, 255, 255, 255}}))
	f.Add([]byte{2, 0, 0, 0, 1, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("run")) || bytes.Contains(data, []byte("setup")) || bytes.Contains(data, []byte(`\u`)) {
			t.Skip("nothing may be executed or listen here")
		}
		b := &box{procs: group{}, root: t.TempDir()}
		_ = b.serve(bytes.NewReader(data), io.Discard)
	})
}

// FuzzHost feeds a client with any bytes after a request of every kind.
func FuzzHost(f *testing.F) {
	f.Add(appendFrame(nil, frame{kind: frameResult, id: 1, payload: []byte(`{"error":"x"}`)}))
	f.Add(appendFrame(appendFrame(nil, frame{kind: frameData, id: 1, payload: []byte("x")}), frame{kind: frameEOF, id: 1}))
	f.Add(appendFrame(nil, frame{kind: frameOpen, id: 2, payload: []byte(connRequest)}))
	f.Add(bytes.Repeat(appendFrame(nil, frame{kind: frameData, id: 1, payload: make([]byte, maxData)}), 20))
	f.Fuzz(func(t *testing.T, data []byte) {
		gate, opened := io.Pipe()
		c := NewClient(io.MultiReader(gate, bytes.NewReader(data)), io.Discard, http.NotFoundHandler())
		go func() {
			runtime.Gosched()
			_ = opened.Close()
		}()
		_ = c.Get(t.Context(), "/x", 1000, io.Discard)
		_, _ = c.Run(t.Context(), Command{Argv: []string{"x"}})
		c.Wait()
	})
}
