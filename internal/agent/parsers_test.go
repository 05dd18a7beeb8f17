package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
	"github.com/assaybot/assay/internal/run"
)

// parserOf is a fresh parser of the agent whose name a capture's begins with.
func parserOf(name string) run.Parser {
	in := run.Invocation{Prompt: "the prompt"}
	switch {
	case strings.Contains(name, "codex"):
		return newCodexParser(in, CodexVersion)
	case strings.Contains(name, "gemini"):
		return newGeminiParser(in, GeminiVersion)
	case strings.HasPrefix(name, "mini-"):
		return newMiniParser(in, MiniVersion)
	}
	return newOpencodeParser(in, OpencodeVersion)
}

// agentOf is the agent whose program made a capture.
func agentOf(name string) string {
	if strings.HasPrefix(name, "mini-") {
		return MiniSWE
	}
	for _, agent := range []string{Codex, Gemini, Opencode} {
		if strings.Contains(name, agent) {
			return agent
		}
	}
	if strings.HasPrefix(name, "x-oc") {
		return Opencode
	}
	return ClaudeCode
}

// parseAs reads a stream in pieces of size bytes.
func parseAs(p run.Parser, stream []byte, size int) (assay.AgentFacts, steps, bool) {
	var got steps
	p.(run.NeedsSink).SetSink(&got)
	for rest := stream; len(rest) > 0; {
		n := min(size, len(rest))
		_, _ = p.Write(rest[:n])
		rest = rest[n:]
	}
	ended := p.Ended()
	return p.Finish(), got, ended
}

// TestProgramStreams reads what the real programs printed in each of these
// situations: codex 0.171.0, gemini 0.61.0, opencode 1.18.33, mini-swe-agent 2.4.6.
func TestProgramStreams(t *testing.T) {
	responses := assay.Tokens{Input: 70, CacheRead: 30, Output: 50, Reasoning: 5}
	google := assay.Tokens{Input: 70, CacheRead: 30, Output: 55, Reasoning: 5}
	claude := assay.Tokens{Input: 100, CacheRead: 30, CacheWrite: 20, Output: 50}
	scripted := assay.Tokens{Input: 100, CacheRead: 30, Output: 50, Reasoning: 5}
	none := assay.Tokens{}
	tests := []struct {
		name          string
		ending        string
		turns         int
		tokens        assay.Tokens // of one turn
		cost          float64
		errors        string
		ended         bool
		run, steps    int
		final, detail string
	}{
		{"codex-ok", "success", 1, responses, 0, "", true, 0, 3, "All done.", ""},
		{"codex-tool", "success", 2, responses, 0, "", true, 1, 4, "All done.", ""},
		{"p-codex-bg", "success", 2, responses, 0, "", true, 1, 4, "All done.", ""},
		{"codex-400", "error", 0, none, 0, "400 invalid_request_error x1", true, 0, 2, "", "mock invalid_request_error"},
		{"codex-401", "error", 0, none, 0, "401 unknown x6", true, 0, 2, "", "unexpected status 401"},
		{"codex-429", "error", 0, none, 0, "429 unknown x1", true, 0, 2, "", "exceeded retry limit"},
		{"x-codexr", "error", 0, none, 0, "429 unknown x1", true, 0, 2, "", "exceeded retry limit"},
		{"codex-500", "error", 0, none, 0, "0 unknown x6", true, 0, 2, "", "We’re currently experiencing high demand"},
		{"codex-529", "error", 0, none, 0, "529 unknown x6", true, 0, 2, "", "unexpected status 529"},
		{"codex-hang", "", 0, none, 0, "", false, 0, 2, "", ""},

		{"gemini-ok", "success", 1, google, 0, "", true, 0, 2, "Working.", ""},
		{"gemini-tool", "success", 2, google, 0, "", true, 1, 3, "Working.", ""},
		{"p-gemini-bg", "success", 2, google, 0, "", true, 1, 3, "Working.", ""},
		{"gemini-400", "error", 0, none, 0, "400 INTERNAL x1", true, 0, 1, "", "[API Error"},
		{"gemini-401", "error", 0, none, 0, "401 INTERNAL x1", true, 0, 1, "", "[API Error"},
		{"gemini-429", "error", 0, none, 0, "429 RESOURCE_EXHAUSTED x1", true, 0, 1, "", "[API Error: mock rate_limit_error]"},
		{"gemini-500", "error", 0, none, 0, "500 INTERNAL x1", true, 0, 1, "", "[API Error"},
		{"gemini-529", "error", 0, none, 0, "529 INTERNAL x1", true, 0, 1, "", "[API Error"},
		{"gemini-hang", "", 0, none, 0, "", false, 0, 1, "", ""},
		{"gemini-turns", "max_turns", 2, scripted, 0, "", true, 2, 3, "", "Reached max session turns"},

		{"opencode-ok", "success", 1, claude, 0.001134, "", true, 0, 2, "Working.", ""},
		{"opencode-tool", "success", 2, claude, 0.001134, "", true, 2, 3, "Working.", ""},
		{"p-opencode-bg", "success", 2, claude, 0.001134, "", true, 1, 3, "Working.", ""},
		{"x-octitle", "success", 1, claude, 0.001134, "", true, 0, 2, "Working.", ""},
		{"x-octitle2", "success", 1, claude, 0.001134, "", true, 0, 2, "Working.", ""},
		{"opencode-openai", "success", 3, scripted, 0.00088025, "", true, 2, 4, "All done.", ""},
		{"opencode-400", "error", 0, none, 0, "400 invalid_request_error x1", false, 0, 1, "", "mock invalid_request_error"},
		{"opencode-401", "error", 0, none, 0, "401 authentication_error x1", false, 0, 1, "", "mock authentication_error"},
		{"opencode-429", "error", 0, none, 0, "429 rate_limit_error x1", false, 0, 1, "", "mock rate_limit_error"},
		{"opencode-500", "error", 0, none, 0, "500 api_error x1", false, 0, 1, "", "mock api_error"},
		{"opencode-529", "error", 0, none, 0, "529 overloaded_error x1", false, 0, 1, "", "mock overloaded_error"},
		{"opencode-hang", "", 0, none, 0, "", false, 0, 0, "", ""},

		{"mini-tool", "success", 3, claude, 0.001134, "", true, 3, 4, "All done.", ""},
		{"mini-openai", "success", 3, scripted, 0.00088025, "", true, 3, 4, "All done.", ""},
		{"mini-format", "error", 3, scripted, 0.00088025, "", true, 0, 7, "", "the model called no tool"},
		{"mini-400", "error", 0, none, 0, "400 BadRequestError x1", true, 0, 1, "", "BadRequestError: litellm.BadRequestError"},
		{"mini-401", "error", 0, none, 0, "401 AuthenticationError x1", true, 0, 1, "", "AuthenticationError: litellm.AuthenticationError"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, got, ended := parseAs(parserOf(tt.name), capture(t, tt.name), 700)
			var sum assay.Tokens
			for range tt.turns {
				sum = sum.Add(tt.tokens)
			}
			if f.Ending != tt.ending || ended != tt.ended || f.Turns != tt.turns || f.Tokens != sum {
				t.Errorf("ending %q %v, %d turns, %+v", f.Ending, ended, f.Turns, f.Tokens)
			}
			if diff := f.CostUSD - tt.cost*float64(tt.turns); diff > 1e-9 || diff < -1e-9 || f.CostKnown != (tt.cost > 0) {
				t.Errorf("cost %v %v", f.CostUSD, f.CostKnown)
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
			golden(t, tt.name, f, got)
		})
	}
}

func TestCodexItems(t *testing.T) {
	stream := `{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"r","type":"reasoning","text":"hm"}}
{"type":"item.completed","item":{"id":"m","type":"agent_message","text":"I look."}}
{"type":"item.started","item":{"id":"a","type":"command_execution","command":"ls","status":"in_progress"}}
{"type":"item.started","item":{"id":"b","type":"mcp_tool_call","server":"docs","tool":"find","arguments":{"q":"x"},"status":"in_progress"}}
{"type":"item.completed","item":{"id":"a","type":"command_execution","command":"ls","aggregated_output":"no","exit_code":2,"status":"failed"}}
{"type":"item.completed","item":{"id":"b","type":"mcp_tool_call","server":"docs","tool":"find","arguments":{"q":"x"},"result":{"content":[]},"status":"completed"}}
{"type":"item.completed","item":{"id":"c","type":"file_change","changes":[{"path":"/workspace/src/a.go","kind":"update"},{"path":"b.go","kind":"add"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"d","type":"file_change","changes":[{"path":"no.go","kind":"add"}],"status":"failed"}}
{"type":"item.completed","item":{"id":"e","type":"web_search","query":"q"}}
{"type":"item.completed","item":{"id":"f","type":"todo_list"}}
{"type":"item.completed","item":{"id":"x","type":"of the future"}}
{"type":"turn.failed","error":{"message":"Codex ran out of room in the model's context window. Start a new thread."}}
`
	f, got, _ := parseAs(parserOf("codex"), []byte(stream), 11)
	if d := cmp.Diff(map[string]int{"run": 1, "other": 1, "edit": 2, "web": 1, "plan": 1}, f.ToolCalls); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"src/a.go", "b.go"}, f.Edited); d != "" {
		t.Error(d)
	}
	if f.Ending != run.EndContext || got[1].Reasoning != "hm" || len(got[1].ToolCalls) != 2 || len(got[1].Observation.Results) != 2 {
		t.Errorf("%+v\n%+v", f, got)
	}
}

func TestGeminiItems(t *testing.T) {
	stream := `{"type":"init","session_id":"s","model":"m"}
{"type":"message","role":"assistant","content":"I ","delta":true}
{"type":"message","role":"assistant","content":"write.","delta":true}
{"type":"tool_use","tool_name":"write_file","tool_id":"1","parameters":{"file_path":"/workspace/a.txt"}}
{"type":"tool_use","tool_name":"replace","tool_id":"2","parameters":{"file_path":"b.txt"}}
{"type":"tool_result","tool_id":"1","status":"success"}
{"type":"tool_result","tool_id":"2","status":"error","error":{"message":"no match"}}
{"type":"error","severity":"warning","message":"Loop detected"}
{"type":"result","status":"error","error":{"type":"unknown","message":""},"stats":{"total_tokens":-4,"input_tokens":-1}}
`
	f, got, _ := parseAs(parserOf("gemini"), []byte(stream), 9)
	if d := cmp.Diff([]string{"a.txt"}, f.Edited); d != "" || f.Ending != run.EndError || f.Detail != "Loop detected" || f.Tokens.Total() != 0 {
		t.Errorf("%s %+v", d, f)
	}
	if got[1].Message != "I write." || got[1].Observation.Results[1].Content != "no match" {
		t.Errorf("%+v", got)
	}
}

func TestOpencodeEndings(t *testing.T) {
	start := `{"type":"step_start","sessionID":"s"}` + "\n"
	end := func(reason string) string {
		return `{"type":"step_finish","part":{"reason":"` + reason + `","tokens":{"input":1,"output":1}}}` + "\n"
	}
	tool := `{"type":"tool_use","part":{"tool":"edit","callID":"c","state":{"status":"completed","input":{"filePath":"/workspace/x"}}}}` + "\n"
	for _, tt := range []struct {
		stream, ending string
		ended          bool
	}{
		{start + end("stop"), "success", true},
		{start + tool + end("tool-calls"), "", false},
		{start + end("stop") + start, "", false},
		{start + end("length"), "error", false},
		{start + end("content-filter"), "refused", false},
		{start + `{"type":"error","error":{"name":"ContextOverflowError","data":{"message":"too long"}}}`, "context", false},
		{start + `{"type":"error","error":{"name":"UnknownError","data":{"message":"odd"}}}`, "error", false},
		{`{"type":"error","error":{"name":"APIError","data":{"message":"once","statusCode":500}}}` + "\n" + start + end("stop"), "success", true},
	} {
		f, _, ended := parseAs(parserOf("opencode"), []byte(tt.stream), 13)
		if f.Ending != tt.ending || ended != tt.ended {
			t.Errorf("%s: %q %v", tt.stream, f.Ending, ended)
		}
	}
}

func TestPiecesOfOneLineAndForeignOnes(t *testing.T) {
	for _, name := range []string{"codex-tool", "gemini-tool", "opencode-tool"} {
		noise := []byte("warning: x\n\n[1]\n{\"type\":\n{}\n{\"type\":\"item.completed\",\"item\":7}\n{\"type\":\"tool_use\",\"part\":[]}\n")
		data := capture(t, name)
		want, steps1, _ := parseAs(parserOf(name), data, len(data))
		got, steps2, _ := parseAs(parserOf(name), append(noise, data...), 3)
		if d := cmp.Diff(want, got) + cmp.Diff(steps1, steps2); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func FuzzProgramParsers(f *testing.F) {
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
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		size = max(1, min(size, 1<<16))
		for _, name := range []string{"codex", "gemini", "opencode", "mini-"} {
			whole, a, _ := parseAs(parserOf(name), data, len(data)+1)
			pieces, b, _ := parseAs(parserOf(name), data, size)
			if d := cmp.Diff(whole, pieces) + cmp.Diff(a, b); d != "" {
				t.Fatal(d)
			}
			var out bytes.Buffer
			w := atif.NewWriter(&out)
			for _, s := range a {
				w.Step(s)
			}
			if err := w.Finish(atif.EndOf(name, "m", whole)); err != nil {
				t.Fatal(err)
			}
			if err := atif.Check(&out); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestLongConversationsAreBounded feeds turns without end.
func TestLongConversationsAreBounded(t *testing.T) {
	big := strings.Repeat("x", 1<<18)
	p := newGeminiParser(run.Invocation{}, "1")
	for i := range 16 {
		_, _ = fmt.Fprintf(p, `{"type":"tool_use","tool_name":"write_file","tool_id":"%d","parameters":{"content":%q,"file_path":"f%d"}}`+"\n", i, big, i)
		_, _ = fmt.Fprintf(p, `{"type":"message","role":"assistant","content":%q}`+"\n", big)
	}
	size := len(p.turn.step.Message)
	for _, c := range p.turn.step.ToolCalls {
		size += len(fmt.Sprint(c.Arguments))
	}
	if size > 2<<20 || len(p.turn.step.Message) > 4*atif.MaxField {
		t.Errorf("%d bytes kept", size)
	}
}
