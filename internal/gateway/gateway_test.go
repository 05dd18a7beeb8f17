package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/gateway"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/testkit/model"
)

const realKey = "sk-ant-the-real-key-0123456789"

// bench is a gateway with one session, behind a server of its own.
type bench struct {
	run.Session
	url string
	log *buffer
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func open(t *testing.T, upstream string, change func(*gateway.Config, *run.SessionSpec)) *bench {
	t.Helper()
	log := &buffer{}
	conf := gateway.Config{Upstreams: map[string]gateway.Upstream{"anthropic": {BaseURL: upstream, Key: realKey}}}
	spec := run.SessionSpec{Provider: "anthropic", Model: "claude-sonnet-4-5", Log: log}
	if change != nil {
		change(&conf, &spec)
	}
	g, err := gateway.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	s, err := g.Session(spec)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		srv.Close()
		if strings.Contains(log.String(), realKey) {
			t.Error("the log holds the real key")
		}
	})
	return &bench{Session: s, url: srv.URL, log: log}
}

func request(ctx context.Context, url, token string, stream bool) *http.Request {
	body := fmt.Sprintf(`{"model":"claude-sonnet-4-5-20250929","stream":%v,"messages":[{"role":"user","content":"hi"}]}`, stream)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/messages?beta=true", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("X-Api-Key", token)
	return req
}

// ask makes one call and reads it to its end.
func (b *bench) ask(t *testing.T, stream bool) (int, string) {
	t.Helper()
	return do(t, request(t.Context(), b.url, b.Token(), stream))
}

func do(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, string(data) + "\nread error: " + err.Error()
	}
	if strings.Contains(string(data), realKey) || strings.Contains(fmt.Sprint(resp.Header), realKey) {
		t.Errorf("the answer holds the real key: %s", data)
	}
	return resp.StatusCode, string(data)
}

func TestCallsAreCountedAndPriced(t *testing.T) {
	for _, stream := range []bool{true, false} {
		up := model.New(t, model.Replies(model.Text("hello")))
		b := open(t, up.URL, nil)
		for range 2 {
			if code, got := b.ask(t, stream); code != 200 || !strings.Contains(got, `"he`) {
				t.Fatalf("%d %s", code, got)
			}
		}
		want := assay.ModelCalls{
			Seen: true, Calls: 2, Replies: 2, Priced: true, Last: 200,
			Tokens:  assay.Tokens{Input: 200, CacheRead: 60, CacheWrite: 40, Output: 100},
			CostUSD: 0.002268, // what the program itself states for these calls
		}
		near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 })
		if d := cmp.Diff(want, b.Calls(), near); d != "" {
			t.Errorf("stream %v: %s", stream, d)
		}
		if up.Served().Tokens != b.Calls().Tokens {
			t.Error("served and counted tokens differ")
		}
		for _, r := range up.Requests() {
			if r.Header.Get("X-Api-Key") != realKey || r.Header.Get("Authorization") != "" || strings.Contains(fmt.Sprint(r.Header), b.Token()) {
				t.Errorf("the upstream saw %v", r.Header)
			}
		}
	}
}

func TestLogHasALinePerCall(t *testing.T) {
	up := model.New(t, model.Failing(1, model.Status(529), model.Mode("ok")))
	b := open(t, up.URL, nil)
	b.ask(t, true)
	b.ask(t, true)
	sc := bufio.NewScanner(strings.NewReader(b.log.String()))
	var got []map[string]any
	for sc.Scan() {
		var l map[string]any
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	if len(got) != 2 || got[0]["status"] != 529.0 || got[0]["error"] != "overloaded_error" || got[1]["reply"] != true ||
		got[1]["path"] != "/v1/messages" || got[1]["model"] != "claude-sonnet-4-5-20250929" || got[1]["cost_usd"] == 0.0 {
		t.Errorf("log: %v", got)
	}
}

func TestOnlyTheSessionsTokenOpens(t *testing.T) {
	up := model.New(t, model.Mode("ok"))
	b := open(t, up.URL, nil)
	for _, token := range []string{"", "x", realKey, b.Token() + "x"} {
		if code, got := do(t, request(t.Context(), b.url, token, false)); code != 401 || !strings.Contains(got, "authentication_error") {
			t.Errorf("%q: %d %s", token, code, got)
		}
	}
	req := request(t.Context(), b.url, "", false)
	req.Header.Set("Authorization", "Bearer "+b.Token())
	if code, _ := do(t, req); code != 200 {
		t.Errorf("bearer: %d", code)
	}
	if up.Served().Calls != 1 || b.Calls().Calls != 1 {
		t.Errorf("served %+v, calls %+v", up.Served(), b.Calls())
	}
}

func TestOtherPathsAreRefused(t *testing.T) {
	up := model.New(t, model.Mode("ok"))
	b := open(t, up.URL, nil)
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/v1/models", 404}, {"GET", "/", 404}, {"POST", "/v1/files", 404}, {"POST", "/v1/messages/../files", 404},
		{"POST", "/v1/messages/count_tokens", 200},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, b.url+c.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", b.Token())
		if code, got := do(t, req); code != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, got)
		}
	}
	if n := b.Calls().Calls; n != 0 {
		t.Errorf("%d calls counted", n)
	}
}

func TestErrorsPassThrough(t *testing.T) {
	for _, code := range []int{400, 401, 429, 500, 529} {
		up := model.New(t, model.Mode(fmt.Sprint(code)))
		b := open(t, up.URL, nil)
		b.ask(t, true)
		got, text := b.ask(t, true)
		calls := b.Calls()
		if got != code || !strings.Contains(text, "scripted") {
			t.Errorf("%d: got %d %s", code, got, text)
		}
		if calls.Calls != 2 || calls.Replies != 0 || calls.Last != code || !calls.Priced || len(calls.Errors) != 1 ||
			calls.Errors[0].Count != 2 || calls.Errors[0].Status != code || calls.Errors[0].Kind == "" {
			t.Errorf("%d: %+v", code, calls)
		}
	}
}

func TestNoUpstream(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	b := open(t, dead.URL, nil)
	code, got := b.ask(t, true)
	calls := b.Calls()
	if code != 502 || !json.Valid([]byte(got)) || calls.Last != 0 || calls.Replies != 0 || calls.Calls != 1 || calls.Errors[0].Kind != "connection" {
		t.Errorf("%d %s %+v", code, got, calls)
	}
}

func TestBudgetStopsFurtherCalls(t *testing.T) {
	up := model.New(t, model.Mode("ok"))
	b := open(t, up.URL, func(_ *gateway.Config, s *run.SessionSpec) { s.MaxCostUSD = 0.002 })
	codes := []int{}
	for range 4 {
		code, _ := b.ask(t, true)
		codes = append(codes, code)
	}
	if d := cmp.Diff([]int{200, 200, 403, 403}, codes); d != "" {
		t.Error(d)
	}
	if c := b.Calls(); !c.Budget || c.Calls != 2 || c.Last != 200 || up.Served().Calls != 2 {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(b.log.String(), `"budget"`) {
		t.Error("the refusal isn't logged")
	}
}

func TestUnknownModelIsNotPriced(t *testing.T) {
	up := model.New(t, model.Mode("ok"))
	b := open(t, up.URL, nil)
	req := request(t.Context(), b.url, b.Token(), false)
	body := `{"model":"nobody-1","messages":[]}`
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	do(t, req)
	if c := b.Calls(); c.Priced || c.CostUSD != 0 || c.Tokens.Input != 100 {
		t.Errorf("%+v", c)
	}
	priced := open(t, up.URL, func(c *gateway.Config, _ *run.SessionSpec) {
		c.Prices = map[string]gateway.Price{"claude-sonnet-4-5": {Output: 1e6}}
	})
	priced.ask(t, false)
	if c := priced.Calls(); !c.Priced || c.CostUSD != 50 {
		t.Errorf("%+v", c)
	}
}

// upstreamFunc is an upstream made of a handler.
func upstreamFunc(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestStreamPassesPieceByPiece(t *testing.T) {
	got := make(chan struct{})
	url := upstreamFunc(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = fmt.Fprint(w, "event: ping\ndata: {\"type\":\"ping\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-got: // only when the client has the first piece
		case <-r.Context().Done():
		}
		_, _ = fmt.Fprint(w, "data: {\"type\":\"message_stop\"}\n\n")
	})
	b := open(t, url, nil)
	resp, err := http.DefaultClient.Do(request(t.Context(), b.url, b.Token(), true))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	r := bufio.NewReader(resp.Body)
	if line, err := r.ReadString('\n'); err != nil || line != "event: ping\n" {
		t.Fatalf("%q %v", line, err)
	}
	close(got)
	if _, err := io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	if c := b.Calls(); c.Replies != 1 {
		t.Errorf("%+v", c)
	}
}

func TestFirstByteTimeout(t *testing.T) {
	up := model.New(t, model.Mode("hang"))
	b := open(t, up.URL, func(c *gateway.Config, _ *run.SessionSpec) { c.FirstByte = 10 * time.Millisecond })
	code, _ := b.ask(t, true)
	if c := b.Calls(); code != 504 || c.Last != 0 || c.Replies != 0 || c.Errors[0].Kind != "timeout" {
		t.Errorf("%d %+v", code, c)
	}
}

func TestClientLeaves(t *testing.T) {
	asked := make(chan struct{}, 1)
	up := model.New(t, model.Failing(1, model.Text("one"), func(model.Request, int) model.Reply {
		asked <- struct{}{}
		return model.Hang()
	}))
	b := open(t, up.URL, nil)
	b.ask(t, true)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if resp, err := http.DefaultClient.Do(request(ctx, b.url, b.Token(), true)); err == nil {
		_ = resp.Body.Close()
		t.Fatal("an answer to a call that was cancelled")
	}
	if err := b.Close(); err != nil { // waits for the call's end
		t.Fatal(err)
	}
	if c := b.Calls(); c.Calls != 2 || c.Replies != 1 || c.Last != 200 || c.Errors[0].Kind != "unanswered" {
		t.Errorf("%+v", c)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	asked := make(chan struct{})
	up := model.New(t, func(model.Request, int) model.Reply {
		close(asked)
		return model.Hang()
	})
	b := open(t, up.URL, nil)
	done := make(chan int, 1)
	go func() {
		code, _ := b.ask(t, true)
		done <- code
	}()
	<-asked
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if code := <-done; code != 503 {
		t.Errorf("status %d", code)
	}
	if code, _ := b.ask(t, true); code != 503 {
		t.Errorf("after the end: %d", code)
	}
}

func TestBrokenStreams(t *testing.T) {
	tests := []struct {
		name   string
		reply  model.Reply
		status int
		kind   string
	}{
		{"cut", model.Reply{Blocks: []model.Block{{Type: "text", Text: "x"}}, CutAfter: 2}, 0, "connection"},
		{"error event", model.Reply{ErrorAfter: 1, Kind: "overloaded_error"}, 529, "overloaded_error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			up := model.New(t, model.Replies(tt.reply))
			b := open(t, up.URL, nil)
			_, got := b.ask(t, true)
			c := b.Calls()
			if !strings.Contains(got, "event: error") || c.Last != tt.status || c.Replies != 0 || c.Errors[0].Kind != tt.kind || c.Tokens.Input != 100 {
				t.Errorf("%s\n%+v", got, c)
			}
		})
	}
}

func TestIdleStream(t *testing.T) {
	url := upstreamFunc(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":7}}}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	b := open(t, url, func(c *gateway.Config, _ *run.SessionSpec) { c.Idle = 20 * time.Millisecond })
	_, got := b.ask(t, true)
	if c := b.Calls(); !strings.Contains(got, "fell silent") || c.Last != 0 || c.Errors[0].Kind != "timeout" || c.Tokens.Input != 7 {
		t.Errorf("%s %+v", got, c)
	}
}

func TestCutOffBodyIsNoAnswer(t *testing.T) {
	url := upstreamFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = fmt.Fprint(w, `{"type":"message"`)
	})
	b := open(t, url, nil)
	code, got := b.ask(t, false)
	if c := b.Calls(); code != 502 || !json.Valid([]byte(got)) || c.Last != 0 || c.Replies != 0 || c.Errors[0].Kind != "connection" {
		t.Errorf("%d %s %+v", code, got, c)
	}
}

func TestErrorThatRepeatsTheKey(t *testing.T) {
	url := upstreamFunc(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("X-Api-Key"))
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, "invalid x-api-key %s", r.Header.Get("X-Api-Key"))
	})
	b := open(t, url, nil)
	code, got := b.ask(t, false) // do checks for the key
	if code != 401 || got != "invalid x-api-key [redacted]" {
		t.Errorf("%d %s", code, got)
	}
	if c := b.Calls(); strings.Contains(fmt.Sprint(c), realKey) || c.Errors[0].Kind != "authentication_error" {
		t.Errorf("%+v", c)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := upstreamFunc(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	url := upstreamFunc(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, http.StatusFound) })
	b := open(t, url, nil)
	if code, _ := b.ask(t, false); code != 502 {
		t.Errorf("status %d", code)
	}
}

func TestCompressedAnswer(t *testing.T) {
	url := upstreamFunc(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = fmt.Fprint(z, `{"type":"message","model":"claude-haiku-4-5","usage":{"input_tokens":5,"output_tokens":2}}`)
		_ = z.Close()
	})
	b := open(t, url+"/some/prefix/", nil)
	if code, got := b.ask(t, false); code != 200 || !json.Valid([]byte(got)) {
		t.Errorf("%d %q", code, got)
	}
	if c := b.Calls(); c.Tokens.Input != 5 || c.Replies != 1 || c.CostUSD != 15e-6 {
		t.Errorf("%+v", c)
	}
}

func TestAnswerWithoutAReply(t *testing.T) {
	url := upstreamFunc(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>sign in</html>") })
	b := open(t, url, nil)
	b.ask(t, false)
	if c := b.Calls(); c.Replies != 0 || c.Errors[0].Kind != "no_reply" || c.Last != 200 {
		t.Errorf("%+v", c)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	up := model.New(t, model.Mode("ok"))
	b := open(t, up.URL, nil)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { b.ask(t, true) })
	}
	wg.Wait()
	if c := b.Calls(); c.Calls != 16 || c.Replies != 16 || c.Tokens != up.Served().Tokens {
		t.Errorf("%+v", c)
	}
}

func TestNewTellsAllFaults(t *testing.T) {
	_, err := gateway.New(gateway.Config{
		CA: []byte("no certificate"),
		Upstreams: map[string]gateway.Upstream{
			"anthropic": {BaseURL: "https://user:pass@host"},
			"nobody":    {},
		},
	})
	if err == nil || !assay.IsUser(err) {
		t.Fatal(err)
	}
	for _, want := range []string{"CA file", "user name", `"nobody"`, "anthropic"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "pass@") {
		t.Errorf("%q holds the password", err)
	}
}

func TestCredentials(t *testing.T) {
	g, err := gateway.New(gateway.Config{Upstreams: map[string]gateway.Upstream{"anthropic": {}}})
	if err != nil {
		t.Fatal(err)
	}
	if g.Credentials()["anthropic"] {
		t.Error("neither key nor upstream, yet credentials")
	}
	if _, err := g.Session(run.SessionSpec{Provider: "openai"}); !assay.IsUser(err) {
		t.Error(err)
	}
}
