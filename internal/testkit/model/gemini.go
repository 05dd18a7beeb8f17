package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// gemini is Google's generateContent API. It reads names of members in both
// of the forms that the API takes: functionCall and function_call.
type gemini struct{}

type geminiContent struct {
	Role  string `json:"role"`
	Parts []struct {
		Text     string `json:"text"`
		Response *struct {
			Response json.RawMessage `json:"response"`
		} `json:"functionResponse"`
		Snake *struct {
			Response json.RawMessage `json:"response"`
		} `json:"function_response"`
	} `json:"parts"`
}

type geminiTool struct {
	Name string `json:"name"`
}

func (c geminiContent) words() string {
	var out []string
	for _, p := range c.Parts {
		if p.Text != "" {
			out = append(out, p.Text)
		}
		if p.Response != nil {
			out = append(out, string(p.Response.Response))
		}
		if p.Snake != nil {
			out = append(out, string(p.Snake.Response))
		}
	}
	return strings.Join(out, "\n")
}

func (gemini) parse(r *http.Request, body []byte) (Request, int, error) {
	var in struct {
		Contents []geminiContent `json:"contents"`
		System   geminiContent   `json:"systemInstruction"`
		Snake    geminiContent   `json:"system_instruction"`
		Tools    []struct {
			Functions []geminiTool `json:"functionDeclarations"`
			Snake     []geminiTool `json:"function_declarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, 0, fmt.Errorf("reading a request: %w", err)
	}
	name, method, _ := strings.Cut(path.Base(r.URL.Path), ":")
	req := Request{Model: name, Stream: strings.HasPrefix(method, "stream"), System: in.System.words() + in.Snake.words(), Raw: body}
	turns := 0
	for _, c := range in.Contents {
		req.Last = c.words()
		switch {
		case c.Role == "model":
			turns++
		case turns == 0:
			req.First += req.Last + "\n"
		}
	}
	for _, t := range in.Tools {
		for _, f := range append(t.Functions, t.Snake...) {
			req.Tools = append(req.Tools, f.Name)
		}
	}
	return req, turns, nil
}

// events is one piece per block; each tells the figures so far, the last one
// why it ends.
func (gemini) events(m message) []map[string]any {
	out := make([]map[string]any, 0, len(m.reply.Blocks)+1)
	for _, b := range m.reply.Blocks {
		out = append(out, m.piece([]any{geminiPart(b)}, ""))
	}
	return append(out, m.piece([]any{map[string]any{"text": ""}}, either(m.reply.Stop, "STOP")))
}

func (gemini) whole(m message) map[string]any {
	parts := []any{}
	for _, b := range m.reply.Blocks {
		parts = append(parts, geminiPart(b))
	}
	return m.piece(parts, either(m.reply.Stop, "STOP"))
}

func geminiPart(b Block) map[string]any {
	switch b.Type {
	case "text":
		return map[string]any{"text": b.Text}
	case "thinking":
		return map[string]any{"text": b.Text, "thought": true}
	}
	return map[string]any{"functionCall": map[string]any{"name": b.Tool, "args": b.Input}}
}

func (m message) piece(parts []any, finish string) map[string]any {
	u := m.reply.Usage
	one := map[string]any{"content": map[string]any{"role": "model", "parts": parts}, "index": 0}
	if finish != "" {
		one["finishReason"] = finish
	}
	out := map[string]any{"candidates": []any{one}, "modelVersion": m.model, "responseId": m.id}
	if !m.reply.NoUsage {
		out["usageMetadata"] = geminiUsage(u, finish != "")
	}
	return out
}

func geminiUsage(u assay.Tokens, last bool) map[string]any {
	answer, thoughts := u.Output-u.Reasoning, u.Reasoning
	if !last {
		answer, thoughts = 1, 0
	}
	prompt := u.Input + u.CacheRead + u.CacheWrite
	return map[string]any{
		"promptTokenCount": prompt, "cachedContentTokenCount": u.CacheRead, "candidatesTokenCount": answer,
		"thoughtsTokenCount": thoughts, "totalTokenCount": prompt + answer + thoughts,
	}
}

func (gemini) frame(e map[string]any) string { return unnamed(e) }

func (gemini) fault(r Reply) map[string]any {
	code := r.Status
	if code == 0 {
		code = http.StatusInternalServerError
	}
	return map[string]any{"error": map[string]any{"code": code, "message": r.Message, "status": either(r.Kind, geminiStatus(code))}}
}

func (g gemini) faultEvent(r Reply) map[string]any { return g.fault(r) }

func geminiStatus(code int) string {
	kinds := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
	return either(kinds[code], "INTERNAL")
}
