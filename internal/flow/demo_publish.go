package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/compare"
	"github.com/assaybot/assay/internal/preview"
	"github.com/assaybot/assay/internal/publish"
	"github.com/assaybot/assay/internal/report"
)

// DemoHub is a GitHub for the demo to post to, with one open pull request.
type DemoHub struct {
	Target publish.Target
	Repo   string // "owner/name"
	Number int
	Title  string
	SHA    string // the pull request's head
	Close  func()
}

// demoPage is the page's name beside the results.
const demoPage = "github.html"

// The run that is out when the demo posts for the first time, so that there is
// something to edit.
const late = 2

// publish posts the scripted agent's score, against that of the reference, as
// the report of a pull request that puts the one in the other's place would:
// once while trials are out, and once with all. Then it draws what is there.
func (d *demo) publish(ctx context.Context) error {
	if d.Hub == nil {
		return errors.New("this program was built without a GitHub for the demo")
	}
	hub, err := d.Hub()
	if err != nil {
		return err
	}
	defer hub.Close()
	if err := d.say("\n5. Publish: to a GitHub within this program, as the report of a pull request that puts hasty in oracle's place.\n"); err != nil {
		return err
	}
	var there [2]onHub
	var docs publish.Docs
	for i, out := range []int{late, 0} {
		if docs, err = d.document(hub, out); err != nil {
			return err
		}
		if there[i], err = d.postTo(ctx, hub, docs); err != nil {
			return err
		}
		if err := d.say("%s: %s (%s).\n", [2]string{"While two trials are out", "With all of them"}[i], docs.Check.Conclusion, docs.Why); err != nil {
			return err
		}
	}
	first, last := there[0], there[1]
	if first.check.ID != last.check.ID || first.comment.ID != last.comment.ID || first.comment.Body == last.comment.Body {
		return fmt.Errorf("the demo's second posting didn't edit the first: check runs %d and %d, comments %d and %d",
			first.check.ID, last.check.ID, first.comment.ID, last.comment.ID)
	}
	if err := d.say("Posted twice, and there is one check run (%d) and one comment (%d): the second time edited both.\n", last.check.ID, last.comment.ID); err != nil {
		return err
	}
	return d.draw(hub, docs, last)
}

// document makes the texts as they are while some trials are out.
func (d *demo) document(hub DemoHub, out int) (publish.Docs, error) {
	mine := func(t assay.Trial) bool { return t.Agent.Key() == hasty }
	tasks := []string{d.sample.WrongTask}
	for t := range hastyWork() {
		tasks = append(tasks, t)
	}
	slices.Sort(tasks)
	missing := tasks[len(tasks)-out:]
	rep, err := d.buildView(d.at.out, view{trials: mine, results: func(r assay.Result) bool {
		return mine(r.Trial) && !slices.Contains(missing, r.Trial.Task)
	}})
	if err != nil {
		return publish.Docs{}, err
	}
	against, err := d.against(rep)
	if err != nil {
		return publish.Docs{}, err
	}
	score, err := d.scored(d.at.out, rep, &against)
	if err != nil {
		return publish.Docs{}, err
	}
	where := publish.Context{Repo: hub.Repo, Number: hub.Number, SHA: hub.SHA, Name: "assay", Key: "assay"}
	return publish.Make(where, score, publish.Gate{Regression: true}), nil
}

// against compares the scripted agent with the reference.
func (d *demo) against(rep report.Report) (compare.Comparison, error) {
	before, err := d.side(d.at.out)
	if err != nil {
		return compare.Comparison{}, err
	}
	after, err := d.sideOf(rep, d.at.out)
	if err != nil {
		return compare.Comparison{}, err
	}
	in := compare.Input{Axis: "agent"}
	if in.A, err = part(before, in.Axis, "oracle"); err != nil {
		return compare.Comparison{}, err
	}
	if in.B, err = part(after, in.Axis, hasty); err != nil {
		return compare.Comparison{}, err
	}
	// The reference solved tasks that the scripted agent was never given.
	in.A.Trials = slices.DeleteFunc(in.A.Trials, func(t compare.Trial) bool {
		return !slices.ContainsFunc(in.B.Trials, func(o compare.Trial) bool { return o.Task == t.Task })
	})
	return compare.Make(in), nil
}

// onHub is what there is on the server.
type onHub struct {
	check   publish.CheckRun
	comment publish.Comment
}

// postTo posts and reads back: there must be one of each.
func (d *demo) postTo(ctx context.Context, hub DemoHub, docs publish.Docs) (onHub, error) {
	if _, err := publish.Post(ctx, hub.Target, docs, publish.Wants{Check: true, Comment: true}); err != nil {
		return onHub{}, err
	}
	checks, err := hub.Target.Checks(ctx, hub.SHA, docs.Check.Name)
	if err != nil {
		return onHub{}, err
	}
	comments, err := hub.Target.Comments(ctx, hub.Number)
	if err != nil {
		return onHub{}, err
	}
	if len(checks) != 1 || len(comments) != 1 {
		return onHub{}, fmt.Errorf("the demo posted %d check runs and %d comments, and meant one of each", len(checks), len(comments))
	}
	return onHub{checks[0], comments[0]}, nil
}

// draw writes the page and says where it is.
func (d *demo) draw(hub DemoHub, docs publish.Docs, there onHub) error {
	name, err := d.pageFile()
	if err != nil {
		return err
	}
	page := preview.Page{
		Repo: hub.Repo, Pull: hub.Number, Title: hub.Title, Summary: docs.Summary, Check: checkShown(there.check, docs.Check.Annotations),
		Comments: []preview.Comment{{Author: "assay", Body: there.comment.Body, Edited: true}},
		Notes:    []string{"This is what the demo posted to a GitHub that ran within it, read back and drawn with GitHub's Markdown."},
	}
	if err := writePage(name, page); err != nil {
		return err
	}
	return d.say("What people see there, as one page without network: %s\n", name)
}

// pageFile is beside the results where those stay, else a file of its own.
func (d *demo) pageFile() (string, error) {
	if d.keep {
		abs, err := filepath.Abs(d.at.out)
		return filepath.Join(cmp.Or(abs, d.at.out), demoPage), err
	}
	file, err := os.CreateTemp("", "assay-demo-*.html")
	if err != nil {
		return "", fmt.Errorf("making the demo's page: %w", err)
	}
	return file.Name(), file.Close()
}
