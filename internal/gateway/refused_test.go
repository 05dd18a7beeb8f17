package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/testkit/model"
)

// TestRefusalsAreTold: the account tells a reply that declines, whichever the
// API, streamed or whole.
func TestRefusalsAreTold(t *testing.T) {
	for _, tt := range []struct{ provider, path, body, stop string }{
		{"anthropic", "/v1/messages", `{"model":"claude-sonnet-4-5","stream":true,"messages":[]}`, "refusal"},
		{"anthropic", "/v1/messages", `{"model":"claude-sonnet-4-5","messages":[]}`, "refusal"},
		{"openai", "/v1/responses", `{"model":"gpt-5.2","stream":true,"input":"x"}`, "content_filter"},
		{"openai", "/v1/responses", `{"model":"gpt-5.2","input":"x"}`, "content_filter"},
		{"openai", "/v1/chat/completions", `{"model":"gpt-5.2","stream":true,"messages":[]}`, "content_filter"},
		{"openai", "/v1/chat/completions", `{"model":"gpt-5.2","messages":[]}`, "content_filter"},
		{"gemini", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", `{"contents":[]}`, "SAFETY"},
		{"gemini", "/v1beta/models/gemini-2.5-pro:generateContent", `{"contents":[]}`, "SAFETY"},
	} {
		for _, stop := range []string{tt.stop, ""} {
			up := model.New(t, func(model.Request, int) model.Reply {
				r := model.Text("No.")
				r.Stop = stop
				return r
			})
			s, url := refusalSession(t, tt.provider, up.URL)
			post(t, url+tt.path, s.Token(), tt.body)
			if got := s.Calls(); got.Replies != 1 || got.Refused != (stop != "") {
				t.Errorf("%s %s, stop %q: %+v", tt.path, tt.body, stop, got)
			}
		}
	}
}

// TestHopelessCallsEnd: a model that never answers is asked three times; one
// that did is asked again.
func TestHopelessCallsEnd(t *testing.T) {
	body := `{"model":"claude-sonnet-4-5","messages":[]}`
	for _, answered := range []bool{false, true} {
		up := model.New(t, func(req model.Request, _ int) model.Reply {
			if answered && req.Seq == 1 {
				return model.Text("Hi.")
			}
			return model.Status(500)
		})
		s, url := refusalSession(t, "anthropic", up.URL)
		last := 0
		for range 6 {
			last = post(t, url+"/v1/messages", s.Token(), body)
		}
		want, calls := http.StatusForbidden, 3
		if answered {
			want, calls = http.StatusInternalServerError, 6
		}
		if got := s.Calls(); last != want || got.Calls != calls || got.Last != 500 || up.Served().Calls != calls {
			t.Errorf("answered %v: the last status was %d; %+v", answered, last, got)
		}
	}
}

// refusalSession opens a session in front of an upstream.
func refusalSession(t *testing.T, provider, upstream string) (run.Session, string) {
	t.Helper()
	g, err := New(Config{Upstreams: map[string]Upstream{provider: {BaseURL: upstream, Key: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := g.Session(run.SessionSpec{Provider: provider})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv.URL
}

// post makes a call as a program does and reads the answer to its end.
func post(t *testing.T, url, token, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		req.Header.Set(name, token)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}
