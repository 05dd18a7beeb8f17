package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// gemini is Google's Gemini API: generateContent and its stream.
type gemini struct{}

func (gemini) name() string { return "gemini" }
func (gemini) base() string { return "https://generativelanguage.googleapis.com" }

func (gemini) place(base *url.URL, asked string) string { return base.Path + asked }

func (gemini) route(r *http.Request) route {
	model, method := geminiCall(r.URL.Path)
	if r.Method != http.MethodPost || model == "" {
		return routeRefuse
	}
	switch method {
	case "generateContent", "streamGenerateContent":
		return routeCall
	case "countTokens":
		return routePlain
	}
	return routeRefuse
}

// geminiCall takes a path such as /v1beta/models/gemini-2.5-pro:countTokens
// apart.
func geminiCall(path string) (model, method string) {
	for _, version := range []string{"/v1beta/models/", "/v1alpha/models/", "/v1/models/"} {
		if rest, ok := strings.CutPrefix(path, version); ok {
			model, method, _ = strings.Cut(rest, ":")
			if strings.ContainsAny(model+method, "/?#") {
				return "", ""
			}
			return model, method
		}
	}
	return "", ""
}

// token is never looked for in the query, where it would end up in logs.
func (gemini) token(h http.Header) string {
	if k := h.Get("X-Goog-Api-Key"); k != "" {
		return k
	}
	return bearer(h)
}

func (gemini) authorise(h http.Header, query url.Values, u Upstream) {
	h.Del("X-Goog-Api-Key")
	h.Del("Authorization")
	for _, name := range []string{"key", "access_token", "api_key"} {
		query.Del(name)
	}
	switch {
	case u.Key == "":
	case strings.EqualFold(u.KeyHeader, "authorization"):
		h.Set("Authorization", "Bearer "+u.Key)
	case u.KeyHeader != "":
		h.Set(u.KeyHeader, u.Key)
	default:
		h.Set("X-Goog-Api-Key", u.Key)
	}
}

func (gemini) asked(r *http.Request, _ []byte) string {
	model, _ := geminiCall(r.URL.Path)
	return model
}

func (gemini) failure(status int, text string) []byte {
	return marshal(map[string]any{
		"error": map[string]any{"code": status, "message": text, "status": geminiKind(status)},
	}, `{"error":{}}`)
}

func (g gemini) event(status int, text string) []byte {
	return []byte("data: " + string(g.failure(status, text)) + "\n\n")
}

func geminiKind(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	}
	return "INTERNAL"
}

type geminiError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
}

func (gemini) apiError(status int, body []byte) assay.APIError {
	out := assay.APIError{Status: status, Kind: geminiKind(status), Message: strings.TrimSpace(string(body)), Count: 1}
	var in geminiChunk
	if json.Unmarshal(unlisted(body), &in) == nil && in.Error != nil {
		out.Message = in.Error.Message
		if in.Error.Status != "" {
			out.Kind = in.Error.Status
		}
	}
	return out
}

// unlisted is the first item where the body is a list: streams without
// server-sent events, and errors of some versions.
func unlisted(body []byte) []byte {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		return list[0]
	}
	return body
}

func (gemini) meter(stream bool) meter {
	if stream {
		return &geminiStream{}
	}
	return &wholeBody{read: geminiBody}
}

// geminiUsage: the prompt includes what came from a cache; thoughts are no
// part of the candidates.
type geminiUsage struct {
	Prompt     int64 `json:"promptTokenCount"`
	Tool       int64 `json:"toolUsePromptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
}

func (u geminiUsage) tokens() assay.Tokens {
	prompt, thoughts := max(0, u.Prompt)+max(0, u.Tool), max(0, u.Thoughts)
	cached := min(max(0, u.Cached), prompt)
	return assay.Tokens{
		Input: prompt - cached, CacheRead: cached,
		Output: max(0, u.Candidates) + thoughts, Reasoning: thoughts,
	}
}

// geminiChunk is an answer, or a piece of one.
type geminiChunk struct {
	Model      string       `json:"modelVersion"`
	Usage      *geminiUsage `json:"usageMetadata"`
	Error      *geminiError `json:"error"`
	Candidates []struct {
		Finish  string          `json:"finishReason"`
		Content json.RawMessage `json:"content"`
	} `json:"candidates"`
	Feedback struct {
		Block string `json:"blockReason"`
	} `json:"promptFeedback"`
}

// into adds a piece to a reading. Every piece tells the figures so far.
func (c geminiChunk) into(r *reading) {
	if c.Model != "" {
		r.model = c.Model
	}
	if c.Usage != nil {
		r.tokens = c.Usage.tokens()
	}
	if c.Error != nil {
		status, kind := c.Error.Code, c.Error.Status
		if kind == "" {
			kind = geminiKind(status)
		}
		r.fault = &assay.APIError{Status: status, Kind: kind, Message: c.Error.Message, Count: 1}
	}
	for _, one := range c.Candidates {
		r.closing = r.closing || one.Finish != ""
		r.refused = r.refused || geminiRefusal(one.Finish)
		r.text += int64(max(0, len(one.Content)-len(`{"parts":[{"text":""}],"role":"model"}`)))
	}
	r.closing = r.closing || c.Feedback.Block != ""
	r.refused = r.refused || c.Feedback.Block != ""
}

func geminiRefusal(finish string) bool {
	switch finish {
	case "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII":
		return true
	}
	return false
}

// geminiBody reads an answer in one piece: an object or a list of pieces.
func geminiBody(data []byte) reading {
	var r reading
	var list []geminiChunk
	if json.Unmarshal(data, &list) != nil {
		list = make([]geminiChunk, 1)
		if json.Unmarshal(data, &list[0]) != nil {
			return r
		}
	}
	for _, c := range list {
		c.into(&r)
	}
	r.reply = r.closing && r.fault == nil
	return r
}

// geminiStream meters server-sent events. No event says that it is the last
// one: the answer is whole when it ends after a reason to finish.
type geminiStream struct {
	lines lines
	r     reading
}

func (s *geminiStream) Write(p []byte) (int, error) {
	s.lines.feed(p, s.line)
	return len(p), nil
}

func (s *geminiStream) result() reading { return s.r }

func (s *geminiStream) line(line []byte) {
	data, ok := bytes.CutPrefix(line, dataField)
	if !ok {
		return
	}
	var c geminiChunk
	if json.Unmarshal(data, &c) == nil {
		c.into(&s.r)
	}
}
