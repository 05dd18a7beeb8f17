package atif_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
)

func facts() assay.AgentFacts {
	return assay.AgentFacts{
		Version: "1.2.3", Session: "s1", Models: []string{"m"}, CostUSD: 0.5,
		Tokens: assay.Tokens{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4},
	}
}

func TestWriterMakesAValidTrajectory(t *testing.T) {
	var out bytes.Buffer
	w := atif.NewWriter(&out)
	w.Step(assay.Step{ID: 9, Source: "user", Message: "do <it> & more"})
	w.Step(assay.Step{
		Source: "agent", Model: "m", Message: "ok", Reasoning: "hm",
		ToolCalls:   []assay.ToolCall{{ID: "c1", Name: "Bash", Arguments: map[string]any{"command": "ls"}}, {ID: "c2", Name: "Read"}},
		Observation: &assay.Observation{Results: []assay.ToolResult{{SourceCall: "c1", Content: "a\xffb"}}},
		Metrics:     &assay.StepMetrics{Prompt: 6, Completion: 4, Cached: 2},
	})
	if err := w.Finish(atif.EndOf("claude-code", "asked", facts())); err != nil {
		t.Fatal(err)
	}
	if err := atif.Check(bytes.NewReader(out.Bytes())); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	var got assay.Trajectory
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := &assay.FinalMetrics{Prompt: 6, Completion: 4, Cached: 2, CostUSD: 0.5, Steps: 2}
	if d := cmp.Diff(want, got.FinalMetrics); d != "" {
		t.Error(d)
	}
	if got.Agent.Model != "m" || got.SessionID != "s1" || got.Steps[0].ID != 1 || got.Steps[1].ID != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestWriterWithoutSteps(t *testing.T) {
	var out bytes.Buffer
	if err := atif.NewWriter(&out).Finish(atif.EndOf("command", "", assay.AgentFacts{})); err != nil {
		t.Fatal(err)
	}
	if err := atif.Check(&out); err != nil {
		t.Error(err)
	}
}

func TestWriterBoundsAStep(t *testing.T) {
	var out bytes.Buffer
	w := atif.NewWriter(&out)
	long := strings.Repeat("é", 1<<20)
	args := map[string]any{"content": long, "list": []any{long, 1.0, nil}}
	s := assay.Step{Source: "agent", Message: long, Reasoning: long,
		ToolCalls:   []assay.ToolCall{{ID: "1", Name: "Write", Arguments: args}},
		Observation: &assay.Observation{Results: []assay.ToolResult{{SourceCall: "1", Content: long}}}}
	w.Step(s)
	if err := w.Finish(atif.EndOf("x", "", assay.AgentFacts{})); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 2*atif.MaxStep {
		t.Errorf("one step takes %d bytes", out.Len())
	}
	if s.Observation.Results[0].Content != long || args["content"] != long {
		t.Error("the caller's step was changed")
	}
	if err := atif.Check(&out); err != nil {
		t.Error(err)
	}
}

func TestCut(t *testing.T) {
	if got := atif.Cut("short", 5); got != "short" {
		t.Error(got)
	}
	got := atif.Cut("ééééééééé", 5)
	if want := "é\n[... 14 bytes left out ...]\né"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheckTellsFaults(t *testing.T) {
	step := func(s string) string {
		return `{"schema_version":"ATIF-v1.7","agent":{"name":"a","version":"1"},"steps":[` + s + `]}`
	}
	tests := []struct{ name, in, want string }{
		{"not JSON", "x", "invalid character"},
		{"a list", "[]", "expected"},
		{"cut off", step("")[:40], "EOF"},
		{"version", `{"schema_version":"2","agent":{"name":"a","version":"1"},"steps":[]}`, "schema_version"},
		{"no steps", step(""), "no steps"},
		{"no agent", `{"schema_version":"ATIF-v1.7","steps":[]}`, "name and a version"},
		{"numbers", step(`{"step_id":2,"source":"user","message":""}`), "number 2"},
		{"source", step(`{"step_id":1,"source":"tool","message":""}`), `source "tool"`},
		{"model fields", step(`{"step_id":1,"source":"user","message":"","model_name":"m"}`), "model's reply"},
		{"unknown field", step(`{"step_id":1,"source":"user","message":"","x":1}`), "unknown field"},
		{"results", step(`{"step_id":1,"source":"agent","message":"","observation":{"results":[{"source_call_id":"z","content":""}]}}`), `answers "z"`},
		{"arguments", step(`{"step_id":1,"source":"agent","message":"","tool_calls":[{"tool_call_id":"z","function_name":"f","arguments":"s"}]}`), "no object"},
		{"trailing", step(`{"step_id":1,"source":"user","message":""}`) + "{}", "after the trajectory"},
		{"count", `{"schema_version":"ATIF-v1.7","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":""}],"final_metrics":{"total_steps":3}}`, "counts 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := atif.Check(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want something with %q", err, tt.want)
			}
		})
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFinishTellsTheFirstError(t *testing.T) {
	w := atif.NewWriter(full{})
	for range 100 {
		w.Step(assay.Step{Source: "user", Message: strings.Repeat("x", 1000)})
	}
	if err := w.Finish(atif.End{}); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"schema_version":"ATIF-v1.7","steps":[{"step_id":1}]}`))
	f.Add([]byte(`{"steps":[[]],"agent":3}`))
	f.Fuzz(func(_ *testing.T, data []byte) { _ = atif.Check(bytes.NewReader(data)) })
}

func BenchmarkWriter(b *testing.B) {
	s := assay.Step{Source: "agent", Message: strings.Repeat("line of text\n", 1000)}
	b.SetBytes(int64(len(s.Message)))
	w := atif.NewWriter(io.Discard)
	for b.Loop() {
		w.Step(s)
	}
}
