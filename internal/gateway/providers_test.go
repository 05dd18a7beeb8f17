package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/gateway"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/testkit/model"
)

// form is one wire form of a call, as a client makes it.
type form struct {
	name, provider, model string
	path, streamPath      string
	header, prefix        string // how the key is presented
	base                  string // what the upstream's base URL ends with
	cost                  float64
}

func forms() []form {
	return []form{
		{"responses", "openai", "gpt-5.2-2025-12-11", "/v1/responses", "/v1/responses", "Authorization", "Bearer ", "/v1", 0.00088025},
		{"chat", "openai", "gpt-5.2", "/v1/chat/completions", "/v1/chat/completions", "Authorization", "Bearer ", "", 0.00088025},
		{"gemini", "gemini", "gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro:generateContent",
			"/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "X-Goog-Api-Key", "", "", 0.00062875},
	}
}

func (f form) open(t *testing.T, upstream string) *bench {
	return open(t, upstream, func(c *gateway.Config, s *run.SessionSpec) {
		c.Upstreams = map[string]gateway.Upstream{f.provider: {BaseURL: upstream + f.base, Key: realKey}}
		s.Provider, s.Model = f.provider, f.model
	})
}

func (f form) request(ctx context.Context, b *bench, stream bool) *http.Request {
	body := map[string]string{
		"responses": `{"model":%q,"stream":%v,"input":[{"role":"user","content":"hi"}]}`,
		"chat":      `{"model":%q,"stream":%v,"messages":[{"role":"user","content":"hi"}]}`,
		"gemini":    `{"x":%q,"y":%v,"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
	}[f.name]
	path := f.path
	if stream {
		path = f.streamPath
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+path, strings.NewReader(fmt.Sprintf(body, f.model, stream)))
	if err != nil {
		panic(err)
	}
	req.Header.Set(f.header, f.prefix+b.Token())
	return req
}

// each runs a test for every form, streamed and not.
func each(t *testing.T, test func(t *testing.T, f form, stream bool)) {
	for _, f := range forms() {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s stream %v", f.name, stream), func(t *testing.T) { test(t, f, stream) })
		}
	}
}

func TestEveryFormIsCountedAndPriced(t *testing.T) {
	each(t, func(t *testing.T, f form, stream bool) {
		up := model.New(t, func(model.Request, int) model.Reply { return model.Text("hello").And(model.Bash("ls")) })
		b := f.open(t, up.URL)
		for range 2 {
			if code, got := do(t, f.request(t.Context(), b, stream)); code != 200 || !strings.Contains(got, "hello") {
				t.Fatalf("%d %s", code, got)
			}
		}
		want := assay.ModelCalls{
			Seen: true, Calls: 2, Replies: 2, Priced: true, Last: 200, CostUSD: 2 * f.cost,
			Tokens: assay.Tokens{Input: 200, CacheRead: 60, Output: 100, Reasoning: 10},
		}
		near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 })
		if d := cmp.Diff(want, b.Calls(), near); d != "" {
			t.Error(d)
		}
		if up.Served().Tokens != b.Calls().Tokens {
			t.Errorf("served %+v", up.Served())
		}
		for _, r := range up.Requests() {
			if r.Header.Get(f.header) != f.prefix+realKey || strings.Contains(fmt.Sprint(r.Header), b.Token()) || r.Stream != stream || r.Model != f.model {
				t.Errorf("the upstream saw %+v", r)
			}
		}
		if !strings.Contains(b.log.String(), `"model":"`+f.model+`"`) {
			t.Errorf("log %s", b.log.String())
		}
	})
}

func TestEveryFormPassesErrors(t *testing.T) {
	each(t, func(t *testing.T, f form, stream bool) {
		for _, code := range []int{400, 401, 429, 500, 503} {
			b := f.open(t, model.New(t, func(model.Request, int) model.Reply { return model.Status(code) }).URL)
			got, text := do(t, f.request(t.Context(), b, stream))
			c := b.Calls()
			if got != code || !strings.Contains(text, "scripted") || c.Replies != 0 || c.Last != code || len(c.Errors) != 1 ||
				c.Errors[0].Kind == "" || !strings.Contains(c.Errors[0].Message, "scripted") || c.Estimated || c.Tokens.Total() != 0 {
				t.Errorf("%d: %d %s %+v", code, got, text, c)
			}
		}
	})
}

func TestEveryFormRefusesStrangers(t *testing.T) {
	each(t, func(t *testing.T, f form, stream bool) {
		up := model.New(t, model.Mode("ok"))
		b := f.open(t, up.URL)
		req := f.request(t.Context(), b, stream)
		req.Header.Set(f.header, "wrong")
		req.URL.RawQuery += "&key=" + b.Token() // a key belongs into a header
		if code, got := do(t, req); code != 401 || !strings.Contains(got, "token of this trial") {
			t.Errorf("%d %s", code, got)
		}
		if up.Served().Calls != 0 {
			t.Error("the upstream was asked")
		}
	})
}

func TestKeysInTheQueryAreDropped(t *testing.T) {
	f := forms()[2]
	up := model.New(t, model.Mode("ok"))
	b := f.open(t, up.URL)
	req := f.request(t.Context(), b, true)
	req.URL.RawQuery = "alt=sse&key=" + b.Token()
	if code, _ := do(t, req); code != 200 {
		t.Fatal(code)
	}
	if q := up.Requests()[0].Query; q != "alt=sse" || strings.Contains(b.log.String(), b.Token()) {
		t.Errorf("query %q, log %s", q, b.log.String())
	}
}

func TestStreamsThatBreak(t *testing.T) {
	for _, f := range forms() {
		for _, broken := range []struct {
			reply  model.Reply
			status int
		}{
			{model.Reply{Blocks: model.Text(strings.Repeat("many words ", 100)).Blocks, CutAfter: 4}, 0},
			{model.Reply{Blocks: model.Text("x").Blocks, ErrorAfter: 1, Kind: "overloaded_error", Message: "scripted"}, 0},
		} {
			if f.name != "responses" && broken.reply.CutAfter > 0 {
				broken.reply.CutAfter = 1
			}
			b := f.open(t, model.New(t, model.Replies(broken.reply)).URL)
			_, got := do(t, f.request(t.Context(), b, true))
			c := b.Calls()
			if c.Replies != 0 || len(c.Errors) != 1 || !strings.Contains(got, `"error"`) {
				t.Errorf("%s: %s\n%+v", f.name, got, c)
			}
			if broken.reply.ErrorAfter > 0 && (c.Last < 500 || !strings.Contains(c.Errors[0].Message, "scripted")) {
				t.Errorf("%s: %+v", f.name, c)
			}
			if f.name == "responses" && broken.reply.CutAfter > 0 && (!c.Estimated || c.Tokens.Output < 100 || c.Tokens.Input == 0) {
				t.Errorf("%s: nothing is estimated: %+v", f.name, c)
			}
		}
	}
}

func TestTokensAreEstimatedWhereNobodyTells(t *testing.T) {
	each(t, func(t *testing.T, f form, stream bool) {
		if f.name == "responses" {
			return // it always tells
		}
		reply := model.Text(strings.Repeat("word ", 80))
		reply.NoUsage = true
		b := f.open(t, model.New(t, model.Replies(reply)).URL)
		do(t, f.request(t.Context(), b, stream))
		c := b.Calls()
		if !c.Estimated || c.Replies != 1 || c.Tokens.Input == 0 || c.Tokens.Output < 50 || c.Tokens.Output > 200 || c.CostUSD == 0 {
			t.Errorf("%+v", c)
		}
		if !strings.Contains(b.log.String(), `"estimated":true`) {
			t.Error(b.log.String())
		}
	})
}

func TestPathsOfTheOtherProviders(t *testing.T) {
	for _, tt := range []struct {
		form         int
		method, path string
		want         int
	}{
		{0, "GET", "/v1/models", 404}, {0, "POST", "/v1/files", 404}, {0, "POST", "/v1/responses/input_tokens", 200},
		{2, "POST", "/v1beta/models/m:embedContent", 404}, {2, "POST", "/v1beta/models/m:countTokens", 200},
		{2, "GET", "/v1beta/models", 404}, {2, "POST", "/v1beta/models/../x:generateContent", 404}, {2, "POST", "/v1beta/cachedContents", 404},
	} {
		f := forms()[tt.form]
		b := f.open(t, model.New(t, model.Mode("ok")).URL)
		req := f.request(t.Context(), b, false)
		req.Method, req.URL.Path = tt.method, tt.path
		if code, got := do(t, req); code != tt.want || b.Calls().Calls != 0 {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, code, got)
		}
	}
}

func TestErrorsWithinAnswers(t *testing.T) {
	for _, tt := range []struct {
		form   int
		body   string
		stream bool
		status int
		kind   string
	}{
		{0, `data: {"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow"}}}`, true, 429, "rate_limit_exceeded"},
		{0, `data: {"type":"error","code":"server_error","message":"no"}`, true, 500, "server_error"},
		{1, `data: {"error":{"code":502,"message":"upstream"}}`, true, 502, "server_error"},
		{2, `data: {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`, true, 503, "UNAVAILABLE"},
		{2, `[{"candidates":[{"content":{}}],"usageMetadata":{"promptTokenCount":3}}]`, false, 200, "no_reply"},
		{0, `{"object":"response","status":"failed","error":{"code":"server_error","message":"x"}}`, false, 200, "no_reply"},
	} {
		url := upstreamFunc(t, func(w http.ResponseWriter, _ *http.Request) {
			if tt.stream {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			_, _ = fmt.Fprint(w, tt.body+"\n\n")
		})
		f := forms()[tt.form]
		b := f.open(t, url)
		do(t, f.request(t.Context(), b, tt.stream))
		c := b.Calls()
		if c.Replies != 0 || c.Last != tt.status || len(c.Errors) != 1 || c.Errors[0].Kind != tt.kind {
			t.Errorf("%s: %+v", tt.body, c)
		}
	}
}

func TestBlockedPromptIsAReply(t *testing.T) {
	url := upstreamFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":9}}`)
	})
	f := forms()[2]
	b := f.open(t, url)
	do(t, f.request(t.Context(), b, false))
	if c := b.Calls(); c.Replies != 1 || c.Tokens.Input != 9 {
		t.Errorf("%+v", c)
	}
}
