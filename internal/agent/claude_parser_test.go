package agent

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
)

var update = flag.Bool("update", false, "write golden files anew")

// steps collects what a parser hands on.
type steps []assay.Step

func (s *steps) Step(one assay.Step) { *s = append(*s, one) }

// parse reads a stream in pieces of size bytes.
func parse(stream []byte, size int) (assay.AgentFacts, steps, bool) {
	p := newClaudeParser("the prompt")
	var got steps
	p.SetSink(&got)
	for rest := stream; len(rest) > 0; {
		n := min(size, len(rest))
		_, _ = p.Write(rest[:n])
		rest = rest[n:]
	}
	ended := p.Ended()
	return p.Finish(), got, ended
}

func capture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestClaudeStreams reads what the real program, 2.1.197, printed in each of
// these situations.
func TestClaudeStreams(t *testing.T) {
	one := assay.Tokens{Input: 100, CacheRead: 30, CacheWrite: 20, Output: 50}
	two := one.Add(one)
	four := two.Add(two) // result.usage would miss the subagent's two
	started := assay.Tokens{}
	tests := []struct {
		name            string
		ending          string
		turns, reported int
		tokens          assay.Tokens
		cost            float64
		errors          string
		ended           bool
		run, steps      int
		final, detail   string
	}{
		{"claude-ok", "success", 1, 1, one, 0.001134, "", true, 0, 2, "Working.", ""},
		{"claude-tool", "success", 2, 3, two, 0.002268, "", true, 2, 3, "Working.", ""},
		{"p-claude-bg", "success", 2, 2, two, 0.002268, "", true, 1, 3, "Working.", ""},
		{"claude-subagent", "success", 3, 2, four, 0.004536, "", true, 1, 5, "Done.", ""},
		{"x-maxturns", "max_turns", 1, 2, one, 0.001134, "", true, 2, 2, "Working.", "Reached maximum number of turns (1)"},
		{"x-budget", "max_cost", 1, 1, one, 0.001134, "", true, 2, 2, "Working.", "Reached maximum budget ($0.0005)"},
		{"claude-400", "error", 0, 1, started, 0, "400 unknown x1", true, 0, 2, "", "API Error: 400 mock invalid_request_error"},
		{"claude-401", "", 0, 0, started, 0, "401 authentication_failed x9", false, 0, 1, "", ""},
		{"claude-429", "error", 0, 1, started, 0, "429 rate_limit x11", true, 0, 2, "", "API Error: Request rejected (429) · mock rate_limit_error"},
		{"claude-500", "error", 0, 1, started, 0, "500 server_error x11", true, 0, 2, "", "API Error: 500 mock api_error."},
		{"claude-529", "error", 0, 1, started, 0, "529 overloaded x11", true, 0, 2, "", "API Error: 529 mock overloaded_error."},
		{"x-retries0", "error", 0, 1, started, 0, "429 rate_limit x1", true, 0, 2, "", "API Error: Request rejected (429) · mock rate_limit_error"},
		{"claude-hang", "", 0, 0, started, 0, "", false, 0, 1, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, got, ended := parse(capture(t, tt.name), 1000)
			if f.Ending != tt.ending || ended != tt.ended || f.Turns != tt.turns || f.Reported != tt.reported {
				t.Errorf("ending %q %v, %d turns, %d reported", f.Ending, ended, f.Turns, f.Reported)
			}
			if f.Tokens != tt.tokens || f.CostUSD != tt.cost || f.CostKnown != tt.ended {
				t.Errorf("tokens %+v, cost %v %v", f.Tokens, f.CostUSD, f.CostKnown)
			}
			if e := errorsOf(f); e != tt.errors {
				t.Errorf("errors %q, want %q", e, tt.errors)
			}
			if f.ToolCalls["run"] != tt.run || f.Commands != tt.run || len(got) != tt.steps {
				t.Errorf("tools %v, %d commands, %d steps", f.ToolCalls, f.Commands, len(got))
			}
			if f.Final != tt.final || !strings.HasPrefix(f.Detail, tt.detail) || (tt.detail == "") != (f.Detail == "") {
				t.Errorf("final %q, detail %q", f.Final, f.Detail)
			}
			if f.Version != "2.1.197" || f.Session == "" || (tt.turns > 0 && f.Models[0] != "claude-sonnet-4-5") {
				t.Errorf("version %q, session %q, models %v", f.Version, f.Session, f.Models)
			}
			golden(t, tt.name, f, got)
		})
	}
}

func errorsOf(f assay.AgentFacts) string {
	var out []string
	for _, e := range f.APIErrors {
		out = append(out, fmt.Sprintf("%d %s x%d", e.Status, e.Kind, e.Count))
	}
	return strings.Join(out, ", ")
}

// golden compares the whole trajectory, which must be valid, with a file.
func golden(t *testing.T, name string, f assay.AgentFacts, got steps) {
	t.Helper()
	var flat, out bytes.Buffer
	w := atif.NewWriter(&flat)
	for _, s := range got {
		w.Step(s)
	}
	if err := w.Finish(atif.EndOf(agentOf(name), "asked", f)); err != nil {
		t.Fatal(err)
	}
	if err := atif.Check(bytes.NewReader(flat.Bytes())); err != nil {
		t.Errorf("no valid trajectory: %v", err)
	}
	if err := json.Indent(&out, flat.Bytes(), "", " "); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name+".trajectory.json")
	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out.String()); d != "" {
		t.Errorf("%s (run with -update to accept): %s", file, d)
	}
}

// Lines in the program's form, for what the captures don't hold.

const head = `{"type":"system","subtype":"init","cwd":"/workspace","session_id":"s","claude_code_version":"2.1.197"}` + "\n"

func said(id, parent, content string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"role":"assistant","model":"m","content":[%s],"usage":{"input_tokens":10,"output_tokens":1}},"parent_tool_use_id":%s}`, id, content, parent) + "\n"
}

func use(id, tool, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, tool, input)
}

func answered(id, parent, content, isError string) string {
	return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":%s,"is_error":%s}]},"parent_tool_use_id":%s,"timestamp":"T"}`, id, content, isError, parent) + "\n"
}

func end(fields string) string { return `{"type":"result",` + fields + "}\n" }

func TestEndings(t *testing.T) {
	synthetic := func(fault, text string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":%q}]},"parent_tool_use_id":null,"error":%q}`, text, fault) + "\n"
	}
	tests := []struct{ name, stream, ending, errors string }{
		{"refusal", end(`"subtype":"success","is_error":false,"stop_reason":"refusal"`), "refused", ""},
		{"refusal told beforehand", `{"type":"system","subtype":"model_refusal_no_fallback"}` + "\n" + end(`"subtype":"success","is_error":true`), "refused", ""},
		{"refusal and another answer", `{"type":"system","subtype":"model_refusal_no_fallback"}` + "\n" + said("1", "null", "") + end(`"subtype":"success"`), "success", ""},
		{"window", end(`"subtype":"success","is_error":true,"terminal_reason":"prompt_too_long"`), "context", ""},
		{"window by the model", end(`"subtype":"success","stop_reason":"model_context_window_exceeded"`), "context", ""},
		{"window by the API", synthetic("invalid_request", "Prompt is too long") + end(`"subtype":"success","is_error":true,"api_error_status":400`), "context", "400 invalid_request x1"},
		{"no words of the window", said("1", "null", `{"type":"text","text":"Prompt is too long"}`) + end(`"subtype":"success","is_error":true`), "error", ""},
		{"execution", end(`"subtype":"error_during_execution","is_error":true,"errors":["a","b"]`), "error", ""},
		{"no connection", synthetic("server_error", "API Error: Connection error.") + end(`"subtype":"success","is_error":true,"api_error_status":null`), "error", "0 server_error x1"},
		{"error without a result", synthetic("overloaded", "x"), "", "0 overloaded x1"},
		{"status without a message", end(`"subtype":"success","is_error":true,"api_error_status":503,"result":"down"`), "error", "503  x1"},
		{"a result that can't be read", `{"type":"result","subtype":7}` + "\n", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, _, _ := parse([]byte(head+tt.stream), 7)
			if f.Ending != tt.ending || errorsOf(f) != tt.errors {
				t.Errorf("ending %q, errors %q; want %q, %q", f.Ending, errorsOf(f), tt.ending, tt.errors)
			}
		})
	}
}

func TestToolsAndSubagents(t *testing.T) {
	stream := head +
		said("1", "null", `{"type":"thinking","thinking":"hm"},{"type":"text","text":"first"}`) +
		said("1", "null", use("a", "Read", `{"file_path":"/workspace/x"}`)+","+use("b", "Edit", `{"file_path":"/workspace/src/x.go"}`)) +
		answered("a", "null", `[{"type":"text","text":"one"},{"type":"image","source":{}}]`, "false") +
		said("1", "null", use("c", "Write", `{"file_path":"/etc/y"}`)+","+use("d", "Write", `{"file_path":"z"}`)) +
		answered("c", "null", `"denied"`, "true") +
		answered("b", "null", `"ok"`, "false") +
		answered("d", "null", `"ok"`, "false") +
		said("2", "null", use("t", "Task", `{"prompt":"look"}`)) +
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"look"}]},"parent_tool_use_id":"t"}` + "\n" +
		said("3", `"t"`, use("g", "Grep", `{}`)) +
		answered("g", `"t"`, `"found"`, "false") +
		said("4", `"t"`, `{"type":"text","text":"it is there"}`) +
		answered("t", "null", `[{"type":"text","text":"it is there"}]`, "false") +
		answered("late", "null", `"late"`, "false") +
		said("5", "null", `{"type":"text","text":"done"}`) +
		end(`"subtype":"success","is_error":false,"result":"done","usage":{"input_tokens":30},"modelUsage":{"m":{"inputTokens":50},"n":{"inputTokens":5}}`)
	f, got, _ := parse([]byte(stream), 1<<20)
	if d := cmp.Diff(map[string]int{"read": 1, "edit": 3, "agent": 1, "search": 1}, f.ToolCalls); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"src/x.go", "z"}, f.Edited); d != "" {
		t.Error(d)
	}
	if f.Turns != 5 || f.Tokens.Input != 55 || f.Final != "done" || strings.Join(f.Models, " ") != "m n" {
		t.Errorf("%+v", f)
	}
	var order []string
	for _, s := range got {
		results := 0
		if s.Observation != nil {
			results = len(s.Observation.Results)
		}
		order = append(order, fmt.Sprintf("%s %q %d/%d %v", s.Source, s.Message, len(s.ToolCalls), results, s.Extra))
	}
	want := []string{
		`user "the prompt" 0/0 <nil>`,
		`agent "first" 4/4 <nil>`,
		`user "look" 0/0 map[parent_tool_use_id:t]`,
		`agent "" 1/1 map[parent_tool_use_id:t]`,
		`agent "it is there" 0/0 map[parent_tool_use_id:t]`,
		`system "A result came after its turn." 0/1 <nil>`,
		`agent "" 1/1 <nil>`,
		`agent "done" 0/0 <nil>`,
	}
	if d := cmp.Diff(want, order); d != "" {
		t.Error(d)
	}
	if got[1].Reasoning != "hm" || got[1].Observation.Results[0].Content != "one\n[image]" {
		t.Errorf("%+v", got[1])
	}
	golden(t, "subagents", f, got)
}

func TestKilledStreamCountsWhatItSaw(t *testing.T) {
	stream := head + said("1", "null", `{"type":"text","text":"a"}`) + said("1", "null", use("x", "Bash", `{"command":"ls"}`)) + said("2", "null", `{"type":"text","text":"b"}`) + `{"type":"assis`
	f, got, ended := parse([]byte(stream), 50)
	if ended || f.Ending != "" || f.Turns != 2 || f.Tokens.Input != 20 || f.CostKnown || f.Final != "b" || len(got) != 3 {
		t.Errorf("%v %+v, %d steps", ended, f, len(got))
	}
}

func TestForeignLinesDoNoHarm(t *testing.T) {
	stream := "warning: something\n\n[1,2]\n{\"type\":\n{}\n\"x\"\n" + head + "{\"type\":\"assistant\",\"message\":3}\n{\"type\":\"user\",\"message\":{\"content\":4}}\n" +
		said("1", "null", `{"type":"tool_use","id":"","name":"Bash"},7,{"type":"tool_use","id":"q","name":"Bash","input":[1]}`) + end(`"subtype":"success","result":"fine"`)
	f, got, _ := parse([]byte(stream), 3)
	if f.Ending != "success" || f.Final != "fine" || f.Commands != 1 || len(got) != 2 {
		t.Errorf("%+v\n%+v", f, got)
	}
}

// TestMemoryIsBounded feeds some 100 MB with lines of every bad kind.
func TestMemoryIsBounded(t *testing.T) {
	p := newClaudeParser("")
	huge := bytes.Repeat([]byte("x"), 1<<20)
	write := func(s string) { _, _ = p.Write([]byte(s)) }
	write(head)
	for i := range 12 {
		for range 3 {
			_, _ = p.Write(huge) // within one line
		}
		if i%6 == 5 {
			write("\n")
		}
	}
	write("\n")
	big := string(bytes.Repeat([]byte("out\\n"), 1<<18))
	for i := range 12 {
		id := fmt.Sprint(i)
		write(said("same", "null", use(id, "Bash", `{"command":"`+big+`"}`)))
		write(answered(id, "null", `"`+big+`"`, "false"))
	}
	for i := range 500 {
		write(said(fmt.Sprint("m", i), fmt.Sprintf(`"thread%d"`, i), use(fmt.Sprint("u", i), "Write", fmt.Sprintf(`{"file_path":"f%d"}`, i))))
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 64<<20 {
		t.Errorf("%d MB in use", m.HeapAlloc>>20)
	}
	if len(p.threads) > maxThreads {
		t.Errorf("%d threads", len(p.threads))
	}
	if f := p.Finish(); f.Commands != 12 {
		t.Errorf("%d commands", f.Commands)
	}
}

func FuzzClaudeParser(f *testing.F) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatal("no captures", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, 100)
	}
	f.Add([]byte(head+said("1", `"t"`, use("x", "Edit", `{"file_path":"\ud800"}`))+answered("x", `"t"`, `["\u00"]`, "true")), 1)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		size = max(1, min(size, 1<<16))
		whole, a, _ := parse(data, len(data)+1)
		pieces, b, _ := parse(data, size)
		if d := cmp.Diff(whole, pieces); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Fatal(d)
		}
		var out bytes.Buffer
		w := atif.NewWriter(&out)
		for _, s := range a {
			w.Step(s)
		}
		if err := w.Finish(atif.EndOf(ClaudeCode, "m", whole)); err != nil {
			t.Fatal(err)
		}
		if err := atif.Check(&out); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkParser reads a stream that is mostly the output of tools.
func BenchmarkParser(b *testing.B) {
	line := `func TestX(t *testing.T) {\n\tif got := f(\"a\"); got != 1 {\n\t\tt.Errorf(\"got %v\", got)\n\t}\n}\n`
	output := strings.Repeat(line, 600) // 60 KB
	var s strings.Builder
	s.WriteString(head)
	for i := range 200 {
		id := fmt.Sprint(i)
		s.WriteString(said(id, "null", use(id, "Bash", `{"command":"cat x_test.go"}`)))
		one := answered(id, "null", `"`+output+`"`, "false")
		s.WriteString(strings.TrimSuffix(one, "}\n") + `,"tool_use_result":{"stdout":"` + output + `","stderr":""}}` + "\n")
	}
	stream := []byte(s.String())
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		p := newClaudeParser("")
		for rest := stream; len(rest) > 0; {
			n := min(32<<10, len(rest))
			_, _ = p.Write(rest[:n])
			rest = rest[n:]
		}
		p.Finish()
	}
}
