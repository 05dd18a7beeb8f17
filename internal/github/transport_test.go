package github_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/github"
	fake "github.com/assaybot/assay/internal/testkit/github"
)

func TestMining11AndRow16LimitsAreWaitedForAndRefusalsAreNot(t *testing.T) {
	reset := map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": ""}
	for _, c := range []struct {
		name  string
		fault fake.Fault
		want  time.Duration // waited; less than zero is a refusal after so many requests
	}{
		{"403 secondary with Retry-After", fake.Fault{Status: 403, Secondary: true, RetryAfter: 7}, 7 * time.Second},
		{"403 secondary without Retry-After", fake.Fault{Status: 403, Secondary: true}, time.Minute},
		{"secondary three times", fake.Fault{Status: 403, Secondary: true, Times: 3}, (1 + 2 + 4) * time.Minute},
		{"429 with Retry-After: 0", fake.Fault{Status: 429, Header: map[string]string{"Retry-After": "0"}, Times: 2}, 2 * time.Second},
		{"primary with a reset in the past", fake.Fault{Status: 403, Message: "API rate limit exceeded", Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}}, time.Second},
		{"503 with Retry-After", fake.Fault{Method: "GET", Status: 503, RetryAfter: 9}, 9 * time.Second},
		{"bare 429", fake.Fault{Status: 429}, time.Minute},
		{"429 with Retry-After", fake.Fault{Status: 429, RetryAfter: 90}, 90 * time.Second},
		{"429 ten times", fake.Fault{Status: 429, RetryAfter: 30, Times: 10}, 5 * time.Minute},
		{"primary until its reset", fake.Fault{Status: 403, Message: "API rate limit exceeded", Header: reset}, 10 * time.Minute},
		{"403 for a permission", fake.Fault{Status: 403, Message: "Resource not accessible by integration", Times: -1}, -1},
		{"403 for something else", fake.Fault{Status: 403, Message: "Repository access blocked", Times: -1}, -1},
		{"403 without a word", fake.Fault{Status: 403, Body: " "}, time.Minute},
		{"403 without a word, for ever", fake.Fault{Status: 403, Body: " ", Times: -1}, -3},
		{"422 with the code abuse", fake.Fault{Status: 422, Body: `{"message": "Validation Failed", "errors": [{"resource": "x", "code": "abuse"}]}`}, time.Minute},
		{"422 for something else", fake.Fault{Status: 422, Body: `{"message": "Validation Failed", "errors": [{"resource": "x", "code": "custom"}]}`}, -1},
		{"permission with the last call", fake.Fault{Status: 403, Message: "Resource not accessible by integration", Header: map[string]string{"X-RateLimit-Remaining": "0"}, Times: -1}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKit(t)
			reset["X-RateLimit-Reset"] = unix(k.clock.Now().Add(10 * time.Minute))
			k.s.Fail(c.fault)
			_, err := k.client().Repository(context.Background())
			rest, _ := k.s.Count()
			switch {
			case c.want < 0 && (err == nil || rest != int(-c.want) || rest == 1 && k.clock.waited() != 0):
				t.Errorf("err %v after %d requests and %v", err, rest, k.clock.waited())
			case c.want >= 0 && (err != nil || k.clock.waited() != c.want):
				t.Errorf("err %v, waited %v, want %v", err, k.clock.waited(), c.want)
			}
		})
	}
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

func TestLimitedWriteIsSentOnce(t *testing.T) {
	k := newKit(t)
	k.r.AddIssue(fake.Issue{})
	k.s.Fail(fake.Fault{Method: "POST", Status: 403, Secondary: true, RetryAfter: 5})
	if _, err := k.client().CreateComment(context.Background(), 1, "hello"); err != nil {
		t.Fatal(err)
	}
	if got := k.r.Issue(1).Comments; len(got) != 1 || got[0].Body != "hello" {
		t.Errorf("comments %v", got)
	}
}

func TestWaitBeyondTheBoundNamesTheReset(t *testing.T) {
	k := newKit(t, func(o *github.Options) { o.MaxWait = 5 * time.Minute })
	k.s.Fail(fake.Fault{Status: 403, Message: "API rate limit exceeded", Times: -1,
		Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": unix(k.clock.Now().Add(42 * time.Minute))}})
	_, err := k.client().Repository(context.Background())
	var l *github.LimitError
	if !errors.As(err, &l) || !l.Primary || l.Wait != 42*time.Minute {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"primary", "2026-07-19T00:42:00Z", "42m", "5m"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %q", want, err)
		}
	}
	if k.clock.waited() != 0 {
		t.Errorf("waited %v in vain", k.clock.waited())
	}
}

func TestUsedUpLimitStopsTheNextRequestBeforeItIsSent(t *testing.T) {
	k := newKit(t, func(o *github.Options) { o.MaxWait = 2 * time.Hour })
	k.s.Limit = 1
	c := k.client()
	for range 2 {
		if _, err := c.Repository(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if rest, _ := k.s.Count(); rest != 2 || k.clock.waited() != time.Hour {
		t.Errorf("%d requests, waited %v", rest, k.clock.waited())
	}
}

func TestReadsAreRepeatedAndWritesAreNot(t *testing.T) {
	for _, status := range []int{502, 503, 504} {
		k := newKit(t)
		k.r.AddIssue(fake.Issue{})
		k.s.Fail(fake.Fault{Method: "GET", Status: status, Times: 3})
		if _, err := k.client().Repository(context.Background()); err != nil || k.clock.waited() != 7*time.Second {
			t.Errorf("%d: %v after %v", status, err, k.clock.waited())
		}
		k.s.Fail(fake.Fault{Method: "GET", Status: status, Times: -1})
		if _, err := k.client().Repository(context.Background()); err == nil {
			t.Errorf("%d for ever: no error", status)
		}
	}
}

func TestRow17WriteThatFailsAfterItLandedIsNotRepeated(t *testing.T) {
	for name, f := range map[string]fake.Fault{"502": {Method: "POST", Status: 502, After: true}, "dropped": {Method: "POST", Drop: true, After: true}} {
		k := newKit(t)
		k.r.AddIssue(fake.Issue{})
		k.s.Fail(f)
		_, err := k.client().CreateComment(context.Background(), 1, "hello")
		var u *github.UncertainError
		if !errors.As(err, &u) || u.Status != f.Status {
			t.Errorf("%s: %v", name, err)
		}
		there, err := k.client().Comments(context.Background(), 1)
		if err != nil || len(there) != 1 {
			t.Errorf("%s: %d comments, %v", name, len(there), err)
		}
	}
}

func TestRedirectsNeverTurnAWriteIntoARead(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308} {
		k := newKit(t)
		k.r.AddIssue(fake.Issue{})
		k.s.WriteRedirect = status
		k.s.Rename(k.r, "umbrella/store")
		c := k.client()
		got, err := c.CreateComment(context.Background(), 1, "hello")
		if err != nil || got.Body != "hello" || len(k.r.Issue(1).Comments) != 1 {
			t.Errorf("%d: %v, %v", status, got, err)
		}
		info, err := c.Repository(context.Background())
		if err != nil || info.Repo.String() != "umbrella/store" {
			t.Errorf("read: %v, %v", info, err)
		}
		for _, r := range k.s.Requests() {
			if r.Header.Get("Authorization") == "" {
				t.Errorf("%s %s without a token", r.Method, r.Path)
			}
		}
	}
	k := newKit(t)
	k.r.AddIssue(fake.Issue{})
	for _, f := range []fake.Fault{
		{Method: "POST", Status: 303, Header: map[string]string{"Location": k.s.URL + "/repos/acme/shop"}},
		{Method: "POST", Status: 307, Header: map[string]string{"Location": "http://elsewhere.invalid/repos/acme/shop"}},
	} {
		k.s.Fail(f)
		_, err := k.client().CreateComment(context.Background(), 1, "hello")
		var m *github.MovedError
		if !errors.As(err, &m) || m.Status != f.Status {
			t.Errorf("%d: %v", f.Status, err)
		}
	}
}

func TestTokenStaysWithItsHost(t *testing.T) {
	other := fake.New(t)
	k := newKit(t)
	k.s.Fail(fake.Fault{Method: "GET", Status: 302, Header: map[string]string{"Location": other.URL + "/repos/x/y"}})
	_, err := k.client().Repository(context.Background())
	if got := other.Requests(); len(got) != 1 || got[0].Header.Get("Authorization") != "" {
		t.Errorf("the other host was sent %v", got)
	}
	if err == nil || strings.Contains(err.Error(), fake.LongToken) {
		t.Errorf("%v", err)
	}
}

func TestRow32SkewedClockIsNamed(t *testing.T) {
	for _, c := range []struct {
		skew time.Duration
		want string
	}{{4 * time.Minute, "4m0s ahead of"}, {-4 * time.Minute, "4m0s behind"}, {30 * time.Second, "wrong, expired or revoked"}} {
		k := newKit(t)
		k.s.Tokens = nil
		k.s.Now = func() time.Time { return k.clock.Now().Add(-c.skew) }
		_, err := k.client().Repository(context.Background())
		if err == nil || !assay.IsUser(err) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "ghs_") {
			t.Errorf("%v: %v", c.skew, err)
		}
	}
}

func TestRow11MissingPermissionIsNamedWithItsLine(t *testing.T) {
	k := newKit(t)
	k.r.AddIssue(fake.Issue{})
	k.s.Tokens = map[string]fake.Token{fake.LongToken: {Scopes: map[string]string{"checks": "read", "issues": "read"}}}
	_, err := k.client().CreateCheck(context.Background(), github.Check{Name: "assay", SHA: "abc"})
	var p *github.PermissionError
	if !errors.As(err, &p) || !assay.IsUser(err) || !strings.Contains(err.Error(), "\n  permissions:\n    checks: write\n") {
		t.Errorf("%v", err)
	}
	_, err = k.client().CreateComment(context.Background(), 1, "x")
	if err == nil || !strings.Contains(err.Error(), "    issues: write\nor:\n  permissions:\n    pull-requests: write") {
		t.Errorf("%v", err)
	}
	k.s.Fail(fake.Fault{Status: 403, Message: "Resource not accessible by integration"})
	_, err = k.client().CreateCheck(context.Background(), github.Check{Name: "assay", SHA: "abc"})
	if err == nil || !strings.Contains(err.Error(), "    checks: write") {
		t.Errorf("without the header: %v", err)
	}
}

func TestRow12AnUnacceptedPermissionNamesWhereToAcceptIt(t *testing.T) {
	k := newKit(t)
	k.s.Tokens = map[string]fake.Token{fake.LongToken: {Login: fake.AppLogin, Scopes: map[string]string{"checks": "read"}}}
	_, err := k.client().CreateCheck(context.Background(), github.Check{Name: "assay", SHA: "abc"})
	if err == nil || !strings.Contains(err.Error(), "accept it at "+k.o.Host.Web+"/organizations/acme/settings/installations") {
		t.Errorf("%v", err)
	}
}

func TestRow15WritesAreASecondApart(t *testing.T) {
	k := newKit(t, func(o *github.Options) { o.WriteGap = 0 })
	k.r.AddIssue(fake.Issue{})
	for range 4 {
		if _, err := k.client().CreateComment(context.Background(), 1, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if k.clock.waited() != 3*time.Second {
		t.Errorf("waited %v", k.clock.waited())
	}
}

func TestRow35TokenIsAskedForAtEveryRequest(t *testing.T) {
	tokens := []string{fake.ShortToken, fake.LongToken, fake.PersonToken}
	k := newKit(t, func(o *github.Options) {
		o.Token = func(context.Context) (string, error) {
			next := tokens[0]
			tokens = tokens[1:]
			return next, nil
		}
		o.UserAgent = "assay/1"
	})
	for range 3 {
		if _, err := k.client().Repository(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range k.s.Requests() {
		if r.Header.Get("User-Agent") != "assay/1" || r.Header.Get("X-GitHub-Api-Version") == "" {
			t.Errorf("headers %v", r.Header)
		}
	}
}

func TestRow34ProxyOfTheEnvironmentIsKept(t *testing.T) {
	if d, ok := http.DefaultTransport.(*http.Transport); !ok || d.Clone().Proxy == nil {
		t.Error("the transport that is cloned knows no proxy")
	}
}

func TestEndedContextEndsAWait(t *testing.T) {
	k := newKit(t)
	ctx, cancel := context.WithCancel(context.Background())
	k.s.Watch(func(fake.Exchange) { cancel() })
	k.s.Fail(fake.Fault{Status: 429, Times: -1})
	if _, err := k.client().Repository(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	k.clock.now = time.Now() // a context's deadline is by the real clock
	ctx, stop := context.WithDeadline(context.Background(), k.clock.Now().Add(30*time.Second))
	defer stop()
	k.s.Fail(fake.Fault{Status: 429, Times: -1})
	_, err := k.client().Repository(ctx)
	var l *github.LimitError
	if !errors.As(err, &l) || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("%v", err)
	}
}
