package github_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/testkit/github"
	"github.com/assaybot/assay/internal/testkit/github/contract"
)

// schemas is loaded once; the tests of this package share it.
var schemas contract.Loader

type client struct {
	t     *testing.T
	s     *github.Server
	token string
}

// do sends one request without following redirects.
func (c client) do(method, path string, body any, header ...string) (*http.Response, map[string]any) {
	c.t.Helper()
	data := []byte(nil)
	if body != nil {
		data, _ = json.Marshal(body)
	}
	req, err := http.NewRequest(method, c.s.URL+path, bytes.NewReader(data))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	h := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := h.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, _ := io.ReadAll(resp.Body)
	var out map[string]any
	_ = json.Unmarshal(raw, &out)
	return resp, out
}

// world is a server with a repository that has a bit of everything.
func world(t *testing.T) (client, *github.Repo) {
	s := github.New(t)
	r := s.Add("acme/shop")
	day := func(n int) time.Time { return time.Date(2025, 3, n, 0, 0, 0, 0, time.UTC) }
	issue := r.AddIssue(github.Issue{Thread: github.Thread{Title: "Crash", Body: "now", Author: github.User("ann"), Labels: []string{"bug"},
		Edits: []github.Edit{{When: day(1), Text: "then"}, {When: day(2), Text: "now"}}}})
	r.AddPull(github.Pull{Thread: github.Thread{Title: "Fix", Author: github.Bot("dependabot"), Updated: day(4),
		Comments: []*github.Comment{{Author: github.Actor{}, Body: "ghost", Created: day(3)}}},
		Merged: day(4), Closes: []github.Ref{{Number: issue.Number}, {Number: 99}},
		Commits: []github.Commit{{SHA: "c1", Authored: day(2)}}, Reviews: []github.Review{{Author: github.User("bob"), State: "APPROVED", Submitted: day(3)}}})
	r.AddPull(github.Pull{Thread: github.Thread{Title: "Open", Author: github.User("ann")}})
	r.Checks = append(r.Checks, &github.CheckRun{ID: 5, Name: "old", SHA: r.Heads["main"], Status: "queued"})
	r.Files[".github/assay.yml"] = []byte("schema: 1\n")
	r.Labels = []string{"bug"}
	return client{t, s, github.LongToken}, r
}

func TestEveryOperationKeepsTheSchema(t *testing.T) {
	c, r := world(t)
	schemas.Attach(t, c.s)
	sha := r.Heads["main"]
	const repo = "/repos/acme/shop"
	for _, path := range []string{"/meta", "/rate_limit", repo, repo + "/pulls?state=all", repo + "/pulls/2", repo + "/issues?state=all", repo + "/issues/1",
		repo + "/issues/2/comments", repo + "/issues/1/labels", repo + "/labels", repo + "/commits/main/check-runs", repo + "/commits/" + sha + "/check-runs?check_name=old&filter=all",
		repo + "/check-runs/5", repo + "/check-runs/5/annotations", repo + "/collaborators/octocat/permission", repo + "/git/ref/heads/main",
		repo + "/branches/main", repo + "/contents/.github/assay.yml"} {
		if resp, _ := c.do("GET", path, nil); resp.StatusCode != 200 {
			t.Errorf("GET %s: %s", path, resp.Status)
		}
	}
	type m = map[string]any
	for _, w := range []struct {
		method, path string
		body         any
		want         int
	}{
		{"POST", repo + "/issues/2/comments", m{"body": "hello"}, 201},
		{"PATCH", repo + "/issues/comments/1001", m{"body": "there"}, 200},
		{"GET", repo + "/issues/comments/1001", nil, 200},
		{"POST", repo + "/issues/2/labels", m{"labels": []string{"assay"}}, 200},
		{"DELETE", repo + "/issues/2/labels/assay", nil, 200},
		{"POST", repo + "/pulls", m{"title": "Tasks", "body": "b", "head": "main", "base": "main"}, 201},
		{"POST", repo + "/pulls", m{"title": "Tasks", "head": "main", "base": "main"}, 422},
		{"POST", repo + "/pulls", m{"title": "Tasks", "head": "nowhere", "base": "main"}, 422},
		{"PATCH", repo + "/pulls/4", m{"title": "More", "body": "c"}, 200},
		{"GET", repo + "/pulls?state=all&head=acme:main", nil, 200},
		{"GET", repo + "/issues?state=all&labels=bug", nil, 200},
		{"POST", repo + "/labels", m{"name": "new"}, 201},
		{"POST", repo + "/labels", m{"name": "new"}, 422},
		{"POST", repo + "/check-runs", m{"name": "assay", "head_sha": sha, "status": "in_progress"}, 201},
		{"PATCH", repo + "/check-runs/1002", m{"conclusion": "success", "output": m{"title": "t", "summary": "s", "annotations": []m{{"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}}}}, 200},
		{"PATCH", repo + "/check-runs/1002", m{"output": m{"title": "t", "summary": strings.Repeat("ü", 40000)}}, 422},
		{"PATCH", repo + "/check-runs/1002", m{"conclusion": "stale"}, 422},
		{"POST", repo + "/issues/2/comments", m{"body": strings.Repeat("x", 65537)}, 422},
		{"POST", repo + "/issues/2/comments", m{"body": strings.Repeat("x", 65536)}, 201},
		{"DELETE", repo + "/issues/comments/1001", nil, 204},
		{"GET", repo + "/issues/comments/1001", nil, 404},
	} {
		if resp, out := c.do(w.method, w.path, w.body); resp.StatusCode != w.want {
			t.Errorf("%s %s: %s, want %d: %v", w.method, w.path, resp.Status, w.want, out)
		}
	}
}

func TestGraphQL(t *testing.T) {
	c, _ := world(t)
	schemas.Attach(t, c.s)
	const q = `query Q($n: Int!) { rateLimit { cost } repository(owner: "acme", name: "shop") { id
	 pullRequests(first: $n, states: MERGED, orderBy: {field: UPDATED_AT, direction: DESC}) { totalCount pageInfo { hasNextPage endCursor } nodes { ...P } } } }
	fragment P on PullRequest { number author { login __typename } mergeCommit { oid } commits(first: 1) { nodes { commit { authoredDate } } }
	 comments(first: 5) { nodes { author { login } body } } reviews(first: 2) { nodes { state submittedAt } }
	 closingIssuesReferences(first: 5) { totalCount nodes { number repository { nameWithOwner } userContentEdits(first: 5) { nodes { editedAt diff } } } } }`
	ask := func(n int) (*http.Response, map[string]any) {
		return c.do("POST", "/graphql", map[string]any{"query": q, "variables": map[string]any{"n": n}})
	}
	_, out := ask(10)
	got := fmt.Sprint(out)
	for _, want := range []string{"login:dependabot", "__typename:Bot", "author:<nil>", "diff:then", "totalCount:2", "<nil>]"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if _, out = ask(101); out["errors"] == nil {
		t.Error("a page of 101 was given")
	}
	c.s.MaxFirst = 5
	if resp, _ := ask(6); resp.StatusCode != 502 {
		t.Errorf("a page above the limit: %s", resp.Status)
	}
	if _, out = c.do("POST", "/graphql", map[string]any{"query": `mutation M { minimizeComment(input: {subjectId: "IC_100002000", classifier: OUTDATED}) { minimizedComment { isMinimized minimizedReason } } }`}); !strings.Contains(fmt.Sprint(out), "isMinimized:true minimizedReason:outdated") {
		t.Errorf("minimizing: %v", out)
	}
	if rest, graphql := c.s.Count(); rest != 0 || graphql != 4 {
		t.Errorf("counted %d REST and %d GraphQL requests", rest, graphql)
	}
}

func TestRenamedRepositoryRedirects(t *testing.T) {
	c, r := world(t)
	c.s.Rename(r, "umbrella/store")
	if resp, _ := c.do("GET", "/api/v3/repos/acme/shop/pulls/2?x=1", nil); resp.StatusCode != 301 || !strings.HasSuffix(resp.Header.Get("Location"), "/repositories/1/pulls/2?x=1") {
		t.Errorf("GET: %s to %s", resp.Status, resp.Header.Get("Location"))
	}
	if resp, _ := c.do("POST", "/repos/acme/shop/issues/2/comments", map[string]any{"body": "x"}); resp.StatusCode != 307 {
		t.Errorf("POST: %s", resp.Status)
	}
	if _, out := c.do("GET", "/repositories/1", nil); out["full_name"] != "umbrella/store" {
		t.Errorf("by number: %v", out["full_name"])
	}
}

func TestTokensLimitsAndETags(t *testing.T) {
	c, _ := world(t)
	for token, want := range map[string]int{github.ShortToken: 200, github.LongToken: 200, github.PersonToken: 200, "ghs_other": 401} {
		c.token = token
		if resp, _ := c.do("GET", "/repos/acme/shop", nil); resp.StatusCode != want {
			t.Errorf("%.10s: %s", token, resp.Status)
		}
	}
	c.token = github.ShortToken
	resp, _ := c.do("GET", "/repos/acme/shop", nil)
	if again, _ := c.do("GET", "/repos/acme/shop", nil, "If-None-Match", resp.Header.Get("ETag")); again.StatusCode != 304 {
		t.Errorf("conditional: %s", again.Status)
	}
	c.s.Limit = 5 // four were charged: a 401 and a 304 are free
	if resp, _ = c.do("GET", "/repos/acme/shop", nil); resp.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("remaining %s", resp.Header.Get("X-RateLimit-Remaining"))
	}
	if resp, _ = c.do("GET", "/repos/acme/shop", nil); resp.StatusCode != 403 {
		t.Errorf("over the limit: %s", resp.Status)
	}
}

func TestFaultAfterTheWriteTookEffect(t *testing.T) {
	c, r := world(t)
	c.s.Fail(github.Fault{Method: "POST", Path: "/repos/*/*/issues/*/comments", Skip: 1, Status: 502, After: true})
	want := []int{201, 502, 201}
	for i := range want {
		if resp, _ := c.do("POST", "/repos/acme/shop/issues/1/comments", map[string]any{"body": "x"}); resp.StatusCode != want[i] {
			t.Errorf("write %d: %s", i, resp.Status)
		}
	}
	if n := len(r.Issue(1).Comments); n != 3 {
		t.Errorf("%d comments, 3 took effect", n)
	}
	c.s.Fail(github.Fault{Status: 429, RetryAfter: 3, Secondary: true, Times: 2})
	for _, status := range []int{429, 429, 200} {
		if resp, _ := c.do("GET", "/repos/acme/shop", nil); resp.StatusCode != status {
			t.Errorf("%s, want %d", resp.Status, status)
		}
	}
}

func TestDeliverySigned(t *testing.T) {
	var got http.Header
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.WriteHeader(http.StatusAccepted)
	}))
	defer hook.Close()
	status, err := github.Deliver(context.Background(), github.Delivery{URL: hook.URL, Event: "ping", ID: "guid", Secret: "It's a Secret to Everybody", Payload: json.RawMessage("Hello, World!")})
	// The expected value is the one in GitHub's own documentation.
	if err != nil || status != 202 || got.Get("X-GitHub-Delivery") != "guid" || got.Get("X-Hub-Signature-256") != "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" {
		t.Errorf("status %d, %v, headers %v", status, err, got)
	}
}
