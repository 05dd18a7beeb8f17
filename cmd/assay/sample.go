package main

import (
	"context"

	"github.com/assaybot/assay/internal/flow"
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
