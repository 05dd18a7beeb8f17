package atif

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/assaybot/assay/internal/assay"
)

// Bounds of the text that is kept inline, in bytes: of one field, and of all
// fields of a step together. The raw stream beside the trajectory has it all.
const (
	MaxField = 64 << 10
	MaxStep  = 256 << 10
	minField = 1 << 10
)

// Writer writes one trajectory as JSON while its steps come. It is not safe
// for concurrent use. The first error of the writer below is kept and told
// by Finish.
type Writer struct {
	w     *bufio.Writer
	steps int
	err   error
}

// NewWriter begins a trajectory. It does not close w.
func NewWriter(w io.Writer) *Writer {
	out := &Writer{w: bufio.NewWriterSize(w, 32<<10)}
	out.raw(`{"schema_version":"` + assay.TrajectorySchema + `","steps":[`)
	return out
}

// Step writes one step. Its number is given here; what s says is ignored.
func (w *Writer) Step(s assay.Step) {
	if w.steps > 0 {
		w.raw(",")
	}
	w.steps++
	s.ID = w.steps
	w.raw("\n")
	w.json(bounded(s))
}

// End is what is known of a trajectory once it is over.
type End struct {
	Session string
	Agent   assay.ATIFAgent
	Metrics assay.FinalMetrics
	Notes   string
}

// EndOf takes the end of a trajectory from the facts of an agent's stream.
// Name and model are those of the trial; the stream's own model wins.
func EndOf(name, model string, f assay.AgentFacts) End {
	if len(f.Models) > 0 {
		model = f.Models[0]
	}
	version := f.Version
	if version == "" {
		version = "unknown"
	}
	return End{
		Session: f.Session,
		Agent:   assay.ATIFAgent{Name: name, Version: version, Model: model},
		Metrics: assay.FinalMetrics{
			Prompt:     f.Tokens.Input + f.Tokens.CacheRead + f.Tokens.CacheWrite,
			Completion: f.Tokens.Output,
			Cached:     f.Tokens.CacheRead,
			CostUSD:    f.CostUSD,
		},
	}
}

// Finish writes the end and tells the first error of all. A trajectory
// without a step gets one that says so, since the format wants one.
func (w *Writer) Finish(e End) error {
	if w.steps == 0 {
		w.Step(assay.Step{Source: "system", Message: "The program wrote nothing that could be read as a step."})
	}
	e.Metrics.Steps = w.steps
	w.raw("\n],\"agent\":")
	w.json(e.Agent)
	if e.Session != "" {
		w.raw(`,"session_id":`)
		w.json(e.Session)
	}
	if e.Notes != "" {
		w.raw(`,"notes":`)
		w.json(e.Notes)
	}
	w.raw(`,"final_metrics":`)
	w.json(e.Metrics)
	w.raw("}\n")
	if err := w.w.Flush(); w.err == nil {
		w.err = err
	}
	if w.err != nil {
		return fmt.Errorf("writing a trajectory: %w", w.err)
	}
	return nil
}

func (w *Writer) raw(s string) {
	if w.err == nil {
		_, w.err = w.w.WriteString(s)
	}
}

func (w *Writer) json(v any) {
	if w.err != nil {
		return
	}
	data, err := json.Marshal(v)
	if err != nil {
		w.err = err
		return
	}
	_, w.err = w.w.Write(data)
}

// bounded is s with every text cut so that the step fits its bounds. It
// changes nothing that s shares with the caller.
func bounded(s assay.Step) assay.Step {
	room := MaxStep
	s.Message = take(&room, s.Message)
	s.Reasoning = take(&room, s.Reasoning)
	if len(s.ToolCalls) > 0 {
		s.ToolCalls = append([]assay.ToolCall(nil), s.ToolCalls...)
		for i := range s.ToolCalls {
			s.ToolCalls[i].Arguments = arguments(&room, s.ToolCalls[i].Arguments)
		}
	}
	if s.Observation == nil {
		return s
	}
	obs := assay.Observation{Results: append([]assay.ToolResult(nil), s.Observation.Results...)}
	for i := range obs.Results {
		obs.Results[i].Content = take(&room, obs.Results[i].Content)
	}
	s.Observation = &obs
	return s
}

// take cuts one text to what is left of the step's room, at least minField.
func take(room *int, s string) string {
	out := Cut(s, max(minField, min(MaxField, *room)))
	*room -= len(out)
	return out
}

func arguments(room *int, v any) any {
	if v == nil {
		return map[string]any{}
	}
	return mapText(v, func(s string) string { return take(room, s) })
}

// CutAll is v, a decoded JSON value, with every string cut to limit bytes. It
// changes nothing in place.
func CutAll(v any, limit int) any {
	return mapText(v, func(s string) string { return Cut(s, limit) })
}

func mapText(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = mapText(v[i], f)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = mapText(v[k], f)
		}
		return out
	}
	return v
}

// Cut is s, or its beginning and end around a marker when it is longer than
// limit bytes. It cuts between runes; the marker comes on top of limit.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := limit/2, len(s)-(limit-limit/2)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	var b strings.Builder
	b.WriteString(s[:head])
	fmt.Fprintf(&b, "\n[... %d bytes left out ...]\n", tail-head)
	b.WriteString(s[tail:])
	return b.String()
}
