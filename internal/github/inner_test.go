package github

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// FuzzReply feeds bytes of a server to all that reads them.
func FuzzReply(f *testing.F) {
	f.Add(403, "60", "issues=write; pull_requests=write", `{"message":"You have exceeded a secondary rate limit"}`)
	f.Add(429, "Wed, 21 Oct 2026 07:28:00 GMT", "", `{"data":{"repository":{"page":{"totalCount":1,"nodes":[{"number":1,"author":null}]}}}}`)
	f.Add(401, "-1", ",;=", `{"data":null,"errors":[{"type":"FORBIDDEN","path":["n0",1],"message":"no"}]}`)
	f.Fuzz(func(t *testing.T, status int, after, needs, body string) {
		now := time.Unix(1800000000, 0)
		h := http.Header{"Retry-After": {after}, "X-Accepted-Github-Permissions": {needs}, "X-Ratelimit-Reset": {after}, "Date": {after}}
		if l, ok := findLimit(status, h, []byte(body), now); ok && l.length(0, 0) < time.Second {
			t.Errorf("a limit of %v", l.length(0, 0))
		}
		said := refused{method: "POST", path: "/x", status: status, header: h, message: body}
		if said.explain(now).Error() == "" {
			t.Error("an error without a text")
		}
		var out struct {
			Data   json.RawMessage
			Errors []graphError
		}
		if json.Unmarshal([]byte(body), &out) == nil {
			var into struct{ Repository *struct{ Page *list[pull] } }
			if _, err := settle(out.Data, out.Errors, &into); err == nil && into.Repository != nil && into.Repository.Page != nil {
				for _, p := range present(into.Repository.Page) {
					p.noun("main")
				}
			}
		}
	})
}

func TestNeedsReadsAlternatives(t *testing.T) {
	r := refused{header: http.Header{"X-Accepted-Github-Permissions": {"contents=read,pull_requests=write; issues=write"}}}
	got := ""
	for _, lines := range r.needs() {
		got += strings.Join(lines, "+") + "|"
	}
	if got != "contents: read+pull-requests: write|issues: write|" {
		t.Errorf("%q", got)
	}
}

func TestFragmentsThatAreNeeded(t *testing.T) {
	text := moreQuery([]more{{kind: "PullRequest", list: "labels", fragment: "Labels"}}, 10).text
	if !strings.Contains(text, "fragment Labels") || strings.Contains(text, "fragment Comments") {
		t.Error(text)
	}
}
