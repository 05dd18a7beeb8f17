package main

import (
	"context"
	"net/http"

	"github.com/assaybot/assay/internal/flow"
	"github.com/assaybot/assay/internal/github"
	fake "github.com/assaybot/assay/internal/testkit/github"
	"github.com/assaybot/assay/internal/testkit/sample"
)

// demoSample makes the sample repository for the demo.
func demoSample(ctx context.Context, dir string) (flow.DemoSample, error) {
	s, err := sample.Make(ctx, dir)
	if err != nil {
		return flow.DemoSample{}, err
	}
	out := flow.DemoSample{Dir: s.Dir, Since: sample.Since, Issue: s.Issue, Want: map[string]flow.DemoVerdict{}}
	out.WrongTask, out.Wrong = sample.Wrong()
	for id, v := range s.Want {
		out.Want[id] = flow.DemoVerdict(v)
	}
	return out, nil
}

// demoHub is a GitHub within this program, on loopback, with the sample's
// project and a pull request on it.
func demoHub() (flow.DemoHub, error) {
	s := fake.New(nil)
	p := s.Add("stockroom/stockroom").AddPull(fake.Pull{
		Thread: fake.Thread{Number: 31, Title: "Let the hasty agent do it", Author: fake.User("dora")}, Head: "hasty",
		HeadSHA: "5a3c1f0e9d8b7a6f5e4d3c2b1a0f9e8d7c6b5a40",
	})
	hub := flow.DemoHub{Repo: "stockroom/stockroom", Number: p.Number, Title: p.Title, SHA: p.HeadSHA, Close: s.Close}
	host, err := github.HostOf(s.URL+"/api/v3", "", "")
	if err != nil {
		s.Close()
		return hub, err
	}
	c, err := github.NewClient(github.NewTransport(github.Options{
		Host: host, WriteGap: -1, Base: &http.Transport{}, // no proxy stands before loopback
		Token: func(context.Context) (string, error) { return fake.LongToken, nil },
	}), github.Repo{Owner: "stockroom", Name: "stockroom"})
	if err != nil {
		s.Close()
		return hub, err
	}
	hub.Target = github.NewTarget(c)
	return hub, nil
}
