package agent

import (
	"encoding/json"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
	"github.com/assaybot/assay/internal/run"
)

// opencodeParser reads the events of "opencode run --format json". They name
// no model and hold the main conversation only; no event says that it is the
// last one, but a step that ends with "stop" is.
type opencodeParser struct {
	stream
	reason string // of the last step that ended
	failed bool   // an error came after it
}

var (
	_ run.Parser    = (*opencodeParser)(nil)
	_ run.NeedsSink = (*opencodeParser)(nil)
)

func newOpencodeParser(in run.Invocation, version string) *opencodeParser {
	p := &opencodeParser{stream: newStream(in, version)}
	p.read = p.line
	return p
}

// Finish ends the last turn and sums up.
func (p *opencodeParser) Finish() assay.AgentFacts {
	p.lines.rest(p.line, p.long)
	f := &p.facts
	switch {
	case f.Ending != "":
	case p.failed:
		f.Ending = run.EndError
	case p.reason == "stop", p.reason == "end_turn":
		f.Ending = run.EndSuccess
	case p.reason == "content-filter":
		f.Ending = run.EndRefused
	case p.reason == "length":
		f.Ending, f.Detail = run.EndError, "the reply was cut off at the model's limit of output"
	}
	p.finish()
	return p.facts
}

type opencodeEvent struct {
	Type    string       `json:"type"`
	Time    int64        `json:"timestamp"`
	Session string       `json:"sessionID"`
	Part    opencodePart `json:"part"`
	Error   struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
			Status  int    `json:"statusCode"`
			Body    string `json:"responseBody"`
		} `json:"data"`
	} `json:"error"`
}

type opencodePart struct {
	Text   string `json:"text"`
	Tool   string `json:"tool"`
	Call   string `json:"callID"`
	Reason string `json:"reason"`
	State  struct {
		Status   string          `json:"status"`
		Input    json.RawMessage `json:"input"`
		Output   string          `json:"output"`
		Error    string          `json:"error"`
		Metadata struct {
			Exit *int `json:"exit"`
		} `json:"metadata"`
	} `json:"state"`
	Cost   float64        `json:"cost"`
	Tokens opencodeTokens `json:"tokens"`
}

// opencodeTokens: input excludes what came from a cache, output excludes
// reasoning.
type opencodeTokens struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
	Cache     struct {
		Read  int64 `json:"read"`
		Write int64 `json:"write"`
	} `json:"cache"`
}

func (t opencodeTokens) tokens() assay.Tokens {
	reasoning := nonNegative(t.Reasoning)
	return assay.Tokens{
		Input: nonNegative(t.Input), CacheRead: nonNegative(t.Cache.Read), CacheWrite: nonNegative(t.Cache.Write),
		Output: nonNegative(t.Output) + reasoning, Reasoning: reasoning,
	}
}

func (p *opencodeParser) line(b []byte) {
	var e opencodeEvent
	if json.Unmarshal(b, &e) != nil {
		return
	}
	if p.facts.Session == "" {
		p.facts.Session = atif.Cut(e.Session, 256)
	}
	when := stamp(e.Time)
	switch e.Type {
	case "step_start":
		p.next(when)
		p.ended, p.failed, p.reason = false, false, ""
	case "text":
		p.say(when, e.Part.Text, "\n\n")
	case "reasoning":
		p.think(when, e.Part.Text)
	case "tool_use":
		p.tool(e, when)
	case "step_finish":
		p.step(e.Part)
	case "error":
		p.broke(e)
	}
}

func stamp(ms int64) string {
	if ms <= 0 || ms > 1<<45 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func (p *opencodeParser) tool(e opencodeEvent, when string) {
	state, args := e.Part.State, object(e.Part.State.Input)
	kind := opencodeKind(e.Part.Tool)
	p.call(toolCall{id: e.Part.Call, name: e.Part.Tool, kind: kind, args: args, when: when, file: editedBy(kind, args)})
	r := toolResult{id: e.Part.Call, content: state.Output, failed: state.Status == "error"}
	if r.failed {
		r.content = state.Error
	}
	if state.Metadata.Exit != nil {
		r.extra = map[string]any{"exit_code": *state.Metadata.Exit}
	}
	p.result(r)
	if p.turn != nil {
		p.turn.done = false // the step's end is told
	}
}

func (p *opencodeParser) step(part opencodePart) {
	t := part.Tokens.tokens()
	f := &p.facts
	f.Tokens = f.Tokens.Add(t)
	f.CostUSD += nonNegativeCost(part.Cost)
	f.CostKnown = f.CostUSD > 0 // a model without a price costs nothing there
	if p.turn != nil {
		p.turn.step.Metrics = &assay.StepMetrics{
			Prompt: t.Input + t.CacheRead + t.CacheWrite, Completion: t.Output, Cached: t.CacheRead, CostUSD: nonNegativeCost(part.Cost),
		}
	}
	p.flush()
	p.reason, p.failed = part.Reason, false
	p.ended = part.Reason == "stop"
}

func nonNegativeCost(c float64) float64 { return max(0, c) }

func (p *opencodeParser) broke(e opencodeEvent) {
	p.begin()
	p.flush()
	d := e.Error.Data
	p.failed = true
	p.facts.Detail = atif.Cut(d.Message, maxDetail)
	switch {
	case e.Error.Name == "ContextOverflowError", contextEnding(d.Message):
		p.facts.Ending = run.EndContext
	case e.Error.Name == "ContentFilterError":
		p.facts.Ending = run.EndRefused
	case e.Error.Name == "APIError":
		addAPIError(&p.facts, assay.APIError{Status: d.Status, Kind: opencodeFault(d.Body), Message: d.Message, Count: 1})
	default:
		p.note(e.Error.Name+": "+d.Message, stamp(e.Time))
	}
}

// opencodeFault is the kind of an error by the API's own answer.
func opencodeFault(body string) string {
	var in struct {
		Error struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(body), &in) // anything else is of an unknown kind
	switch {
	case in.Error.Type != "":
		return atif.Cut(in.Error.Type, 64)
	case in.Error.Status != "":
		return atif.Cut(in.Error.Status, 64)
	}
	return "unknown"
}

// opencodeKind sorts the program's tools.
func opencodeKind(tool string) string {
	switch tool {
	case "read":
		return "read"
	case "grep", "glob", "list", "codesearch", "lsp":
		return "search"
	case "edit", "write", "patch", "apply_patch", "multiedit":
		return "edit"
	case "bash", "shell":
		return "run"
	case "webfetch", "websearch":
		return "web"
	case "todowrite", "todoread", "plan_enter", "plan_exit":
		return "plan"
	case "task":
		return "agent"
	}
	return "other"
}
