package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
)

// visitor is a browser without JavaScript that was let in.
type visitor struct {
	t      *testing.T
	srv    *httptest.Server
	client *http.Client
}

func visit(t *testing.T, h http.Handler) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{t: t, srv: httptest.NewServer(h), client: &http.Client{Jar: jar}}
	t.Cleanup(v.srv.Close)
	if status, body := v.get("/?token=" + testToken); status != http.StatusOK {
		t.Fatalf("the token doesn't let in: %d %s", status, body)
	}
	return v
}

func (v *visitor) do(r *http.Request) (int, string) {
	v.t.Helper()
	res, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func (v *visitor) get(path string) (int, string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.srv.URL+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.do(r)
}

func (v *visitor) post(path string, form url.Values, headers ...string) (int, string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.srv.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", v.srv.URL)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return v.do(r)
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// form is the hidden fields of a page, as its forms send them.
func form(body string, more ...string) url.Values {
	out := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(body, -1) {
		out.Set(m[1], m[2])
	}
	for i := 0; i < len(more); i += 2 {
		out.Set(more[i], more[i+1])
	}
	return out
}

func reviews(t *testing.T, path string) []assay.Review {
	t.Helper()
	log, err := candidates.At(path).Reviews()
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestOnlyTheTokenLetsIn(t *testing.T) {
	desk, _ := sampleDesk(t, 1)
	h := Handler(desk, testToken)
	tests := []struct {
		name, target, host, cookie string
		want                       int
	}{
		{"nothing", "/", "127.0.0.1:1", "", http.StatusForbidden},
		{"wrong token", "/?token=x", "127.0.0.1:1", "", http.StatusForbidden},
		{"candidate", "/candidate?id=pull-1", "127.0.0.1:1", "", http.StatusForbidden},
		{"list", "/list", "localhost:1", "", http.StatusForbidden},
		{"the token is no cookie", "/list", "localhost:1", testToken, http.StatusForbidden},
		{"cookie", "/list", "localhost:1", newGuard(testToken).cookie, http.StatusOK},
		{"IPv6", "/list", "[::1]:80", newGuard(testToken).cookie, http.StatusOK},
		{"token", "/?token=" + testToken, "127.0.0.1:1", "", http.StatusOK},
		{"foreign host with token", "/?token=" + testToken, "evil.example:1", "", http.StatusForbidden},
		{"rebound host with cookie", "/list", "evil.example", newGuard(testToken).cookie, http.StatusForbidden},
		{"lookalike host", "/list", "127.0.0.1.evil.example", newGuard(testToken).cookie, http.StatusForbidden},
		{"other machine", "/list", "192.168.1.4:80", newGuard(testToken).cookie, http.StatusForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, tt.target, nil)
			r.Host = tt.host
			if tt.cookie != "" {
				r.AddCookie(&http.Cookie{Name: newGuard(testToken).name, Value: tt.cookie})
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("got %d, want %d", w.Code, tt.want)
			}
			if w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), "final newline") {
				t.Error("a stranger sees a candidate")
			}
			if csp := w.Header().Get("Content-Security-Policy"); csp != policy || strings.Contains(csp, "unsafe") {
				t.Errorf("policy %q", csp)
			}
			for _, c := range w.Result().Cookies() {
				if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Value == testToken {
					t.Errorf("cookie %+v", c)
				}
			}
		})
	}
}

func TestOnlyItsOwnFormsDecide(t *testing.T) {
	desk, path := sampleDesk(t, 2)
	v := visit(t, Handler(desk, testToken))
	_, body := v.get("/")
	good := form(body, "decision", "accept")
	bad := form(body, "decision", "accept", "form", "guessed")
	tests := []struct {
		name    string
		form    url.Values
		headers []string
	}{
		{"no form token", bad, nil},
		{"foreign origin", good, []string{"Origin", "http://evil.example"}},
		{"origin of another port", good, []string{"Origin", "http://127.0.0.1:1"}},
		{"opaque origin", good, []string{"Origin", "null"}},
		{"cross-site", good, []string{"Sec-Fetch-Site", "cross-site"}},
		{"same-site", good, []string{"Sec-Fetch-Site", "same-site"}},
		{"no origin at all", good, []string{"Origin", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, to := range []string{"/decide", "/undo"} {
				if status, _ := v.post(to, tt.form, tt.headers...); status != http.StatusForbidden {
					t.Errorf("%s: got %d", to, status)
				}
			}
		})
	}
	if log := reviews(t, path); len(log) > 0 {
		t.Errorf("recorded %+v", log)
	}
	if status, _ := v.get("/decide?" + good.Encode()); status != http.StatusMethodNotAllowed {
		t.Errorf("a GET decides: %d", status)
	}
	if status, _ := v.post("/decide", form(body, "decision", "accept", "note", strings.Repeat("x", formLimit))); status != http.StatusBadRequest {
		t.Errorf("a huge form: %d", status)
	}
}

func TestPlainFormsDoEverything(t *testing.T) {
	desk, path := sampleDesk(t, 3)
	v := visit(t, Handler(desk, testToken))
	_, body := v.get("/")
	steps := []struct {
		to   string
		more []string
		want string // on the page that follows
	}{
		{"/decide", []string{"decision", "accept", "note", "good <one>"}, `data-id="pull-2"`},
		{"/decide", []string{"reason", "tests_miss_it"}, `data-id="pull-3"`},
		{"/undo", nil, `data-id="pull-2"`},
		{"/decide", []string{"decision", "skip"}, `data-id="pull-3"`},
		{"/decide", []string{"decision", "accept"}, "All decided"},
	}
	for i, s := range steps {
		var status int
		status, body = v.post(s.to, form(body, s.more...))
		if status != http.StatusOK || !strings.Contains(body, s.want) {
			t.Fatalf("step %d: %d, and no %s in\n%s", i, status, s.want, body)
		}
	}
	// The server dies; another one over the same file knows it all.
	v = visit(t, Handler(openDesk(t, path), testToken))
	if _, body = v.get("/"); !strings.Contains(body, "2 accepted, 0 rejected, 1 skipped") {
		t.Errorf("after a restart:\n%s", body)
	}
	_, body = v.get("/candidate?id=pull-1")
	for _, want := range []string{"ann@example.com", "good &lt;one&gt;", "1 Mar 2026 09:30"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page of a decided candidate lacks %q", want)
		}
	}
	if _, body = v.get("/list?show=skip"); !strings.Contains(body, "pull-2") || strings.Contains(body, "pull-1") {
		t.Error("the list of skipped ones isn't that")
	}
}

func TestADecisionOnAnOldStateIsRefused(t *testing.T) {
	desk, path := sampleDesk(t, 2)
	v := visit(t, Handler(desk, testToken))
	_, body := v.get("/")
	changeDigest(t, path, "pull-1")
	if status, text := v.post("/decide", form(body, "decision", "accept")); status != http.StatusConflict || !strings.Contains(text, "mined again") {
		t.Errorf("got %d %s", status, text)
	}
	status, text := v.post("/decide", form(body, "decision", "accept", "id", "nope"), "Accept", "application/json")
	if status != http.StatusNotFound || !strings.Contains(text, `"error"`) {
		t.Errorf("unknown: got %d %s", status, text)
	}
	if status, _ := v.post("/decide", form(body, "decision", "reject", "reason", "whim")); status != http.StatusBadRequest {
		t.Errorf("unknown reason: got %d", status)
	}
	if status, _ := v.post("/undo", form(body)); status != http.StatusConflict {
		t.Errorf("nothing to undo: got %d", status)
	}
	if log := reviews(t, path); len(log) > 0 {
		t.Errorf("recorded %+v", log)
	}
}

var attribute = regexp.MustCompile(`(value|data-id|data-digest)="[^"]*"`)

// hostile is text that wants to be more than text.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>` + "\u202eevil"

func TestForeignTextStaysText(t *testing.T) {
	desk, path := sampleDesk(t, 1)
	err := candidates.At(path).Update("test", func(all []assay.Candidate) ([]assay.Candidate, error) {
		c := all[0]
		c.ID, c.Title, c.Author, c.Language, c.MergeKind = hostile, hostile, hostile, hostile, hostile
		c.Source.URL, c.Source.Kind, c.Reason, c.Detail = "javascript:alert(1)", hostile, hostile, hostile
		c.Labels = []string{hostile}
		c.Statement.Title, c.Statement.Hints = hostile, hostile
		c.Statement.Body = hostile + "\n\n[a](javascript:alert(1)) [b](data:text/html,x) [c](/undo) <javascript:alert(1)> ![i](javascript:alert(1)) [d](https://ok.example/x)\n\n" + hostile
		c.Doubts = []assay.Confounder{{Kind: hostile, Evidence: hostile}}
		c.Links = []assay.Link{{Repo: hostile, Evidence: hostile, Text: hostile}}
		c.Files[0].Path, c.Files[0].Class = hostile, assay.ClassSource
		c.Validation = &assay.Validation{Status: hostile, Reason: hostile, Detail: hostile}
		return []assay.Candidate{c}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, Handler(desk, testToken))
	for _, page := range []string{"/", "/list", "/?q=" + url.QueryEscape("script"), "/list?q=" + url.QueryEscape(hostile), "/candidate?id=" + url.QueryEscape(hostile)} {
		status, body := v.get(page)
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", page, status, body)
		}
		// Values of attributes are sent back as they are; nobody reads them.
		if text := attribute.ReplaceAllString(body, ""); strings.Contains(text, "\u202e") {
			t.Errorf("%s shows text out of order: %s", page, text)
		}
		scripts := strings.Count(body, "<script")
		for _, bad := range []string{"<script>", "<img", "onerror=alert(1)>", `href="javascript:`, `href="data:`, `href="/undo"`} {
			if strings.Contains(body, bad) {
				t.Errorf("%s holds %q", page, bad)
			}
		}
		if scripts > 1 {
			t.Errorf("%s has %d scripts", page, scripts)
		}
	}
	if _, body := v.get("/"); !strings.Contains(body, `rel="noopener noreferrer nofollow" target="_blank" href="https://ok.example/x"`) {
		t.Error("a good link is lost")
	}
}

func TestServeEndsAndRefusesTheWorld(t *testing.T) {
	desk, _ := sampleDesk(t, 1)
	for _, listen := range []string{"0.0.0.0:0", ":8080", "192.168.1.2:80", "example.com:80"} {
		if err := Serve(t.Context(), Options{Desk: desk, Token: "t", Listen: listen}); !assay.IsUser(err) {
			t.Errorf("%s: %v", listen, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, Options{Desk: desk, Token: testToken, Ready: func(u string) { ready <- u }})
	}()
	res, err := http.Get(<-ready)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("got %s", res.Status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestDiffView(t *testing.T) {
	patch, err := sampleDiff{}.Diff(t.Context(), assay.Candidate{ID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	d := viewDiff(patch, nil, sample(1).Files)
	if len(d.Parts) != 3 || d.Parts[0].Name != "source" || d.Parts[1].Name != "test" || d.Text != "" {
		t.Fatalf("%+v", d)
	}
	src := d.Parts[0]
	if src.Added != 10 || src.Removed != 4 || src.Files[0].Folded {
		t.Errorf("source: +%d -%d, folded %v", src.Added, src.Removed, src.Files[0].Folded)
	}
	if bin := d.Parts[1].Files[1]; !bin.Binary || bin.Note != "new" {
		t.Errorf("binary: %+v", bin)
	}
	if long := d.Parts[2].Files[0]; !long.Folded || long.Left != 0 {
		t.Errorf("long: folded %v, left out %d", long.Folded, long.Left)
	}
	many := fmt.Sprintf("diff --git a/m b/m\nnew file mode 100644\n--- /dev/null\n+++ b/m\n@@ -0,0 +1,%d @@\n%s", 2*fileLines, strings.Repeat("+"+strings.Repeat("é", lineBytes)+"\n", 2*fileLines))
	f := viewDiff([]byte(many), nil, nil).Parts[0].Files[0]
	if len(f.Lines) != fileLines || f.Left != fileLines+1 || len(f.Lines[9].Text) > lineBytes+8 {
		t.Errorf("%d lines, %d left out, the longest has %d bytes", len(f.Lines), f.Left, len(f.Lines[9].Text))
	}
	for _, v := range []diffView{viewDiff(nil, nil, nil), viewDiff(nil, errors.New("gone"), nil), viewDiff([]byte("diff --git a/x b/x\n@@ nonsense"), nil, nil)} {
		if v.Text == "" && len(v.Parts) == 0 {
			t.Errorf("nothing is said: %+v", v)
		}
	}
}

var allowedLink = regexp.MustCompile(`href="(https?:|mailto:)`)

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{hostile, statement(1), "[x](java\nscript:alert(1))", "<a href=javascript:x>y</a>", "![a](b \"c\")", "<!-- a --> b <!--", "www.example.com a@b.example", "[a]: javascript:x\n\n[a]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := string(markdown(text))
		for _, bad := range []string{"<script", "<img", "<iframe", "<style", "<form", "<object"} {
			if strings.Contains(strings.ToLower(out), bad) {
				t.Errorf("%q became %q", text, out)
			}
		}
		if strings.Count(out, "<a ") != len(allowedLink.FindAllString(out, -1)) {
			t.Errorf("%q has a link elsewhere: %q", text, out)
		}
	})
}

// The page shows how strong the tests are, and what validation left out.
func TestThePageShowsTheProof(t *testing.T) {
	c := sample(1)
	c.Validation.Dropped, c.Validation.BaseFailing = map[string]string{"t/slow.py": "it took more than 60s"}, []string{"t::old"}
	path := filepath.Join(t.TempDir(), "candidates.jsonl")
	if err := candidates.At(path).Save([]assay.Candidate{c}); err != nil {
		t.Fatal(err)
	}
	_, body := visit(t, Handler(openDesk(t, path), testToken)).get("/")
	for _, want := range []string{"75 %</b> strength", "tests notice 3 of 4 hunks", "1 test files dropped", "1 tests fail in the base"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
