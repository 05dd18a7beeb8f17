package agent

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
	"github.com/assaybot/assay/internal/run"
)

// geminiParser reads the stream-json of Gemini CLI.
type geminiParser struct{ stream }

var (
	_ run.Parser    = (*geminiParser)(nil)
	_ run.NeedsSink = (*geminiParser)(nil)
)

func newGeminiParser(in run.Invocation, version string) *geminiParser {
	p := &geminiParser{newStream(in, version)}
	p.read = p.line
	return p
}

// Finish ends the last turn and sums up.
func (p *geminiParser) Finish() assay.AgentFacts {
	p.finish()
	return p.facts
}

type geminiEvent struct {
	Type    string          `json:"type"`
	Time    string          `json:"timestamp"`
	Session string          `json:"session_id"`
	Role    string          `json:"role"`
	Content string          `json:"content"`
	Delta   bool            `json:"delta"`
	Name    string          `json:"tool_name"`
	ID      string          `json:"tool_id"`
	Args    json.RawMessage `json:"parameters"`
	Status  string          `json:"status"`
	Output  string          `json:"output"`
	Message string          `json:"message"`
	Error   struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats geminiStats `json:"stats"`
}

// geminiStats: total is input, output and thoughts; input includes what came
// from a cache and output leaves the thoughts out.
type geminiStats struct {
	Total  int64                      `json:"total_tokens"`
	Input  int64                      `json:"input_tokens"`
	Output int64                      `json:"output_tokens"`
	Cached int64                      `json:"cached"`
	Models map[string]json.RawMessage `json:"models"`
}

func (s geminiStats) tokens() assay.Tokens {
	thoughts := nonNegative(s.Total - s.Input - s.Output)
	return assay.Tokens{
		Input: nonNegative(s.Input - s.Cached), CacheRead: nonNegative(s.Cached),
		Output: nonNegative(s.Output) + thoughts, Reasoning: thoughts,
	}
}

func (p *geminiParser) line(b []byte) {
	var e geminiEvent
	if json.Unmarshal(b, &e) != nil {
		return
	}
	switch e.Type {
	case "init":
		p.facts.Session = atif.Cut(e.Session, 256)
		p.begin()
	case "message":
		if e.Role == "assistant" {
			p.say(e.Time, e.Content, "")
		}
	case "tool_use":
		args := object(e.Args)
		kind := geminiKind(e.Name)
		p.call(toolCall{id: e.ID, name: e.Name, kind: kind, args: args, when: e.Time, file: editedBy(kind, args)})
	case "tool_result":
		if e.Output == "" {
			e.Output = e.Error.Message
		}
		p.result(toolResult{id: e.ID, content: e.Output, failed: e.Status == "error"})
	case "error":
		p.begin()
		p.note(e.Message, e.Time)
		p.facts.Detail = atif.Cut(e.Message, maxDetail)
	case "result":
		p.over(e)
	}
}

func (p *geminiParser) over(e geminiEvent) {
	p.facts.Tokens = e.Stats.tokens()
	names := make([]string, 0, len(e.Stats.Models))
	for name := range e.Stats.Models {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p.model(name)
	}
	detail, ending := e.Error.Message, run.EndSuccess
	if e.Status != "success" {
		if detail == "" {
			detail = p.facts.Detail
		}
		ending = p.ending(e)
	}
	p.end(ending, detail)
}

// ending is why the program failed; an error of the API is counted.
func (p *geminiParser) ending(e geminiEvent) string {
	text := e.Error.Message
	switch {
	case e.Error.Type == "FatalTurnLimitedError", strings.Contains(text, "max session turns"):
		return run.EndTurns
	case contextEnding(text):
		return run.EndContext
	}
	if rest, ok := strings.CutPrefix(text, "[API Error: "); ok {
		addAPIError(&p.facts, geminiError(rest))
	}
	return run.EndError
}

// geminiError reads the text of an error: the API's own JSON, or, for "too
// many requests" only, words with advice behind them.
func geminiError(text string) assay.APIError {
	body, advice, _ := strings.Cut(text, "]\n")
	body = strings.TrimSuffix(body, "]")
	out := assay.APIError{Kind: "unknown", Message: body, Count: 1}
	var in struct {
		Error struct {
			Code    int    `json:"code"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(body), &in) == nil && in.Error.Code != 0 {
		out.Status, out.Kind, out.Message = in.Error.Code, in.Error.Status, in.Error.Message
	}
	if out.Status == 0 && strings.Contains(advice, "wait and try again") {
		out.Status, out.Kind = http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"
	}
	return out
}

// geminiKind sorts the program's tools.
func geminiKind(tool string) string {
	switch tool {
	case "read_file", "read_many_files":
		return "read"
	case "list_directory", "glob", "search_file_content", "grep_search":
		return "search"
	case "replace", "write_file", "edit":
		return "edit"
	case "run_shell_command":
		return "run"
	case "web_fetch", "google_web_search":
		return "web"
	case "write_todos", "enter_plan_mode", "exit_plan_mode", "update_topic":
		return "plan"
	case "delegate_to_agent", "codebase_investigator", "cli_help", "generalist", "invoke_agent":
		return "agent"
	}
	return "other"
}

// editedBy is the file that a call edits.
func editedBy(kind string, args map[string]any) string {
	if kind != "edit" {
		return ""
	}
	return str(args, "file_path", "filePath", "absolute_path", "path")
}
