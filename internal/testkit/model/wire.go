package model

import (
	"encoding/json"
	"fmt"
	"strings"
)

// parse reads a request's body and counts the model's turns in it.
func parse(body []byte) (Request, int, error) {
	var in struct {
		Model    string          `json:"model"`
		Stream   bool            `json:"stream"`
		System   json.RawMessage `json:"system"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, 0, fmt.Errorf("reading a request: %w", err)
	}
	req := Request{Model: in.Model, Stream: in.Stream, System: words(in.System), Raw: body}
	turns := 0
	for _, m := range in.Messages {
		switch m.Role {
		case "assistant":
			turns++
		case "user":
			if req.First == "" {
				req.First = words(m.Content)
			}
		}
		req.Last = words(m.Content)
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, t.Name)
	}
	return req, turns, nil
}

// words is the text of a string or of a list of content blocks, the contents
// of tool results included.
func words(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct {
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &blocks) != nil {
		return ""
	}
	var parts []string
	for _, b := range blocks {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
		if c := words(b.Content); c != "" {
			parts = append(parts, c)
		}
	}
	return strings.Join(parts, "\n")
}

// message is a reply on its way to the wire.
type message struct {
	id, model string
	reply     Reply
}

func (m message) stop() string {
	switch {
	case m.reply.Stop != "":
		return m.reply.Stop
	case calls(m.reply):
		return "tool_use"
	}
	return "end_turn"
}

func (m message) head(content []any, usage map[string]any) map[string]any {
	return map[string]any{
		"id": m.id, "type": "message", "role": "assistant", "model": m.model,
		"content": content, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
}

func (m message) usage(output int64) map[string]any {
	u := m.reply.Usage
	return map[string]any{
		"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite,
		"cache_read_input_tokens": u.CacheRead, "output_tokens": output,
	}
}

// whole is the reply as one JSON object.
func (m message) whole() map[string]any {
	content := []any{}
	for i, b := range m.reply.Blocks {
		v := m.start(i, b)
		switch b.Type {
		case "text":
			v["text"] = b.Text
		case "thinking":
			v["thinking"] = b.Text
		default:
			v["input"] = b.Input
		}
		content = append(content, v)
	}
	out := m.head(content, m.usage(m.reply.Usage.Output))
	out["stop_reason"] = m.stop()
	return out
}

// start is a content block before its deltas.
func (m message) start(i int, b Block) map[string]any {
	switch b.Type {
	case "text":
		return map[string]any{"type": "text", "text": ""}
	case "thinking":
		return map[string]any{"type": "thinking", "thinking": "", "signature": ""}
	}
	return map[string]any{
		"type": "tool_use", "id": fmt.Sprintf("toolu_%s_%d", m.id, i), "name": b.Tool, "input": map[string]any{},
	}
}

// events is the reply as a stream.
func (m message) events() []map[string]any {
	out := []map[string]any{{"type": "message_start", "message": m.head([]any{}, m.usage(1))}}
	for i, b := range m.reply.Blocks {
		out = append(out, map[string]any{"type": "content_block_start", "index": i, "content_block": m.start(i, b)})
		for _, d := range deltas(b) {
			out = append(out, map[string]any{"type": "content_block_delta", "index": i, "delta": d})
		}
		out = append(out, map[string]any{"type": "content_block_stop", "index": i})
	}
	return append(out,
		map[string]any{
			"type":  "message_delta",
			"delta": map[string]any{"stop_reason": m.stop(), "stop_sequence": nil},
			"usage": map[string]any{"output_tokens": m.reply.Usage.Output},
		},
		map[string]any{"type": "message_stop"})
}

func deltas(b Block) []map[string]any {
	switch b.Type {
	case "text":
		half := len(b.Text) / 2
		for half > 0 && b.Text[half]&0xC0 == 0x80 {
			half--
		}
		return []map[string]any{
			{"type": "text_delta", "text": b.Text[:half]},
			{"type": "text_delta", "text": b.Text[half:]},
		}
	case "thinking":
		return []map[string]any{
			{"type": "thinking_delta", "thinking": b.Text},
			{"type": "signature_delta", "signature": "scripted"},
		}
	}
	return []map[string]any{{"type": "input_json_delta", "partial_json": string(encode(b.Input))}}
}
