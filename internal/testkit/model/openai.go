package model

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// responses is the OpenAI Responses API.
type responses struct{}

func (responses) parse(_ *http.Request, body []byte) (Request, int, error) {
	var in struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []struct {
			Name string `json:"name"`
			Type string `json:"type"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, 0, fmt.Errorf("reading a request: %w", err)
	}
	req := Request{Model: in.Model, Stream: in.Stream, System: in.Instructions, Raw: body}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, either(t.Name, t.Type))
	}
	turns := responsesInput(&req, in.Input)
	return req, turns, nil
}

// responsesInput reads the conversation. A model's turn is a run of its items:
// words, thoughts and calls.
func responsesInput(req *Request, input json.RawMessage) int {
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Output  json.RawMessage `json:"output"`
	}
	if json.Unmarshal(input, &items) != nil {
		req.First, req.Last = words(input), words(input)
		return 0
	}
	turns, within := 0, false
	for _, item := range items {
		said := either(words(item.Content), words(item.Output))
		own := item.Role == "assistant" || item.Role == "" && len(item.Output) == 0
		if own && !within {
			turns++
		}
		within = own
		switch item.Role {
		case "developer", "system":
			req.System += "\n" + said
		case "user":
			// Programs put what surrounds them into messages of their own
			// before the prompt.
			if turns == 0 {
				req.First += said + "\n"
			}
		}
		req.Last = said
	}
	return turns
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (responses) events(m message) []map[string]any {
	head := m.response("in_progress", nil)
	out := []map[string]any{{"type": "response.created", "response": head}}
	for i, b := range m.reply.Blocks {
		out = append(out, map[string]any{"type": "response.output_item.added", "output_index": i, "item": m.item(i, b, false)})
		if b.Type == "text" {
			place := map[string]any{"item_id": m.itemID(i), "output_index": i, "content_index": 0}
			out = append(out,
				with(place, map[string]any{"type": "response.content_part.added", "part": outputText("")}),
				with(place, map[string]any{"type": "response.output_text.delta", "delta": b.Text}),
				with(place, map[string]any{"type": "response.output_text.done", "text": b.Text}),
				with(place, map[string]any{"type": "response.content_part.done", "part": outputText(b.Text)}))
		}
		out = append(out, map[string]any{"type": "response.output_item.done", "output_index": i, "item": m.item(i, b, true)})
	}
	last := responses{}.whole(m)
	out = append(out, map[string]any{"type": "response." + last["status"].(string), "response": last})
	for i := range out {
		out[i]["sequence_number"] = i
	}
	return out
}

func with(a, b map[string]any) map[string]any {
	for k, v := range a {
		b[k] = v
	}
	return b
}

func (responses) whole(m message) map[string]any {
	items := []any{}
	for i, b := range m.reply.Blocks {
		items = append(items, m.item(i, b, true))
	}
	if m.reply.Stop == "" {
		return m.response("completed", items)
	}
	out := m.response("incomplete", items)
	out["incomplete_details"] = map[string]any{"reason": m.reply.Stop}
	return out
}

func (m message) response(status string, items []any) map[string]any {
	out := map[string]any{
		"id": m.id, "object": "response", "created_at": 1, "status": status, "model": m.model, "error": nil,
		"incomplete_details": nil, "instructions": nil, "metadata": map[string]any{}, "parallel_tool_calls": true,
		"tool_choice": "auto", "tools": []any{}, "temperature": 1, "top_p": 1, "output": items,
	}
	if items == nil {
		out["output"] = []any{}
		return out
	}
	u := m.reply.Usage
	out["usage"] = map[string]any{
		"input_tokens": u.Input + u.CacheRead + u.CacheWrite, "output_tokens": u.Output, "total_tokens": u.Total(),
		"input_tokens_details":  map[string]any{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"output_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
	return out
}

func (m message) itemID(i int) string { return fmt.Sprintf("item_%s_%d", m.id, i) }

func outputText(s string) map[string]any {
	return map[string]any{"type": "output_text", "text": s, "annotations": []any{}}
}

// item is a block as the API's item; whole is false at its beginning.
func (m message) item(i int, b Block, whole bool) map[string]any {
	status := "in_progress"
	if whole {
		status = "completed"
	}
	switch b.Type {
	case "text":
		content := []any{}
		if whole {
			content = append(content, outputText(b.Text))
		}
		return map[string]any{"type": "message", "id": m.itemID(i), "role": "assistant", "status": status, "content": content}
	case "thinking":
		return map[string]any{
			"type": "reasoning", "id": m.itemID(i), "summary": []any{map[string]any{"type": "summary_text", "text": b.Text}},
		}
	}
	args := ""
	if whole {
		args = string(encode(b.Input))
	}
	return map[string]any{
		"type": "function_call", "id": m.itemID(i), "call_id": fmt.Sprintf("call_%s_%d", m.id, i), "name": b.Tool,
		"arguments": args, "status": status,
	}
}

func (responses) frame(e map[string]any) string { return named(e) }

func (responses) fault(r Reply) map[string]any { return openaiFault(r) }

func (responses) faultEvent(r Reply) map[string]any {
	return map[string]any{"type": "error", "code": kindOfReply(r), "message": r.Message, "param": nil, "sequence_number": 9}
}

func openaiFault(r Reply) map[string]any {
	return map[string]any{"error": map[string]any{"type": kindOfReply(r), "message": r.Message, "param": nil, "code": nil}}
}

func kindOfReply(r Reply) string { return either(r.Kind, kindOf(r.Status)) }

// chat is the OpenAI Chat Completions API.
type chat struct{}

func (chat) parse(_ *http.Request, body []byte) (Request, int, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, 0, fmt.Errorf("reading a request: %w", err)
	}
	req, turns := Request{Model: in.Model, Stream: in.Stream, Raw: body}, 0
	for _, m := range in.Messages {
		req.Last = words(m.Content)
		switch m.Role {
		case "assistant":
			turns++
		case "system", "developer":
			req.System += req.Last
		case "user":
			req.First = either(req.First, req.Last)
		}
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, t.Function.Name)
	}
	return req, turns, nil
}

func (c chat) events(m message) []map[string]any {
	chunk := func(delta map[string]any, finish any) map[string]any {
		return map[string]any{
			"id": m.id, "object": "chat.completion.chunk", "created": 1, "model": m.model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		}
	}
	out := []map[string]any{chunk(map[string]any{"role": "assistant", "content": ""}, nil)}
	for i, b := range m.reply.Blocks {
		switch b.Type {
		case "text":
			out = append(out, chunk(map[string]any{"content": b.Text}, nil))
		case "tool_use":
			call := m.toolCall(i, b)
			call["index"] = i
			out = append(out, chunk(map[string]any{"tool_calls": []any{call}}, nil))
		}
	}
	out = append(out, chunk(map[string]any{}, m.finish()))
	if !m.reply.NoUsage {
		last := chunk(nil, nil)
		last["choices"], last["usage"] = []any{}, m.chatUsage()
		out = append(out, last)
	}
	return append(out, nil) // [DONE]
}

func (m message) finish() string {
	if calls(m.reply) {
		return "tool_calls"
	}
	return either(m.reply.Stop, "stop")
}

func (m message) toolCall(i int, b Block) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("call_%s_%d", m.id, i), "type": "function",
		"function": map[string]any{"name": b.Tool, "arguments": string(encode(b.Input))},
	}
}

func (m message) chatUsage() map[string]any {
	u := m.reply.Usage
	return map[string]any{
		"prompt_tokens": u.Input + u.CacheRead + u.CacheWrite, "completion_tokens": u.Output, "total_tokens": u.Total(),
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
}

func (chat) whole(m message) map[string]any {
	said := map[string]any{"role": "assistant", "content": nil}
	var list []any
	for i, b := range m.reply.Blocks {
		switch b.Type {
		case "text":
			said["content"] = b.Text
		case "tool_use":
			list = append(list, m.toolCall(i, b))
		}
	}
	if list != nil {
		said["tool_calls"] = list
	}
	out := map[string]any{
		"id": m.id, "object": "chat.completion", "created": 1, "model": m.model,
		"choices": []any{map[string]any{"index": 0, "message": said, "finish_reason": m.finish()}},
	}
	if !m.reply.NoUsage {
		out["usage"] = m.chatUsage()
	}
	return out
}

func (chat) frame(e map[string]any) string {
	if e == nil {
		return "data: [DONE]\n\n"
	}
	return unnamed(e)
}

func (chat) fault(r Reply) map[string]any      { return openaiFault(r) }
func (chat) faultEvent(r Reply) map[string]any { return openaiFault(r) }
