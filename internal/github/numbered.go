package github

import (
	"context"
	"fmt"
	"strings"

	"github.com/assaybot/assay/internal/mine"
)

// Numbered reads the issues of some numbers. A number that is no issue, or
// can't be seen, is left out: people name all sorts of things in their texts.
func (s *Source) Numbered(ctx context.Context, numbers []int, yield func(mine.Issue) error) error {
	var all []*issue
	for len(numbers) > 0 {
		some := numbers[:min(s.page, len(numbers))]
		var out struct {
			Repository map[string]*issue
		}
		err := s.graph.patient(ctx, func() bool {
			ok := s.halve()
			some = numbers[:min(s.page, len(numbers))]
			return ok
		}, func() error {
			out.Repository = nil
			_, err := s.graph.do(ctx, s.numberedQuery(some), &out)
			return err
		})
		if err != nil {
			return fmt.Errorf("reading issues of %s: %w", s.repo, err)
		}
		for i := range some {
			if one := out.Repository[fmt.Sprintf("i%d", i)]; one != nil {
				all = append(all, one)
			}
		}
		numbers = numbers[len(some):]
	}
	if err := s.finishIssues(ctx, all); err != nil {
		return fmt.Errorf("reading issues of %s: %w", s.repo, err)
	}
	for _, i := range all {
		if err := yield(i.noun()); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) numberedQuery(numbers []int) operation {
	var body strings.Builder
	for i, n := range numbers {
		fmt.Fprintf(&body, "    i%d: issue(number: %d) { ...IssueFields }\n", i, n)
	}
	return operation{
		vars: map[string]any{"owner": s.repo.Owner, "name": s.repo.Name},
		text: "query Numbered($owner: String!, $name: String!) {\n  repository(owner: $owner, name: $name) {\n" + body.String() + "  }\n}\n" + needed(body.String()),
	}
}
