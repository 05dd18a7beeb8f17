package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// openai is the API that OpenAI and many others speak: Responses and Chat
// Completions.
type openai struct{}

func (openai) name() string { return "openai" }
func (openai) base() string { return "https://api.openai.com/v1" }

// place follows the custom of this API's own tools: the base URL ends with
// the version. A bare host gets it.
func (openai) place(base *url.URL, asked string) string {
	path := strings.TrimRight(base.Path, "/")
	if path == "" {
		path = "/v1"
	}
	return path + strings.TrimPrefix(asked, "/v1")
}

func (openai) route(r *http.Request) route {
	if r.Method != http.MethodPost {
		return routeRefuse
	}
	switch r.URL.Path {
	case "/v1/responses", "/v1/chat/completions", "/v1/responses/compact":
		return routeCall
	case "/v1/responses/input_tokens":
		return routePlain
	}
	return routeRefuse
}

func (openai) token(h http.Header) string { return bearer(h) }

func (openai) authorise(h http.Header, _ url.Values, u Upstream) {
	h.Del("Authorization")
	h.Del("Api-Key")
	switch {
	case u.Key == "":
	case u.KeyHeader != "" && !strings.EqualFold(u.KeyHeader, "authorization"):
		h.Set(u.KeyHeader, u.Key)
	default:
		h.Set("Authorization", "Bearer "+u.Key)
	}
}

func (openai) asked(_ *http.Request, body []byte) string { return modelOf(body) }

func (openai) failure(status int, text string) []byte {
	return marshal(map[string]any{"error": openaiFault(status, text)}, `{"error":{}}`)
}

// event is an error for both forms of stream: one looks for the type, the
// other for the member "error".
func (openai) event(status int, text string) []byte {
	e := openaiFault(status, text)
	data := marshal(map[string]any{"type": "error", "code": e["type"], "message": text, "param": nil, "error": e}, `{"type":"error"}`)
	return []byte("event: error\ndata: " + string(data) + "\n\n")
}

func openaiFault(status int, text string) map[string]any {
	return map[string]any{"message": text, "type": openaiKind(status), "param": nil, "code": nil}
}

func openaiKind(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= http.StatusInternalServerError || status == 0:
		return "server_error"
	}
	return "invalid_request_error"
}

// openaiError is an error as answers and streams tell it; Code may be a
// number with some upstreams.
type openaiError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    any    `json:"code"`
}

// api is the error as the account keeps it. status is 0 where it must be
// known from the kind.
func (e openaiError) api(status int) assay.APIError {
	out := assay.APIError{Status: status, Kind: e.Type, Message: e.Message, Count: 1}
	code, named := e.Code.(string)
	if number, ok := e.Code.(float64); ok && status == 0 && number >= 400 && number < 600 {
		out.Status = int(number)
	}
	if named && code != "" {
		out.Kind = code
	}
	if out.Status == 0 {
		out.Status = openaiStatus(out.Kind)
	}
	if out.Kind == "" {
		out.Kind = openaiKind(out.Status)
	}
	return out
}

func openaiStatus(kind string) int {
	switch {
	case strings.Contains(kind, "rate_limit"), kind == "insufficient_quota":
		return http.StatusTooManyRequests
	case strings.Contains(kind, "invalid"), strings.HasPrefix(kind, "context_length"):
		return http.StatusBadRequest
	case strings.Contains(kind, "overloaded"):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func (openai) apiError(status int, body []byte) assay.APIError {
	var in struct {
		Error openaiError `json:"error"`
	}
	if json.Unmarshal(body, &in) != nil || in.Error.Message+in.Error.Type == "" {
		return assay.APIError{Status: status, Kind: openaiKind(status), Message: strings.TrimSpace(string(body)), Count: 1}
	}
	return in.Error.api(status)
}

func (openai) meter(stream bool) meter {
	if stream {
		return &openaiStream{}
	}
	return &wholeBody{read: openaiBody}
}

// openaiUsage has the names of both APIs. Input includes what came from a
// cache, output includes reasoning.
type openaiUsage struct {
	Input  int64 `json:"input_tokens"`
	Prompt int64 `json:"prompt_tokens"`
	Output int64 `json:"output_tokens"`
	Answer int64 `json:"completion_tokens"`
	detail openaiDetail
}

type openaiDetail struct {
	Cached    int64 `json:"cached_tokens"`
	Written   int64 `json:"cache_write_tokens"`
	Reasoning int64 `json:"reasoning_tokens"`
}

// UnmarshalJSON reads the details under either name.
func (u *openaiUsage) UnmarshalJSON(data []byte) error {
	type plain openaiUsage
	var in struct {
		plain
		Input  openaiDetail `json:"input_tokens_details"`
		Prompt openaiDetail `json:"prompt_tokens_details"`
		Output openaiDetail `json:"output_tokens_details"`
		Answer openaiDetail `json:"completion_tokens_details"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*u = openaiUsage(in.plain)
	u.detail = openaiDetail{
		Cached: max(in.Input.Cached, in.Prompt.Cached), Written: max(in.Input.Written, in.Prompt.Written),
		Reasoning: max(in.Output.Reasoning, in.Answer.Reasoning),
	}
	return nil
}

func (u openaiUsage) tokens() assay.Tokens {
	prompt, output := max(0, u.Input, u.Prompt), max(0, u.Output, u.Answer)
	cached := min(max(0, u.detail.Cached), prompt)
	written := min(max(0, u.detail.Written), prompt-cached)
	return assay.Tokens{
		Input: prompt - cached - written, CacheRead: cached, CacheWrite: written,
		Output: output, Reasoning: min(max(0, u.detail.Reasoning), output),
	}
}

// openaiAnswer is a whole answer of either API, or the object within an
// event.
type openaiAnswer struct {
	Object  string       `json:"object"`
	Model   string       `json:"model"`
	Status  string       `json:"status"`
	Usage   *openaiUsage `json:"usage"`
	Error   *openaiError `json:"error"`
	Choices []struct {
		Finish *string         `json:"finish_reason"`
		Delta  json.RawMessage `json:"delta"`
	} `json:"choices"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// refused tells whether the answer was withheld.
func (a openaiAnswer) refused() bool {
	const filtered = "content_filter"
	for _, c := range a.Choices {
		if c.Finish != nil && *c.Finish == filtered {
			return true
		}
	}
	return a.Incomplete != nil && a.Incomplete.Reason == filtered
}

func (a openaiAnswer) finished() bool {
	for _, c := range a.Choices {
		if c.Finish != nil && *c.Finish != "" {
			return true
		}
	}
	return false
}

// openaiBody reads an answer that isn't streamed.
func openaiBody(data []byte) reading {
	var a openaiAnswer
	var r reading
	if json.Unmarshal(data, &a) != nil {
		return r
	}
	r.model, r.refused = a.Model, a.refused()
	if a.Usage != nil {
		r.tokens = a.Usage.tokens()
	}
	switch {
	case a.Error != nil && (a.Error.Message != "" || a.Error.Type != ""):
		e := a.Error.api(0)
		r.fault = &e
	case a.Object == "response":
		r.reply = a.Status != "failed" && a.Status != "cancelled"
	case a.Object == "response.compaction":
		r.reply = true
	default:
		r.reply = a.finished()
	}
	return r
}

// openaiStream meters server-sent events of either API.
type openaiStream struct {
	lines lines
	r     reading
}

func (s *openaiStream) Write(p []byte) (int, error) {
	s.lines.feed(p, s.line)
	return len(p), nil
}

func (s *openaiStream) result() reading { return s.r }

var (
	dataField  = []byte("data:")
	deltaEvent = []byte(`.delta"`)
)

func (s *openaiStream) line(line []byte) {
	data, ok := bytes.CutPrefix(line, dataField)
	if !ok {
		return
	}
	data = bytes.TrimSpace(data)
	if string(data) == "[DONE]" {
		s.r.reply = s.r.reply || s.r.closing
		return
	}
	if bytes.Contains(data[:min(len(data), 64)], deltaEvent) {
		s.r.text += framed(data)
		return
	}
	var e struct {
		Type     string       `json:"type"`
		Response openaiAnswer `json:"response"`
		openaiError
		openaiAnswer
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	if e.Type == "" || e.Type == "error" && e.Error != nil {
		s.chunk(e.openaiAnswer)
		return
	}
	if strings.HasSuffix(e.Type, ".delta") { // the type needn't stand first
		s.r.text += framed(data)
	}
	s.event(e.Type, e.Response, e.openaiError)
}

// event is one of the Responses API.
func (s *openaiStream) event(kind string, a openaiAnswer, e openaiError) {
	if a.Model != "" {
		s.r.model = a.Model
	}
	if a.Usage != nil {
		s.r.tokens = a.Usage.tokens()
	}
	s.r.refused = s.r.refused || a.refused()
	switch kind {
	case "response.completed", "response.incomplete", "response.done":
		s.r.reply = true
	case "response.failed":
		if a.Error == nil {
			a.Error = &openaiError{Type: "server_error"}
		}
		s.fault(*a.Error)
	case "error":
		e.Type = ""
		s.fault(e)
	}
}

// chunk is one of a chat's completion. Usage comes after the last word, in a
// chunk of its own.
func (s *openaiStream) chunk(a openaiAnswer) {
	if a.Error != nil {
		s.fault(*a.Error)
		return
	}
	if a.Model != "" {
		s.r.model = a.Model
	}
	if a.Usage != nil {
		s.r.tokens = a.Usage.tokens()
	}
	for _, c := range a.Choices {
		s.r.text += int64(max(0, len(c.Delta)-len(`{"content":""}`)))
	}
	s.r.closing = s.r.closing || a.finished()
	s.r.refused = s.r.refused || a.refused()
}

func (s *openaiStream) fault(e openaiError) {
	f := e.api(0)
	s.r.fault = &f
}
