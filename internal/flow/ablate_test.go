package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/patch"
	"github.com/assaybot/assay/internal/tree"
)

func numbered(n int, change map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if line, ok := change[i]; ok {
			b.WriteString(line)
			continue
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestAblationsTakeOneHunkEach(t *testing.T) {
	base := tree.Tree{
		"a.txt": tree.Text(numbered(40, nil)), "gone.txt": tree.Text("x\n"), "same.txt": tree.Text("same\n"),
		"mode.sh": tree.Text("#!/bin/sh\n"), "bytes": {Mode: tree.File, Data: []byte{0, 1, 2}},
		"crlf.txt": tree.Text("one\r\ntwo\r\nthree"),
	}
	after := tree.Tree{
		"a.txt":   tree.Text(numbered(40, map[int]string{1: "", 20: "twenty\ntwenty and a half\n", 40: "last, unended"})),
		"new.txt": tree.Text("new\n"), "same.txt": tree.Text("same\n"),
		"mode.sh": {Mode: tree.Exec, Data: []byte("#!/bin/sh\n")}, "bytes": {Mode: tree.File, Data: []byte{0, 9}},
		"crlf.txt": tree.Text("one\r\n2\r\nthree"),
	}
	diff, err := patch.Make(t.Context(), base, after)
	if err != nil {
		t.Fatal(err)
	}
	list, err := ablations(base, after, diff)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, a := range list {
		var changed []string
		for _, c := range tree.Diff(after, a.tree) {
			changed = append(changed, c.Path)
		}
		got[a.label] = strings.Join(changed, " ")
	}
	want := map[string]string{
		"a.txt:1": "a.txt", "a.txt:16": "a.txt", "a.txt:37": "a.txt", "bytes": "bytes", "crlf.txt:1": "crlf.txt",
		"gone.txt": "gone.txt", "mode.sh": "mode.sh", "new.txt": "new.txt",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
	for _, a := range list {
		if a.label == "a.txt:16" {
			whole := numbered(40, map[int]string{1: "", 40: "last, unended"})
			if d := cmp.Diff(whole, string(a.tree["a.txt"].Data)); d != "" {
				t.Errorf("without the middle hunk:\n%s", d)
			}
		}
	}
}

func TestSpread(t *testing.T) {
	all := make([]ablation, 10)
	for i := range all {
		all[i].label = fmt.Sprint(i)
	}
	for n, want := range map[int]string{1: "0", 3: "0 3 6", 4: "0 2 5 7", 10: "0 1 2 3 4 5 6 7 8 9", 20: "0 1 2 3 4 5 6 7 8 9"} {
		var labels []string
		for _, a := range spread(all, n) {
			labels = append(labels, a.label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// Hunks of any two texts can be taken out, and all of them together are the
// whole change.
func FuzzWithout(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n")
	f.Add("", "x")
	f.Add("a\r\nb", "b\r\n")
	f.Add(numbered(30, nil), numbered(30, map[int]string{2: "", 25: "x\n"}))
	f.Fuzz(func(t *testing.T, old, fresh string) {
		base, after := tree.Tree{"f": tree.Text(old)}, tree.Tree{"f": tree.Text(fresh)}
		diff, err := patch.Make(t.Context(), base, after)
		if err != nil {
			t.Skip(err)
		}
		list, err := ablations(base, after, diff)
		if err != nil {
			t.Fatalf("%q to %q: %v", old, fresh, err)
		}
		if len(list) == 0 && old != fresh {
			t.Errorf("%q to %q has no hunk", old, fresh)
		}
		if len(list) == 1 && string(list[0].tree["f"].Data) != old {
			t.Errorf("%q to %q without its only hunk is %q", old, fresh, list[0].tree["f"].Data)
		}
	})
}
