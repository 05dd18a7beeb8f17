package agent

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextCutsBetweenRunesAndEscapes(t *testing.T) {
	for _, unit := range []string{"a", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, "é", "😀", `\\\"`, `\\u00e9`} {
		for limit := 14; limit < 40; limit++ {
			raw := []byte(`"` + strings.Repeat(unit, 100) + `"`)
			got := text(raw, limit)
			if !utf8.ValidString(got) || !strings.Contains(got, "left out") {
				t.Fatalf("%s at %d: %q", unit, limit, got)
			}
			var want string
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			head, rest, _ := strings.Cut(got, "\n[...")
			_, tail, _ := strings.Cut(rest, "...]\n")
			if unit != `\ud83d\ude00` && (!strings.HasPrefix(want, head) || !strings.HasSuffix(want, tail) || head == "" || tail == "") {
				t.Fatalf("%s at %d: %q ... %q", unit, limit, head, tail)
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, ` {"a" : [1, "x\"]", {"b":null}] , "c":"\\"}`, `{"a":{"b":"}"}}`, `[1,2,"3"]`, `{"a":1,}`, `{"a"`, `"\ud800"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fields := 0
		ok := eachField(b, func(_, val []byte) bool {
			fields++
			_ = text(val, 8)
			eachItem(val, func(item []byte) { _ = text(item, 4) })
			return true
		})
		var want map[string]json.RawMessage
		if json.Unmarshal(b, &want) != nil || want == nil {
			return
		}
		if !ok || fields < len(want) {
			t.Fatalf("%q is an object with %d members; %v, %d", b, len(want), ok, fields)
		}
		eachField(b, func(key, val []byte) bool {
			var name string
			if json.Unmarshal(append(append([]byte{'"'}, key...), '"'), &name) != nil {
				t.Fatalf("key %q", key)
			}
			var s string
			if val[0] == '"' && json.Unmarshal(val, &s) == nil && text(val, len(val)) != s {
				t.Fatalf("text %q is %q", val, text(val, len(val)))
			}
			if !json.Valid(val) {
				t.Fatalf("value %q of %q", val, b)
			}
			return true
		})
	})
}

func TestLineReader(t *testing.T) {
	var l lineReader
	var lines []string
	var longs []int
	line, long := func(b []byte) { lines = append(lines, string(b)) }, func(n int) { longs = append(longs, n) }
	l.feed([]byte("a\nb"), line, long)
	l.feed([]byte("c\n\n"), line, long)
	for range 9 {
		l.feed(bytes.Repeat([]byte("x"), 1<<20), line, long)
	}
	l.feed([]byte("y\nlast"), line, long)
	l.rest(line, long)
	if got := strings.Join(lines, "|"); got != "a|bc||last" || len(longs) != 1 || longs[0] != 9<<20+1 {
		t.Errorf("%s %v", got, longs)
	}
}
