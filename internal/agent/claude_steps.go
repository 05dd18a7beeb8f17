package agent

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
)

// Bounds of one turn that waits for its results.
const (
	maxTurnText  = 4 << 20
	maxTurnCalls = 256
)

// synthetic is the model of messages that the program made itself.
const synthetic = "<synthetic>"

// claudeTurn is a model's reply with the results of its calls so far.
type claudeTurn struct {
	id    string
	step  assay.Step
	calls map[string]claudeCall
	size  int
}

// claudeCall is what has to be known of a call when its result comes.
type claudeCall struct {
	name string
	file string // what it edits, "" for none
}

// room is how much text a further field of the turn may keep.
func (t *claudeTurn) room() int {
	if t.size > maxTurnText {
		return 1 << 10
	}
	return atif.MaxField
}

// claudeMessage is the message of an assistant's or user's line.
type claudeMessage struct {
	id, model, stop string
	content         []byte
	usage           claudeUsage
}

func readMessage(raw []byte) (m claudeMessage, ok bool) {
	ok = eachField(raw, func(key, val []byte) bool {
		switch string(key) {
		case "id":
			m.id = text(val, 256)
		case "model":
			m.model = text(val, 256)
		case "stop_reason":
			m.stop = text(val, 64)
		case "content":
			m.content = val
		case "usage":
			_ = json.Unmarshal(val, &m.usage) // figures that can't be read stay zero
		}
		return true
	})
	return m, ok
}

func (p *claudeParser) assistant(l claudeLine) {
	m, ok := readMessage(l.message)
	if !ok {
		return
	}
	if m.model == synthetic {
		p.synthetic(l, m)
		return
	}
	p.refused = m.stop == "refusal"
	p.context = m.stop == "model_context_window_exceeded"
	p.reply(m.id, m.model, m.usage.tokens())
	t := p.turn(l.parent, m)
	eachItem(m.content, func(block []byte) { p.block(t, l.parent, block) })
}

// synthetic reads a message by which the program tells an error. What it says
// of the API is kept until the result names the status.
func (p *claudeParser) synthetic(l claudeLine, m claudeMessage) {
	p.flush(l.parent)
	said := words(m.content, atif.MaxField)
	p.emit(assay.Step{Source: "system", Message: said, Timestamp: l.time, Extra: extra(l.parent)})
	if l.fault == "" {
		return
	}
	p.settle(0)
	p.pending = &assay.APIError{Kind: l.fault, Message: atif.Cut(said, maxDetail), Count: 1}
	p.context = strings.HasPrefix(said, "Prompt is too long")
}

// turn is the conversation's turn for a message, begun anew when the message
// is another one.
func (p *claudeParser) turn(thread string, m claudeMessage) *claudeTurn {
	t := p.threads[thread]
	if t != nil && t.id == m.id && len(t.calls) < maxTurnCalls {
		return t
	}
	p.flush(thread)
	if len(p.threads) >= maxThreads {
		p.flushAll()
	}
	t = &claudeTurn{
		id:    m.id,
		step:  assay.Step{Source: "agent", Model: m.model, Extra: extra(thread)},
		calls: map[string]claudeCall{},
	}
	p.threads[thread] = t
	p.order = append(p.order, thread)
	return t
}

func extra(thread string) any {
	if thread == "" {
		return nil
	}
	return map[string]string{"parent_tool_use_id": thread}
}

func (p *claudeParser) block(t *claudeTurn, thread string, raw []byte) {
	var kind, id, name string
	var body, input []byte
	eachField(raw, func(key, val []byte) bool {
		switch string(key) {
		case "type":
			kind = text(val, 64)
		case "id":
			id = text(val, 256)
		case "name":
			name = text(val, 256)
		case "text", "thinking":
			body = val
		case "input":
			input = val
		}
		return true
	})
	switch kind {
	case "text":
		said := text(body, t.room())
		t.step.Message = join(t, t.step.Message, said)
		if thread == "" {
			p.final = atif.Cut(said, maxFinal)
		}
	case "thinking":
		t.step.Reasoning = join(t, t.step.Reasoning, text(body, t.room()))
	case "tool_use", "server_tool_use", "mcp_tool_use":
		p.call(t, id, name, input)
	}
}

// join adds a paragraph to a text of the turn, within bounds.
func join(t *claudeTurn, to, s string) string {
	if to != "" && s != "" {
		to += "\n\n"
	}
	t.size += len(s)
	return atif.Cut(to+s, 2*atif.MaxField)
}

func (p *claudeParser) call(t *claudeTurn, id, name string, input []byte) {
	if _, again := t.calls[id]; again || id == "" || name == "" {
		return
	}
	kind := claudeKind(name)
	p.facts.ToolCalls[kind]++
	if name == "Bash" {
		p.facts.Commands++
	}
	args := map[string]any{}
	if json.Unmarshal(input, &args) != nil || args == nil {
		args = map[string]any{}
	}
	call := claudeCall{name: name}
	if kind == "edit" {
		call.file = p.file(args)
	}
	t.calls[id] = call
	t.size += len(input)
	t.step.ToolCalls = append(t.step.ToolCalls, assay.ToolCall{ID: id, Name: name, Arguments: atif.CutAll(args, t.room())})
}

// claudeKind sorts the program's tools.
func claudeKind(tool string) string {
	switch tool {
	case "Read", "NotebookRead", "ListMcpResourcesTool", "ReadMcpResourceTool":
		return "read"
	case "Grep", "Glob", "LS", "LSP", "ToolSearch":
		return "search"
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return "edit"
	case "Bash", "BashOutput", "KillShell", "KillBash", "PowerShell", "Monitor":
		return "run"
	case "WebFetch", "WebSearch", "web_search", "web_fetch":
		return "web"
	case "TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "EnterPlanMode", "ExitPlanMode":
		return "plan"
	case "Task", "Agent", "SendMessage", "TaskOutput", "TaskStop", "Workflow":
		return "agent"
	}
	return "other"
}

// file is the path that a call edits, relative to the working directory where
// it lies in it.
func (p *claudeParser) file(args map[string]any) string {
	for _, key := range []string{"file_path", "notebook_path"} {
		name, ok := args[key].(string)
		if !ok || name == "" || len(name) > 4096 {
			continue
		}
		name = path.Clean(name)
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(p.cwd, "/")+"/"); ok && p.cwd != "" {
			return rest
		}
		return name
	}
	return ""
}

func (p *claudeParser) user(l claudeLine) {
	m, ok := readMessage(l.message)
	if !ok {
		return
	}
	if said := text(m.content, atif.MaxField); said != "" {
		p.said(l, said)
		return
	}
	eachItem(m.content, func(block []byte) {
		var kind, id string
		var body, content []byte
		failed := false
		eachField(block, func(key, val []byte) bool {
			switch string(key) {
			case "type":
				kind = text(val, 64)
			case "tool_use_id":
				id = text(val, 256)
			case "text":
				body = val
			case "content":
				content = val
			case "is_error":
				failed = string(val) == "true"
			}
			return true
		})
		switch kind {
		case "tool_result":
			p.answer(l, toolAnswer{id: id, content: content, failed: failed})
		case "text":
			p.said(l, text(body, atif.MaxField))
		}
	})
}

// said is a user's message within the conversation: the task of a subagent,
// or a reminder of the program.
func (p *claudeParser) said(l claudeLine, text string) {
	if text == "" {
		return
	}
	p.flush(l.parent)
	p.emit(assay.Step{Source: "user", Message: text, Timestamp: l.time, Extra: extra(l.parent)})
}

type toolAnswer struct {
	id      string
	content []byte
	failed  bool
}

// answer puts a result to its call. One that comes after its turn is a step
// of its own.
func (p *claudeParser) answer(l claudeLine, a toolAnswer) {
	if sub := p.threads[a.id]; sub != nil { // the subagent is done
		p.flush(a.id)
	}
	t := p.threads[l.parent]
	call, known := claudeCall{}, false
	if t != nil {
		call, known = t.calls[a.id]
	}
	res := assay.ToolResult{SourceCall: a.id}
	if a.failed {
		res.Extra = map[string]bool{"is_error": true}
	}
	if !known {
		res.SourceCall, res.Content = "", words(a.content, atif.MaxField)
		p.emit(assay.Step{
			Source: "system", Message: "A result came after its turn.", Timestamp: l.time,
			Observation: &assay.Observation{Results: []assay.ToolResult{res}},
		})
		return
	}
	res.Content = words(a.content, t.room())
	t.size += len(res.Content)
	if t.step.Observation == nil {
		t.step.Observation = &assay.Observation{}
	}
	if len(t.step.Observation.Results) < 2*maxTurnCalls {
		t.step.Observation.Results = append(t.step.Observation.Results, res)
	}
	t.step.Timestamp = l.time
	if !a.failed && call.file != "" && len(p.facts.Edited) < maxEdited && !slices.Contains(p.facts.Edited, call.file) {
		p.facts.Edited = append(p.facts.Edited, call.file)
	}
}

// words is the text of a string or of a list of blocks, up to limit bytes or
// somewhat more.
func words(raw []byte, limit int) string {
	if s := text(raw, limit); s != "" {
		return s
	}
	var b strings.Builder
	eachItem(raw, func(block []byte) {
		if b.Len() > limit {
			return
		}
		var kind, said string
		eachField(block, func(key, val []byte) bool {
			switch string(key) {
			case "type":
				kind = text(val, 64)
			case "text":
				said = text(val, limit)
			}
			return true
		})
		if kind != "text" {
			said = "[" + kind + "]"
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(said)
	})
	return b.String()
}

// flush hands on the turn of a conversation, if there is one.
func (p *claudeParser) flush(thread string) {
	t := p.threads[thread]
	if t == nil {
		return
	}
	delete(p.threads, thread)
	p.order = slices.DeleteFunc(p.order, func(s string) bool { return s == thread })
	p.emit(t.step)
}

func (p *claudeParser) flushAll() {
	for len(p.order) > 0 {
		p.flush(p.order[0])
	}
}
