package docker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRewriteFrom(t *testing.T) {
	text := "ARG V=3.13\nFROM --platform=linux/amd64 python:${V} AS base\nRUN x\nfrom base as two\nFROM scratch\nCOPY --from=two / /\n"
	var asked []string
	got, err := rewriteFrom(text, func(ref string) (string, []string, error) {
		asked = append(asked, ref)
		return "new:" + ref, []string{"ARG A=1"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "ARG V=3.13\nFROM --platform=linux/amd64 new:python:3.13 AS base\nARG A=1\nRUN x\nfrom base as two\nFROM scratch\nCOPY --from=two / /\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"python:3.13"}, asked); d != "" {
		t.Error(d)
	}
	broken := errors.New("no")
	if _, err := rewriteFrom("FROM x", func(string) (string, []string, error) { return "", nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestOwner(t *testing.T) {
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	got, ok := parseOwner(me.String())
	if !ok || got != me || got.dead(me) {
		t.Errorf("got %v, %t", got, ok)
	}
	older := me
	older.Start = "1"
	if !older.dead(me) {
		t.Error("a process with the same number that started later passes for it")
	}
	gone := me
	gone.Pid = 1 << 30
	if !gone.dead(me) {
		t.Error("a process that isn't there passes for alive")
	}
	gone.Host = "elsewhere"
	if gone.dead(me) {
		t.Error("a process elsewhere passes for dead")
	}
	for _, s := range []string{"", "1", "x:1:h", "-1:1:h"} {
		if _, ok := parseOwner(s); ok {
			t.Errorf("%q passes for an owner", s)
		}
	}
}

func piece(kind byte, text string) []byte {
	b := []byte{kind, 0, 0, 0}
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	return append(b, text...)
}

func TestDemux(t *testing.T) {
	in := bytes.Join([][]byte{piece(1, "one "), piece(2, strings.Repeat("e", 5000)+" oh no"), piece(1, ""), piece(1, "two")}, nil)
	d := newDemux(bytes.NewReader(in))
	got, err := io.ReadAll(d)
	if err != nil || string(got) != "one two" {
		t.Errorf("got %q, %v", got, err)
	}
	if s := d.tail(); len(s) > tailSize || !strings.HasSuffix(s, " oh no") {
		t.Errorf("the tail is %q", s)
	}
	if _, err := io.ReadAll(newDemux(bytes.NewReader(piece(9, "x")))); err == nil {
		t.Error("an unknown kind is read")
	}
}

func FuzzDemux(f *testing.F) {
	f.Add(append(piece(1, "x"), piece(2, "y")...))
	f.Add([]byte{2, 0, 0, 0, 255, 255, 255, 255})
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = io.ReadAll(newDemux(bytes.NewReader(data))) })
}

func TestProgress(t *testing.T) {
	in := `{"stream":"Step 1"}` + "\n" + `junk` + "\n" + `{"status":"Pulling","id":"a","progress":"[=> ]"}` + "\n" + `{"stream":"said\n"}` + "\n" + `{"error":"it broke"}`
	var log strings.Builder
	last, err := readProgress(strings.NewReader(in), &log)
	if err == nil || err.Error() != "it broke" || log.String() != "Step 1said\n" {
		t.Errorf("log %q, %v", log.String(), err)
	}
	if d := cmp.Diff([]string{"Step 1", "said"}, last); d != "" {
		t.Error(d)
	}
}

func TestProgramIsChecked(t *testing.T) {
	script := t.TempDir() + "/script"
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{"": "none was named", "/no/such/file": "no such file", script: "no Linux program"}
	for path, want := range cases {
		s := &Sandbox{arch: "amd64", opts: Options{Program: path}}
		if _, err := s.readProgram(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", path, err)
		}
	}
}
