package agent

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
	"github.com/assaybot/assay/internal/run"
)

// stream is what the parsers of one conversation share: lines, the facts so
// far, and the turn whose results are still coming. A turn is one reply of
// the model. Programs that don't tell replies apart begin another one when
// the model speaks again after a result.
type stream struct {
	prompt string
	cwd    string // the workspace; what is edited is told relative to it
	read   func(line []byte)
	sink   run.StepSink
	lines  lineReader

	facts assay.AgentFacts
	begun bool
	ended bool
	turn  *turn
	final string
}

// turn is a model's reply with the results of its calls so far.
type turn struct {
	step  assay.Step
	files map[string]string // by call, the file that it edits or ""
	done  bool              // a result came: whatever the model says next is another turn
	size  int
}

func newStream(in run.Invocation, version string) stream {
	return stream{
		prompt: in.Prompt, cwd: in.Root + run.WorkDir,
		facts: assay.AgentFacts{Version: version, ToolCalls: map[string]int{}},
	}
}

// SetSink says where steps go; without it they are dropped.
func (s *stream) SetSink(sink run.StepSink) { s.sink = sink }

// Write reads a piece of the stream.
func (s *stream) Write(b []byte) (int, error) {
	s.lines.feed(b, s.read, s.long)
	return len(b), nil
}

// Ended is true once the program told how it ended.
func (s *stream) Ended() bool { return s.ended }

// finish reads the rest and hands on the last turn.
func (s *stream) finish() {
	s.lines.rest(s.read, s.long)
	s.flush()
	if s.facts.Final == "" && s.facts.Ending != run.EndError {
		s.facts.Final = s.final
	}
}

func (s *stream) long(n int) {
	s.note(fmt.Sprintf("An event of %d bytes was too long to be read; the raw transcript has it.", n), "")
}

// note is a step of the program's own.
func (s *stream) note(text, when string) {
	s.flush()
	s.emit(assay.Step{Source: "system", Message: atif.Cut(text, atif.MaxField), Timestamp: when})
}

func (s *stream) emit(step assay.Step) {
	if s.sink != nil {
		s.sink.Step(step)
	}
}

// begin makes the prompt the first step.
func (s *stream) begin() {
	if !s.begun && s.prompt != "" {
		s.emit(assay.Step{Source: "user", Message: s.prompt})
	}
	s.begun = true
}

// open is the turn that the model's next word belongs to.
func (s *stream) open(when string) *turn {
	s.begin()
	if s.turn == nil || s.turn.done {
		s.next(when)
	}
	return s.turn
}

// next begins a turn.
func (s *stream) next(when string) {
	s.begin()
	s.flush()
	s.facts.Turns++
	s.turn = &turn{step: assay.Step{Source: "agent", Timestamp: when}, files: map[string]string{}}
}

func (s *stream) flush() {
	if t := s.turn; t != nil {
		s.turn = nil
		s.emit(t.step)
	}
}

// room is how much text a further field of the turn may keep.
func (t *turn) room() int {
	if t.size > maxTurnText {
		return 1 << 10
	}
	return atif.MaxField
}

// say adds words of the model; sep stands between them and those before.
func (s *stream) say(when, words, sep string) {
	t := s.open(when)
	t.step.Message = t.add(t.step.Message, words, sep)
	s.final = atif.Cut(t.step.Message, maxFinal)
}

func (s *stream) think(when, words string) {
	t := s.open(when)
	t.step.Reasoning = t.add(t.step.Reasoning, words, "\n\n")
}

func (t *turn) add(to, words, sep string) string {
	t.size += len(words)
	if to == "" || words == "" {
		sep = ""
	}
	return atif.Cut(to+sep+words, 2*atif.MaxField)
}

// toolCall is a call as a program tells it.
type toolCall struct {
	id, name, kind, when string
	args                 map[string]any
	file                 string // what it edits, "" for none
}

func (s *stream) call(c toolCall) {
	if c.id == "" || s.turn.knows(c.id) {
		return
	}
	t := s.open(c.when)
	if len(t.files) >= maxTurnCalls {
		return
	}
	s.facts.ToolCalls[c.kind]++
	if c.kind == "run" {
		s.facts.Commands++
	}
	if c.args == nil {
		c.args = map[string]any{}
	}
	t.files[c.id] = c.file
	t.step.ToolCalls = append(t.step.ToolCalls, assay.ToolCall{ID: c.id, Name: c.name, Arguments: atif.CutAll(c.args, t.room())})
}

func (t *turn) knows(call string) bool {
	if t == nil {
		return false
	}
	_, known := t.files[call]
	return known
}

// toolResult answers a call.
type toolResult struct {
	id, content string
	failed      bool
	extra       map[string]any
}

func (s *stream) result(r toolResult) {
	t := s.turn
	if !t.knows(r.id) || t.step.Observation != nil && len(t.step.Observation.Results) > 2*maxTurnCalls {
		return
	}
	file := t.files[r.id]
	t.done = true
	t.size += len(r.content)
	res := assay.ToolResult{SourceCall: r.id, Content: atif.Cut(r.content, t.room())}
	if r.failed {
		r.extra = with(r.extra, "is_error", true)
	}
	if len(r.extra) > 0 {
		res.Extra = r.extra
	}
	if t.step.Observation == nil {
		t.step.Observation = &assay.Observation{}
	}
	t.step.Observation.Results = append(t.step.Observation.Results, res)
	if !r.failed {
		s.edited(file)
	}
}

func with(m map[string]any, key string, v any) map[string]any {
	if m == nil {
		m = map[string]any{}
	}
	m[key] = v
	return m
}

// edited notes a file that was changed.
func (s *stream) edited(file string) {
	if file == "" || len(file) > 4096 {
		return
	}
	file = path.Clean(file)
	if rest, ok := strings.CutPrefix(file, s.cwd+"/"); ok {
		file = rest
	}
	if f := &s.facts; len(f.Edited) < maxEdited && !slices.Contains(f.Edited, file) {
		f.Edited = append(f.Edited, file)
	}
}

func (s *stream) model(name string) {
	if f := &s.facts; name != "" && len(f.Models) < maxModels && !slices.Contains(f.Models, name) {
		f.Models = append(f.Models, atif.Cut(name, 256))
	}
}

// end takes the program's terminal word.
func (s *stream) end(ending, detail string) {
	s.begin()
	s.flush()
	s.ended = true
	s.facts.Ending, s.facts.Detail = ending, atif.Cut(detail, maxDetail)
}

// addAPIError counts an error with those of the same status, or of the same
// kind where there is no status.
func addAPIError(f *assay.AgentFacts, e assay.APIError) {
	e.Message = atif.Cut(e.Message, maxDetail)
	for i := range f.APIErrors {
		o := &f.APIErrors[i]
		if o.Status != e.Status || (e.Status == 0 && o.Kind != e.Kind) {
			continue
		}
		o.Count += e.Count
		if e.Message != "" {
			o.Message = e.Message
		}
		if o.Kind == "" || o.Kind == "unknown" {
			o.Kind = e.Kind
		}
		return
	}
	if len(f.APIErrors) < 50 {
		f.APIErrors = append(f.APIErrors, e)
	}
}

// object decodes a JSON object, nil for anything else.
func object(raw json.RawMessage) map[string]any {
	var out map[string]any
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// str is a member of an object if it is a text.
func str(m map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// contextEnding tells whether an error's text says that the conversation no
// longer fits into the model's context.
func contextEnding(text string) bool {
	text = strings.ToLower(text)
	for _, part := range []string{"context window", "context_length_exceeded", "prompt is too long", "maximum context length", "exceeds the maximum number of tokens"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

func nonNegative(n int64) int64 { return max(0, n) }
