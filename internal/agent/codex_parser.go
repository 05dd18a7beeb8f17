package agent

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
	"github.com/assaybot/assay/internal/run"
)

// codexParser reads the events of "codex exec --json". They tell neither the
// model nor where one reply ends and the next begins.
type codexParser struct {
	stream
	fault string // the last error's text, which the end repeats
}

var (
	_ run.Parser    = (*codexParser)(nil)
	_ run.NeedsSink = (*codexParser)(nil)
)

func newCodexParser(in run.Invocation, version string) *codexParser {
	p := &codexParser{stream: newStream(in, version)}
	p.read = p.line
	return p
}

// Finish ends the last turn and sums up.
func (p *codexParser) Finish() assay.AgentFacts {
	p.finish()
	return p.facts
}

type codexEvent struct {
	Type    string    `json:"type"`
	Thread  string    `json:"thread_id"`
	Item    codexItem `json:"item"`
	Message string    `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage codexUsage `json:"usage"`
}

// codexUsage: input includes what came from and went to a cache.
type codexUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_input_tokens"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_output_tokens"`
}

func (u codexUsage) tokens() assay.Tokens {
	read, written := nonNegative(u.CacheRead), nonNegative(u.CacheWrite)
	return assay.Tokens{
		Input: nonNegative(u.Input - read - written), CacheRead: read, CacheWrite: written,
		Output: nonNegative(u.Output), Reasoning: nonNegative(u.Reasoning),
	}
}

type codexItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Text    string `json:"text"`
	Message string `json:"message"`
	Status  string `json:"status"`

	Command string `json:"command"`
	Output  string `json:"aggregated_output"`
	Exit    *int   `json:"exit_code"`

	Changes []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`

	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Query     string          `json:"query"`
	Prompt    string          `json:"prompt"`
}

func (p *codexParser) line(b []byte) {
	var e codexEvent
	if json.Unmarshal(b, &e) != nil {
		return
	}
	switch e.Type {
	case "thread.started":
		p.facts.Session = atif.Cut(e.Thread, 256)
		p.begin()
	case "item.started":
		p.started(e.Item)
	case "item.completed":
		p.completed(e.Item)
	case "error":
		p.failed(e.Message)
	case "turn.completed":
		p.facts.Tokens = e.Usage.tokens()
		p.end(run.EndSuccess, "")
	case "turn.failed":
		p.failure(e.Error.Message)
	}
}

// failure ends the stream with an error.
func (p *codexParser) failure(text string) {
	if text != p.fault {
		p.failed(text)
	}
	ending := run.EndError
	if contextEnding(text) {
		ending = run.EndContext
	}
	p.end(ending, codexError(text).Message)
}

// failed counts an error of the API. A program that repeats a call tells each
// miss; the last one comes without the words about repeating.
func (p *codexParser) failed(text string) {
	p.begin()
	p.fault = text
	if contextEnding(text) {
		return // the API did its part
	}
	addAPIError(&p.facts, codexError(text))
}

var (
	codexRepeat = regexp.MustCompile(`^Reconnecting\.\.\. \d+/\d+ \((.*)\)$`)
	codexStatus = regexp.MustCompile(`(?:unexpected status|last status:) (\d{3})`)
)

// codexError reads an error's text: words with a status within, or the API's
// own JSON.
func codexError(text string) assay.APIError {
	if m := codexRepeat.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	out := assay.APIError{Kind: "unknown", Message: text, Count: 1}
	if m := codexStatus.FindStringSubmatch(text); m != nil {
		out.Status, _ = strconv.Atoi(m[1]) // three digits
	}
	var in struct {
		Error struct {
			Type    string `json:"type"`
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(text), &in) == nil && in.Error.Message != "" {
		out.Message, out.Kind = in.Error.Message, in.Error.Type
		if strings.HasPrefix(out.Kind, "invalid_request") {
			out.Status = http.StatusBadRequest
		}
	}
	return out
}

func (p *codexParser) started(i codexItem) {
	kind, name, args := i.call()
	if kind != "" {
		p.call(toolCall{id: i.ID, name: name, kind: kind, args: args})
	}
}

func (p *codexParser) completed(i codexItem) {
	switch i.Type {
	case "agent_message":
		p.say("", i.Text, "\n\n")
		return
	case "reasoning":
		p.think("", i.Text)
		return
	case "error":
		p.begin()
		p.note(i.Message, "")
		return
	}
	if kind, _, _ := i.call(); kind == "" {
		return
	}
	p.started(i) // an item may come without its beginning
	failed := i.Status == "failed" || i.Status == "declined"
	p.result(toolResult{id: i.ID, content: i.outcome(), failed: failed, extra: i.extra()})
	if i.Type == "file_change" && !failed {
		for _, c := range i.Changes {
			p.edited(c.Path)
		}
	}
}

// call is an item as a call: the kind of tool, its name and arguments; no
// kind for items that are none.
func (i codexItem) call() (kind, name string, args map[string]any) {
	switch i.Type {
	case "command_execution":
		return "run", i.Type, map[string]any{"command": i.Command}
	case "file_change":
		changes := make([]any, 0, len(i.Changes))
		for _, c := range i.Changes {
			changes = append(changes, map[string]any{"path": c.Path, "kind": c.Kind})
		}
		return "edit", i.Type, map[string]any{"changes": changes}
	case "mcp_tool_call":
		return "other", i.Server + "." + i.Tool, object(i.Arguments)
	case "web_search":
		return "web", i.Type, map[string]any{"query": i.Query}
	case "todo_list":
		return "plan", i.Type, nil
	case "collab_tool_call":
		return "agent", "collab." + i.Tool, map[string]any{"prompt": i.Prompt}
	}
	return "", "", nil
}

func (i codexItem) outcome() string {
	if i.Type == "command_execution" {
		return i.Output
	}
	if len(i.Result) > 0 && string(i.Result) != "null" {
		return string(i.Result)
	}
	return i.Status
}

func (i codexItem) extra() map[string]any {
	if i.Exit == nil {
		return nil
	}
	return map[string]any{"exit_code": *i.Exit}
}
