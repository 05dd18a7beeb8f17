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

// miniParser reads the messages of mini-swe-agent's trajectory, one a line.
// The last one has the role "exit" and says why it is the last.
type miniParser struct {
	stream
	limits assay.Limits
	last   miniReply
}

var (
	_ run.Parser    = (*miniParser)(nil)
	_ run.NeedsSink = (*miniParser)(nil)
)

func newMiniParser(in run.Invocation, version string) *miniParser {
	p := &miniParser{stream: newStream(in, version), limits: in.Limits}
	p.read = p.line
	return p
}

// Finish ends the last turn and sums up.
func (p *miniParser) Finish() assay.AgentFacts {
	p.finish()
	return p.facts
}

type miniEvent struct {
	Type    string          `json:"type"`
	Version string          `json:"version"`
	Message json.RawMessage `json:"message"`
}

// miniMessage is one of the conversation's.
type miniMessage struct {
	Role    string          `json:"role"`
	Object  string          `json:"object"`
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`

	// A result, in the form of Chat Completions or of Responses.
	ToolCall string          `json:"tool_call_id"`
	CallID   string          `json:"call_id"`
	Output   json.RawMessage `json:"output"`

	Extra struct {
		Response json.RawMessage `json:"response"`
		Cost     float64         `json:"cost"`
		Time     float64         `json:"timestamp"`
		Raw      string          `json:"raw_output"`
		Code     *int            `json:"returncode"`
		Fault    string          `json:"exception_info"`
		Exit     string          `json:"exit_status"`
		Error    string          `json:"exception_str"`
	} `json:"extra"`
}

func (m miniMessage) when() string { return stamp(int64(m.Extra.Time * 1000)) }

func (p *miniParser) line(b []byte) {
	var e miniEvent
	if json.Unmarshal(b, &e) != nil {
		return
	}
	if e.Type == "start" {
		p.facts.Version = atif.Cut(either(e.Version, p.facts.Version), 64)
		p.begin()
		return
	}
	var m miniMessage
	if e.Type != "message" || json.Unmarshal(e.Message, &m) != nil {
		return
	}
	switch {
	case m.Role == "exit":
		p.exit(m)
	case m.Object == "response":
		p.reply(e.Message, m)
	case m.Role == "assistant":
		p.reply(m.Extra.Response, m)
	case m.Role == "tool", m.Type == "function_call_output":
		p.answer(m)
	case len(m.Extra.Response) > 0: // words that the program could do nothing with
		p.reply(m.Extra.Response, m)
		p.note(wordsOf(m.Content), m.when())
	}
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (p *miniParser) answer(m miniMessage) {
	r := toolResult{id: either(m.ToolCall, m.CallID), content: m.Extra.Raw}
	if m.Extra.Fault != "" {
		// The command that says "done" is told as one that never ran.
		r.failed = m.Extra.Fault != "action was not executed"
		r.content = strings.TrimSpace(r.content + "\n" + m.Extra.Fault)
	}
	if m.Extra.Code != nil {
		r.extra = map[string]any{"exit_code": *m.Extra.Code}
	}
	p.result(r)
}

// reply takes a reply of the model's, as the program got it from its API.
func (p *miniParser) reply(raw json.RawMessage, m miniMessage) {
	r, ok := readMiniReply(raw)
	if !ok {
		return
	}
	p.last = r
	f := &p.facts
	p.next(m.when())
	p.model(r.model)
	f.Tokens = f.Tokens.Add(r.tokens)
	f.CostUSD += nonNegativeCost(m.Extra.Cost)
	f.CostKnown = f.CostUSD > 0
	if r.thoughts != "" {
		p.think(m.when(), r.thoughts)
	}
	if r.text != "" {
		p.say(m.when(), r.text, "\n\n")
	}
	for _, c := range r.calls {
		p.call(toolCall{id: c.id, name: c.name, kind: miniKind(c.name), args: object(json.RawMessage(c.args)), when: m.when()})
	}
	t := r.tokens
	p.turn.step.Metrics = &assay.StepMetrics{
		Prompt: t.Input + t.CacheRead + t.CacheWrite, Completion: t.Output, Cached: t.CacheRead, CostUSD: nonNegativeCost(m.Extra.Cost),
	}
}

func miniKind(tool string) string {
	if tool == "bash" {
		return "run"
	}
	return "other"
}

// exit takes the program's last word: that it is done, that a limit was
// reached, or the name of what went wrong.
func (p *miniParser) exit(m miniMessage) {
	what := either(m.Extra.Error, wordsOf(m.Content))
	switch status := m.Extra.Exit; {
	case status == "Submitted":
		if said := strings.TrimSpace(wordsOf(m.Content)); said != "" {
			p.final = atif.Cut(said, maxFinal)
		}
		p.end(run.EndSuccess, "")
	case status == "LimitsExceeded" && p.limits.MaxTurns > 0 && p.facts.Turns >= p.limits.MaxTurns:
		p.end(run.EndTurns, what)
	case status == "LimitsExceeded":
		p.end(run.EndCost, what)
	case status == "RepeatedFormatError" && p.last.refused():
		p.end(run.EndRefused, p.final)
	case status == "RepeatedFormatError":
		p.end(run.EndError, "the model called no tool, or not as it should, several times in a row")
	case status == "ContextWindowExceededError", contextEnding(what):
		p.end(run.EndContext, what)
	default:
		if code, ours := miniFaults()[status]; ours {
			addAPIError(&p.facts, assay.APIError{Status: code, Kind: status, Message: what, Count: 1})
		}
		p.end(run.EndError, status+": "+what)
	}
}

// miniFaults are the classes of errors that come from an API, with the status
// that they stand for; 0 for no answer.
func miniFaults() map[string]int {
	return map[string]int{
		"BadRequestError": http.StatusBadRequest, "AuthenticationError": http.StatusUnauthorized,
		"PermissionDeniedError": http.StatusForbidden, "NotFoundError": http.StatusNotFound,
		"RateLimitError": http.StatusTooManyRequests, "InternalServerError": http.StatusInternalServerError,
		"BadGatewayError": http.StatusBadGateway, "ServiceUnavailableError": http.StatusServiceUnavailable,
		"Timeout": 0, "APIConnectionError": 0, "APIError": 0,
	}
}

// miniReply is a model's reply, whichever form its API has.
type miniReply struct {
	model, reason  string
	text, thoughts string
	calls          []miniCall
	tokens         assay.Tokens
}

type miniCall struct{ id, name, args string }

// refused tells whether the model declined the task.
func (r miniReply) refused() bool {
	return slices.Contains([]string{"content_filter", "refusal", "safety"}, strings.ToLower(r.reason))
}

func readMiniReply(raw json.RawMessage) (miniReply, bool) {
	var in miniResponse
	if json.Unmarshal(raw, &in) != nil {
		return miniReply{}, false
	}
	out := miniReply{model: in.Model, reason: either(in.Incomplete.Reason, in.Status), tokens: in.Usage.tokens()}
	for _, c := range in.Choices {
		out.reason = c.Reason
		out.text, out.thoughts = wordsOf(c.Message.Content), c.Message.Reasoning
		for _, t := range c.Message.Calls {
			out.calls = append(out.calls, miniCall{t.ID, t.Function.Name, t.Function.Arguments})
		}
	}
	for _, item := range in.Output {
		out.add(item)
	}
	return out, len(in.Choices)+len(in.Output) > 0
}

// miniResponse is a reply of Chat Completions (choices) or Responses (output).
type miniResponse struct {
	Model   string `json:"model"`
	Choices []struct {
		Reason  string `json:"finish_reason"`
		Message struct {
			Content   json.RawMessage `json:"content"`
			Reasoning string          `json:"reasoning_content"`
			Calls     []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"message"`
	} `json:"choices"`
	Status     string `json:"status"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []miniItem `json:"output"`
	Usage  miniUsage  `json:"usage"`
}

type miniItem struct {
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
}

func (r *miniReply) add(i miniItem) {
	switch i.Type {
	case "message":
		said, refusal := contents(i.Content)
		r.text = strings.TrimSpace(r.text + "\n\n" + said)
		if refusal {
			r.reason = "refusal"
		}
	case "reasoning":
		r.thoughts = strings.TrimSpace(r.thoughts + "\n\n" + wordsOf(i.Summary))
	case "function_call":
		r.calls = append(r.calls, miniCall{i.CallID, i.Name, i.Arguments})
	}
}

// miniUsage counts in the words of either API: what came from a cache is part
// of what went in, and thoughts are part of what came out.
type miniUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Written    int64 `json:"cache_creation_input_tokens"`
	In         int64 `json:"input_tokens"`
	Out        int64 `json:"output_tokens"`

	PromptDetails     miniInput  `json:"prompt_tokens_details"`
	InDetails         miniInput  `json:"input_tokens_details"`
	CompletionDetails miniOutput `json:"completion_tokens_details"`
	OutDetails        miniOutput `json:"output_tokens_details"`
}

type miniInput struct {
	Cached  int64 `json:"cached_tokens"`
	Written int64 `json:"cache_write_tokens"`
}

type miniOutput struct {
	Reasoning int64 `json:"reasoning_tokens"`
}

func (u miniUsage) tokens() assay.Tokens {
	read := nonNegative(u.PromptDetails.Cached + u.InDetails.Cached)
	written := nonNegative(max(u.Written, u.PromptDetails.Written+u.InDetails.Written))
	return assay.Tokens{
		Input: nonNegative(u.Prompt + u.In - read - written), CacheRead: read, CacheWrite: written,
		Output: nonNegative(u.Completion + u.Out), Reasoning: nonNegative(u.CompletionDetails.Reasoning + u.OutDetails.Reasoning),
	}
}

// wordsOf is the text of a string or of a list of parts.
func wordsOf(raw json.RawMessage) string {
	said, _ := contents(raw)
	return said
}

func contents(raw json.RawMessage) (said string, refusal bool) {
	if json.Unmarshal(raw, &said) == nil {
		return said, false
	}
	var parts []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", false
	}
	all := make([]string, 0, len(parts))
	for _, p := range parts {
		all = append(all, either(p.Text, p.Refusal))
		refusal = refusal || p.Refusal != ""
	}
	return strings.Join(all, "\n"), refusal
}
