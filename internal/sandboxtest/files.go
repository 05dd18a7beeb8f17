package sandboxtest

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

func (s suite) files(t *testing.T) {
	s.test(t, "round trip", roundTrip)
	s.test(t, "put replaces", putReplaces)
	s.test(t, "owned files are writable", ownedFiles)
	s.test(t, "a missing folder is an empty archive", missingFolder)
	s.test(t, "links and special files", oddFiles)
	s.test(t, "over the limit", overLimit)
	s.test(t, "clear", clearFolder)
	s.test(t, "clear follows no link", clearLink)
	s.test(t, "paths", paths)
}

func sample() tree.Tree {
	long := strings.Repeat("long-", 30)
	return tree.Tree{
		"plain.txt":             tree.Text("one\ntwo\n"),
		"crlf.txt":              tree.Text("one\r\ntwo\r\n"),
		"no final newline":      tree.Text("end"),
		"empty":                 tree.Text(""),
		"binary.bin":            tree.Text("\x00\x01\xff\xfe\r\n\x00"),
		"run.sh":                {Mode: tree.Exec, Data: []byte("#!/bin/sh\nexit 7\n")},
		"deep/er/and deeper/f":  tree.Text("x"),
		"naïve ☃/Ünï.txt":       tree.Text("snow"),
		"-rf":                   tree.Text("dash"),
		"quote'\"$x`.txt":       tree.Text("quotes"),
		"new\nline":             tree.Text("newline"),
		".hidden/.file":         tree.Text("dot"),
		long + "/" + long + "f": tree.Text("long"),
		"link":                  {Mode: tree.Link, Data: []byte("plain.txt")},
		"deep/up":               {Mode: tree.Link, Data: []byte("../plain.txt")},
		"dangling":              {Mode: tree.Link, Data: []byte("no such file")},
		"absolute":              {Mode: tree.Link, Data: []byte("/etc/passwd")},
		"loop-a":                {Mode: tree.Link, Data: []byte("loop-b")},
		"loop-b":                {Mode: tree.Link, Data: []byte("loop-a")},
		"self":                  {Mode: tree.Link, Data: []byte(".")},
	}
}

func roundTrip(t *testing.T, b box) {
	b.put(t, run.WorkDir, true, sample())
	got, special := b.get(t, run.WorkDir)
	wantTree(t, got, sample())
	if len(special) > 0 {
		t.Errorf("special files out of nowhere: %q", special)
	}
	if o := b.cmd(t, "./run.sh"); o.Code != 7 {
		t.Errorf("an executable file exited with %d, want 7", o.Code)
	}
	sub, _ := b.get(t, run.WorkDir+"/deep")
	wantTree(t, sub, sample().Sub("deep"))
}

func putReplaces(t *testing.T, b box) {
	b.put(t, run.WorkDir, true, tree.Tree{
		"a": tree.Text("old, longer"), "keep": tree.Text("k"),
		"link": {Mode: tree.Link, Data: []byte("keep")},
	})
	b.put(t, run.WorkDir, true, tree.Tree{
		"a": {Mode: tree.Exec, Data: []byte("new")}, "link": tree.Text("file now"),
	})
	got, _ := b.get(t, run.WorkDir)
	wantTree(t, got, tree.Tree{
		"a": {Mode: tree.Exec, Data: []byte("new")}, "keep": tree.Text("k"),
		"link": tree.Text("file now"),
	})
}

func ownedFiles(t *testing.T, b box) {
	b.put(t, run.WorkDir, true, tree.Tree{"dir/f": tree.Text("a\n")})
	b.ok(t, `echo b >>dir/f && echo c >dir/new && mkdir other && rm -f gone`)
	got, _ := b.get(t, run.WorkDir)
	wantTree(t, got, tree.Tree{"dir/f": tree.Text("a\nb\n"), "dir/new": tree.Text("c\n")})

	b.put(t, run.HomeDir, true, tree.Tree{".config/x": tree.Text("home")})
	if out := b.ok(t, `cat "$HOME/.config/x" && echo y >"$HOME/.config/y"`); out != "home" {
		t.Errorf("the home directory's file reads %q", out)
	}
	b.put(t, run.VerifyDir, false, tree.Tree{"hidden.py": tree.Text("v")})
	if out := b.ok(t, `cat "$1"`, b.Root()+run.VerifyDir+"/hidden.py"); out != "v" {
		t.Errorf("a hidden file reads %q", out)
	}
}

func missingFolder(t *testing.T, b box) {
	for _, dir := range []string{run.WorkDir + "/none", "/none/at/all"} {
		got, special := b.get(t, dir)
		if len(got)+len(special) > 0 {
			t.Errorf("%s holds %q, %q", dir, got.Paths(), special)
		}
	}
}

func oddFiles(t *testing.T, b box) {
	b.ok(t, `mkfifo pipe && ln -s loop2 loop1 && ln -s loop1 loop2 &&
		ln -s nowhere dangling && ln -s /etc abs && ln -s .. up &&
		echo one >file && ln file hard && mkdir sub && ln -s ../pipe sub/p`)
	got, special := b.get(t, run.WorkDir)
	link := func(to string) tree.Entry { return tree.Entry{Mode: tree.Link, Data: []byte(to)} }
	wantTree(t, got, tree.Tree{
		"loop1": link("loop2"), "loop2": link("loop1"), "dangling": link("nowhere"),
		"abs": link("/etc"), "up": link(".."), "sub/p": link("../pipe"),
		"file": tree.Text("one\n"), "hard": tree.Text("one\n"),
	})
	if !slices.Equal(special, []string{"pipe"}) {
		t.Errorf("special files are %q, want the FIFO only", special)
	}
}

func overLimit(t *testing.T, b box) {
	b.ok(t, `mkdir real sparse many && head -c 3000000 /dev/zero >real/f`)
	wantTooLarge(t, b.Get(b.ctx, run.WorkDir+"/real", 1<<20, io.Discard))
	if err := b.Get(b.ctx, run.WorkDir+"/real", 4<<20, io.Discard); err != nil {
		t.Errorf("under the limit: %v", err)
	}
	b.ok(t, `i=0; while [ $i -lt 300 ]; do : >many/$i; i=$((i+1)); done`)
	wantTooLarge(t, b.Get(b.ctx, run.WorkDir+"/many", 64<<10, io.Discard))

	if o := b.sh(t, `truncate -s 1T sparse/f`); o.Code != 0 {
		t.Skipf("no sparse files here: %s", o.err)
	}
	wantTooLarge(t, b.Get(b.ctx, run.WorkDir+"/sparse", 1<<20, io.Discard))
}

func clearFolder(t *testing.T, b box) {
	b.put(t, run.ReportDir, true, tree.Tree{"old.xml": tree.Text("x"), "sub/f": tree.Text("x")})
	b.ok(t, `mkdir "$1/locked" && : >"$1/locked/f" && chmod 500 "$1/locked"`, b.Root()+run.ReportDir)
	for range 2 {
		if err := b.Clear(b.ctx, run.ReportDir); err != nil {
			t.Fatalf("clearing: %v", err)
		}
		if out := b.ok(t, `ls -A "$1"`, b.Root()+run.ReportDir); out != "" {
			t.Errorf("after Clear the folder holds %q", out)
		}
	}
	b.ok(t, `echo new >"$1/new.xml"`, b.Root()+run.ReportDir)
	got, _ := b.get(t, run.ReportDir)
	wantTree(t, got, tree.Tree{"new.xml": tree.Text("new\n")})

	if err := b.Clear(b.ctx, run.WorkDir+"/made/by/clear"); err != nil {
		t.Errorf("clearing a folder that isn't there: %v", err)
	}
	b.ok(t, `echo >made/by/clear/f`)
}

func clearLink(t *testing.T, b box) {
	b.ok(t, `mkdir keep && echo kept >keep/f && ln -s keep out`)
	if err := b.Clear(b.ctx, run.WorkDir+"/out"); err != nil {
		t.Fatalf("clearing a link: %v", err)
	}
	b.ok(t, `[ ! -L out ] && [ -d out ] && echo >out/f`)
	got, _ := b.get(t, run.WorkDir)
	wantTree(t, got, tree.Tree{"keep/f": tree.Text("kept\n"), "out/f": tree.Text("\n")})
}

func paths(t *testing.T, b box) {
	if out := strings.TrimSpace(b.ok(t, `pwd -P`)); !strings.HasSuffix(out, b.Root()+run.WorkDir) {
		t.Errorf("a command in %s runs in %s, Root is %q", run.WorkDir, out, b.Root())
	}
	if r := b.Root(); r != "" && (!strings.HasPrefix(r, "/") || strings.HasSuffix(r, "/")) {
		t.Errorf("Root %q is not an absolute path without a final slash", r)
	}
	for _, dir := range []string{run.WorkDir, run.HomeDir, run.ReportDir} {
		b.ok(t, `cd "$1" && : >probe && rm probe`, b.Root()+dir)
	}
	for _, dir := range []string{"", "workspace", "../x"} {
		var buf bytes.Buffer
		if err := tree.WriteTar(&buf, tree.Tree{"f": tree.Text("x")}); err != nil {
			t.Fatal(err)
		}
		if err := b.Put(b.ctx, dir, true, &buf); err == nil {
			t.Errorf("Put accepts the folder %q", dir)
		}
		if err := b.Get(b.ctx, dir, 0, io.Discard); err == nil {
			t.Errorf("Get accepts the folder %q", dir)
		}
		if err := b.Clear(b.ctx, dir); err == nil {
			t.Errorf("Clear accepts the folder %q", dir)
		}
	}
	if err := b.Clear(b.ctx, "/"); err == nil {
		t.Error("Clear accepts the root of the box")
	}
}
