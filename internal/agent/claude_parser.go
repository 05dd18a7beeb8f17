package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
	"github.com/assaybot/assay/internal/run"
)

// Bounds of what a parser keeps.
const (
	maxFinal   = 16 << 10
	maxDetail  = 2 << 10
	maxEdited  = 1000
	maxModels  = 20
	maxReplies = 1 << 15
	maxThreads = 128
)

// claudeParser reads Claude Code's stream-json. One conversation is the main
// one, each subagent has one of its own; each has at most one turn that waits
// for the results of its tool calls.
type claudeParser struct {
	prompt string
	sink   run.StepSink
	lines  lineReader

	facts   assay.AgentFacts
	cwd     string
	begun   bool
	ended   bool
	refused bool
	context bool

	threads map[string]*claudeTurn // by the call that began the subagent; "" is main
	order   []string
	replies map[string]assay.Tokens // by message, as far as the stream tells
	earlier assay.Tokens            // of replies that were forgotten
	lastID  string
	final   string
	pending *assay.APIError // told by the program, its status not known yet
}

var (
	_ run.Parser    = (*claudeParser)(nil)
	_ run.NeedsSink = (*claudeParser)(nil)
)

func newClaudeParser(prompt string) *claudeParser {
	return &claudeParser{
		prompt:  prompt,
		threads: map[string]*claudeTurn{},
		replies: map[string]assay.Tokens{},
		facts:   assay.AgentFacts{ToolCalls: map[string]int{}},
	}
}

// SetSink says where steps go; without it they are dropped.
func (p *claudeParser) SetSink(s run.StepSink) { p.sink = s }

// Write reads a piece of the stream.
func (p *claudeParser) Write(b []byte) (int, error) {
	p.lines.feed(b, p.line, p.long)
	return len(b), nil
}

// Ended is true once the program gave its result.
func (p *claudeParser) Ended() bool { return p.ended }

// Finish ends all turns and sums up.
func (p *claudeParser) Finish() assay.AgentFacts {
	p.lines.rest(p.line, p.long)
	p.flushAll()
	p.settle(0)
	if p.facts.Final == "" {
		p.facts.Final = p.final
	}
	if sum := p.counted(); sum.Total() > p.facts.Tokens.Total() {
		p.facts.Tokens = sum
	}
	return p.facts
}

// claudeLine are the members of a line that are looked at.
type claudeLine struct {
	kind, subtype, parent, time, fault string
	message                            []byte
}

func (p *claudeParser) line(b []byte) {
	var l claudeLine
	whole := eachField(b, func(key, val []byte) bool {
		switch string(key) {
		case "type":
			l.kind = text(val, 64)
			return l.kind != "stream_event"
		case "subtype":
			l.subtype = text(val, 64)
		case "parent_tool_use_id":
			l.parent = text(val, 256)
		case "timestamp":
			l.time = text(val, 64)
		case "error":
			l.fault = text(val, 64)
		case "message":
			l.message = val
		}
		return true
	})
	if !whole {
		return
	}
	switch l.kind {
	case "system":
		p.system(l, b)
	case "assistant":
		p.begin()
		p.assistant(l)
	case "user":
		p.begin()
		p.user(l)
	case "result":
		p.result(b)
	}
}

// long notes a line that was too long to be read.
func (p *claudeParser) long(n int) {
	p.emit(assay.Step{Source: "system", Message: fmt.Sprintf("An event of %d bytes was too long to be read; the raw transcript has it.", n)})
}

// begin makes the prompt the first step.
func (p *claudeParser) begin() {
	if p.begun {
		return
	}
	p.begun = true
	if p.prompt != "" {
		p.emit(assay.Step{Source: "user", Message: p.prompt})
	}
}

func (p *claudeParser) emit(s assay.Step) {
	if p.sink != nil {
		p.sink.Step(s)
	}
}

func (p *claudeParser) system(l claudeLine, b []byte) {
	switch l.subtype {
	case "init":
		p.begin()
		p.init(b)
	case "api_retry":
		var e struct {
			Status *int   `json:"error_status"`
			Error  string `json:"error"`
		}
		if json.Unmarshal(b, &e) == nil {
			p.apiError(assay.APIError{Status: orZero(e.Status), Kind: e.Error, Count: 1})
		}
	case "model_refusal_no_fallback":
		p.refused = true
	case "compact_boundary":
		p.flush("")
		p.emit(assay.Step{Source: "system", Message: "The conversation was compacted."})
	}
}

func orZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func (p *claudeParser) init(b []byte) {
	var e struct {
		Session string `json:"session_id"`
		Version string `json:"claude_code_version"`
		Cwd     string `json:"cwd"`
	}
	if json.Unmarshal(b, &e) != nil {
		return
	}
	p.facts.Session, p.facts.Version, p.cwd = atif.Cut(e.Session, 256), atif.Cut(e.Version, 64), e.Cwd
}

func (p *claudeParser) apiError(e assay.APIError) { addAPIError(&p.facts, e) }

// settle counts the error that the program told last, with its status.
func (p *claudeParser) settle(status int) {
	if p.pending == nil {
		return
	}
	p.pending.Status = status
	p.apiError(*p.pending)
	p.pending = nil
}

// claudeUsage are the token counts of a message or result.
type claudeUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	Output     int64 `json:"output_tokens"`
}

func (u claudeUsage) tokens() assay.Tokens {
	at := func(n int64) int64 { return max(0, n) }
	return assay.Tokens{Input: at(u.Input), CacheRead: at(u.CacheRead), CacheWrite: at(u.CacheWrite), Output: at(u.Output)}
}

// reply books one event of a model's reply: replies are told by their
// message, and a message's figures grow from event to event.
func (p *claudeParser) reply(id, model string, u assay.Tokens) {
	was, known := p.replies[id]
	if !known && id != p.lastID {
		p.facts.Turns++
	}
	p.lastID = id
	if !known && len(p.replies) >= maxReplies {
		p.earlier = p.counted()
		p.replies = map[string]assay.Tokens{}
	}
	p.replies[id] = assay.Tokens{
		Input: max(was.Input, u.Input), Output: max(was.Output, u.Output),
		CacheRead: max(was.CacheRead, u.CacheRead), CacheWrite: max(was.CacheWrite, u.CacheWrite),
	}
	p.model(model)
}

func (p *claudeParser) model(name string) {
	if name != "" && len(p.facts.Models) < maxModels && !slices.Contains(p.facts.Models, name) {
		p.facts.Models = append(p.facts.Models, name)
	}
}

// counted are the tokens that the events of replies tell; it is less than
// what was used, since events come before a reply's end.
func (p *claudeParser) counted() assay.Tokens {
	sum := p.earlier
	for _, t := range p.replies {
		sum = sum.Add(t)
	}
	return sum
}

// claudeResult is the last line of a stream.
type claudeResult struct {
	Subtype   string      `json:"subtype"`
	IsError   bool        `json:"is_error"`
	APIStatus *int        `json:"api_error_status"`
	Turns     int         `json:"num_turns"`
	Result    string      `json:"result"`
	Stop      string      `json:"stop_reason"`
	Terminal  string      `json:"terminal_reason"`
	Cost      *float64    `json:"total_cost_usd"`
	Usage     claudeUsage `json:"usage"`
	Models    map[string]struct {
		Input      int64 `json:"inputTokens"`
		Output     int64 `json:"outputTokens"`
		CacheRead  int64 `json:"cacheReadInputTokens"`
		CacheWrite int64 `json:"cacheCreationInputTokens"`
	} `json:"modelUsage"`
	Errors []string `json:"errors"`
}

func (p *claudeParser) result(b []byte) {
	var r claudeResult
	if json.Unmarshal(b, &r) != nil {
		return
	}
	p.begin()
	p.flushAll()
	p.ended = true
	f := &p.facts
	f.Reported = r.Turns
	f.Tokens = r.tokens()
	if r.Cost != nil {
		f.CostUSD, f.CostKnown = *r.Cost, true
	}
	for _, name := range sortedNames(r) {
		p.model(name)
	}
	if r.APIStatus != nil && p.pending == nil {
		p.pending = &assay.APIError{Message: r.Result, Count: 1}
	}
	p.settle(orZero(r.APIStatus))
	f.Ending = p.ending(r)
	f.Detail, f.Final = "", ""
	if r.IsError || r.Subtype != "success" {
		f.Detail = r.detail()
		return
	}
	f.Final = atif.Cut(r.Result, maxFinal)
}

func sortedNames(r claudeResult) []string {
	names := make([]string, 0, len(r.Models))
	for name := range r.Models {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// tokens are those of the main conversation, or of all models where that is
// more: subagents and side calls are in the latter only, and on some endings
// the former stays zero.
func (r claudeResult) tokens() assay.Tokens {
	var sum assay.Tokens
	for _, m := range r.Models {
		sum = sum.Add(claudeUsage{Input: m.Input, Output: m.Output, CacheRead: m.CacheRead, CacheWrite: m.CacheWrite}.tokens())
	}
	if main := r.Usage.tokens(); main.Total() > sum.Total() {
		return main
	}
	return sum
}

func (r claudeResult) detail() string {
	switch {
	case len(r.Errors) > 0:
		return atif.Cut(strings.Join(r.Errors, "; "), maxDetail)
	case r.Result != "":
		return atif.Cut(r.Result, maxDetail)
	}
	return r.Subtype
}

// ending maps the program's words to the few that a run knows.
func (p *claudeParser) ending(r claudeResult) string {
	switch r.Subtype {
	case "error_max_turns":
		return "max_turns"
	case "error_max_budget_usd":
		return "max_cost"
	}
	switch {
	case r.Stop == "refusal" || p.refused:
		return "refused"
	case r.Stop == "model_context_window_exceeded", p.context && r.IsError,
		slices.Contains([]string{"prompt_too_long", "blocking_limit", "rapid_refill_breaker"}, r.Terminal):
		return "context"
	case r.IsError || r.Subtype != "success":
		return "error"
	}
	return "success"
}
