package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// anthropic is the Messages API.
type anthropic struct{}

func (anthropic) name() string { return "anthropic" }
func (anthropic) base() string { return "https://api.anthropic.com" }

func (anthropic) place(base *url.URL, asked string) string { return base.Path + asked }

func (anthropic) route(r *http.Request) route {
	switch {
	case r.Method != http.MethodPost:
		return routeRefuse
	case r.URL.Path == "/v1/messages":
		return routeCall
	case r.URL.Path == "/v1/messages/count_tokens":
		return routePlain
	}
	return routeRefuse
}

func (anthropic) token(h http.Header) string {
	if k := h.Get("X-Api-Key"); k != "" {
		return k
	}
	return bearer(h)
}

func (anthropic) authorise(h http.Header, _ url.Values, u Upstream) {
	h.Del("X-Api-Key")
	h.Del("Authorization")
	switch {
	case u.Key == "":
	case strings.EqualFold(u.KeyHeader, "authorization"):
		h.Set("Authorization", "Bearer "+u.Key)
	case u.KeyHeader != "":
		h.Set(u.KeyHeader, u.Key)
	default:
		h.Set("X-Api-Key", u.Key)
	}
}

func (anthropic) asked(_ *http.Request, body []byte) string { return modelOf(body) }

func (anthropic) failure(status int, text string) []byte {
	return marshal(map[string]any{
		"type":  "error",
		"error": map[string]string{"type": anthropicKind(status), "message": text},
	}, `{"type":"error"}`)
}

func (a anthropic) event(status int, text string) []byte {
	return []byte("event: error\ndata: " + string(a.failure(status, text)) + "\n\n")
}

func (anthropic) apiError(status int, body []byte) assay.APIError {
	var in anthropicError
	out := assay.APIError{Status: status, Kind: anthropicKind(status), Count: 1}
	if json.Unmarshal(body, &in) == nil && in.Error.Type != "" {
		out.Kind, out.Message = in.Error.Type, in.Error.Message
		return out
	}
	out.Message = strings.TrimSpace(string(body))
	return out
}

type anthropicError struct {
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

func anthropicKind(status int) string {
	for _, k := range anthropicKinds {
		if k.status == status {
			return k.kind
		}
	}
	return "api_error"
}

func anthropicStatus(kind string) int {
	for _, k := range anthropicKinds {
		if k.kind == kind {
			return k.status
		}
	}
	return http.StatusInternalServerError
}

var anthropicKinds = []struct {
	status int
	kind   string
}{
	{400, "invalid_request_error"}, {401, "authentication_error"}, {402, "billing_error"},
	{403, "permission_error"}, {404, "not_found_error"}, {413, "request_too_large"},
	{429, "rate_limit_error"}, {500, "api_error"}, {504, "timeout_error"}, {529, "overloaded_error"},
}

func (anthropic) meter(stream bool) meter {
	if stream {
		return &anthropicStream{}
	}
	return &wholeBody{read: anthropicBody}
}

type anthropicUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	Output     int64 `json:"output_tokens"`
	Cache      struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// into takes the highest of each figure: a stream tells them more than once,
// and not all of them each time.
func (u anthropicUsage) into(r *reading) {
	t := &r.tokens
	t.Input = max(t.Input, u.Input)
	t.CacheWrite = max(t.CacheWrite, u.CacheWrite)
	t.CacheRead = max(t.CacheRead, u.CacheRead)
	t.Output = max(t.Output, u.Output)
	r.hour = max(r.hour, u.Cache.Hour)
}

type anthropicMessage struct {
	Type  string         `json:"type"`
	Model string         `json:"model"`
	Stop  string         `json:"stop_reason"`
	Usage anthropicUsage `json:"usage"`
}

// anthropicRefusal is why a reply ends that declines.
const anthropicRefusal = "refusal"

// anthropicBody reads an answer that isn't streamed.
func anthropicBody(data []byte) reading {
	var m anthropicMessage
	var r reading
	if json.Unmarshal(data, &m) != nil || m.Type != "message" {
		return r
	}
	r.model, r.reply, r.refused = m.Model, true, m.Stop == anthropicRefusal
	m.Usage.into(&r)
	return r
}

// anthropicStream meters server-sent events.
type anthropicStream struct {
	lines lines
	r     reading
}

func (s *anthropicStream) Write(p []byte) (int, error) {
	s.lines.feed(p, s.line)
	return len(p), nil
}

func (s *anthropicStream) result() reading { return s.r }

func (s *anthropicStream) line(line []byte) {
	data, ok := bytes.CutPrefix(line, dataField)
	if !ok {
		return
	}
	if !interesting(data) {
		s.r.text += framed(data)
		return
	}
	var e struct {
		Type    string           `json:"type"`
		Message anthropicMessage `json:"message"`
		Usage   anthropicUsage   `json:"usage"`
		Delta   anthropicMessage `json:"delta"`
		anthropicError
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "message_start":
		s.r.model = e.Message.Model
		e.Message.Usage.into(&s.r)
	case "message_delta":
		s.r.refused = e.Delta.Stop == anthropicRefusal
		e.Usage.into(&s.r)
	case "message_stop":
		s.r.reply = true
	case "error":
		kind := e.Error.Type
		s.r.fault = &assay.APIError{Status: anthropicStatus(kind), Kind: kind, Message: e.Error.Message, Count: 1}
	}
}

// interesting tells whether an event may be one that the meter reads; the
// many deltas of a text are not decoded.
func interesting(data []byte) bool {
	head := data[:min(len(data), 64)]
	return !bytes.Contains(head, []byte(`"content_block_delta"`)) && !bytes.Contains(head, []byte(`"ping"`))
}
