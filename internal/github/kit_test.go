package github_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/github"
	fake "github.com/assaybot/assay/internal/testkit/github"
	"github.com/assaybot/assay/internal/testkit/github/contract"
)

// schemas is loaded once for all tests of the package.
var schemas contract.Loader

// clock is a clock that only sleeping moves.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return nil
}

func (c *clock) waited() (sum time.Duration) {
	for _, d := range c.slept {
		sum += d
	}
	return sum
}

// kit is a fake with a repository, and all that speaks to it.
type kit struct {
	*testing.T
	s     *fake.Server
	r     *fake.Repo
	clock *clock
	t     *github.Transport
	o     github.Options
}

func day(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n-1) }

func newKit(t *testing.T, change ...func(*github.Options)) *kit {
	t.Helper()
	s := fake.New(t)
	c := &clock{now: day(200)}
	s.Now = c.Now
	k := &kit{T: t, s: s, r: s.Add("acme/shop"), clock: c}
	host, err := github.HostOf(s.URL+"/api/v3", "", "")
	if err != nil {
		t.Fatal(err)
	}
	k.o = github.Options{Host: host, Now: c.Now, Sleep: c.Sleep, Chance: func() float64 { return 0 }, WriteGap: -1,
		Token: func(context.Context) (string, error) { return fake.LongToken, nil }}
	for _, f := range change {
		f(&k.o)
	}
	k.t = github.NewTransport(k.o)
	return k
}

func (k *kit) client() *github.Client {
	k.Helper()
	c, err := github.NewClient(k.t, github.Repo{Owner: "acme", Name: "shop"})
	if err != nil {
		k.Fatal(err)
	}
	return c
}

func (k *kit) source(s github.State) *github.Source {
	return github.NewSource(k.t, github.Repo{Owner: "acme", Name: "shop"}, s)
}
