package github

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

type fields = map[string]func(args) any

// query is the root of reads.
func (c *call) query() *node {
	return &node{kind: "Query", fields: fields{
		"repository": func(a args) any { return c.repositoryNode(c.find(a.str("owner")+"/"+a.str("name")), a) },
		"node":       func(a args) any { return c.byNode(a.str("id")) },
		"nodes": func(a args) any {
			ids, _ := a["ids"].([]any)
			out := make([]any, len(ids))
			for i, id := range ids {
				out[i] = c.byNode(fmt.Sprint(id))
			}
			return out
		},
		"viewer": is(&node{kind: "User", fields: fields{"login": is(c.token.Login)}}),
		"rateLimit": is(&node{kind: "RateLimit", fields: fields{
			"cost": is(1), "limit": is(5000), "remaining": is(5000 - c.used["graphql"]), "used": is(c.used["graphql"]),
			"resetAt": is(stamp(c.reset)), "nodeCount": is(1),
		}}),
	}}
}

// find follows renames, as GraphQL does by default.
func (c *call) find(full string) *Repo {
	if r := c.repo(full); r != nil {
		return r
	}
	return c.former(full)
}

func (c *call) repositoryNode(r *Repo, a args) any {
	if r == nil {
		return refusal{"NOT_FOUND", fmt.Sprintf("Could not resolve to a Repository with the name '%s/%s'.", a.str("owner"), a.str("name"))}
	}
	return &node{kind: "Repository", is: []string{"Node", "RepositoryInfo"}, fields: fields{
		"id": is(fmt.Sprintf("R_%d", r.ID)), "databaseId": is(r.ID), "name": is(r.Name), "nameWithOwner": is(r.FullName()),
		"url": is(c.URL + "/" + r.FullName()), "isFork": is(r.Fork), "isPrivate": is(r.Private),
		"defaultBranchRef": is(&node{kind: "Ref", fields: fields{"name": is(r.Default)}}),
		"pullRequests":     func(a args) any { return c.pullsOf(r, a) },
		"issues":           func(a args) any { return c.issuesOf(r, a) },
		"pullRequest": func(a args) any {
			n, _ := a.integer("number")
			return c.threadNode(r, n, true)
		},
		"issue": func(a args) any {
			n, _ := a.integer("number")
			return c.threadNode(r, n, false)
		},
	}}
}

func (c *call) threadNode(r *Repo, number int, pull bool) any {
	if p := r.Pull(number); p != nil && pull {
		return c.pullNode(p)
	}
	if i := r.Issue(number); i != nil && !pull {
		return c.issueNode(i)
	}
	return refusal{"NOT_FOUND", fmt.Sprintf("Could not resolve to an item with the number of %d.", number)}
}

// tooBig tells whether a page is more than the server manages today.
func (c *call) tooBig(a args) bool {
	first, _ := a.integer("first")
	return c.MaxFirst > 0 && first > c.MaxFirst
}

func (c *call) pullsOf(r *Repo, a args) any {
	if c.tooBig(a) {
		return tooLarge{}
	}
	states := list(a["states"])
	nodes := map[int]*Pull{}
	var threads []*Thread
	for _, p := range r.Pulls {
		if len(states) == 0 || slices.Contains(states, p.State) {
			nodes[p.Number], threads = p, append(threads, &p.Thread)
		}
	}
	return connection("PullRequest", a, ordered(a, threads, func(t *Thread) any { return c.pullNode(nodes[t.Number]) }))
}

func (c *call) issuesOf(r *Repo, a args) any {
	if c.tooBig(a) {
		return tooLarge{}
	}
	states := list(a["states"])
	filter, _ := a["filterBy"].(map[string]any)
	since, _ := time.Parse(time.RFC3339, args(filter).str("since"))
	nodes := map[int]*Issue{}
	var threads []*Thread
	for _, i := range r.Issues {
		if (len(states) == 0 || slices.Contains(states, i.State)) && !i.Updated.Before(since) {
			nodes[i.Number], threads = i, append(threads, &i.Thread)
		}
	}
	return connection("Issue", a, ordered(a, threads, func(t *Thread) any { return c.issueNode(nodes[t.Number]) }))
}

// list reads a list; a single value stands for a list of one.
func list(v any) []string {
	all, ok := v.([]any)
	if !ok && v != nil {
		all = []any{v}
	}
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = fmt.Sprint(s)
	}
	return out
}

// byNode finds what a node id names.
func (c *call) byNode(id string) any {
	for _, r := range c.repos {
		for _, p := range r.Pulls {
			if id == fmt.Sprintf("PR_%d", p.ID) {
				return c.pullNode(p)
			}
		}
		for _, i := range r.Issues {
			if id == fmt.Sprintf("I_%d", i.ID) {
				return c.issueNode(i)
			}
		}
		for _, t := range r.threads() {
			for _, one := range t.Comments {
				if id == one.node() {
					return c.commentNode(t, one)
				}
			}
		}
	}
	return refusal{"NOT_FOUND", fmt.Sprintf("Could not resolve to a node with the global id of '%s'", id)}
}

// actorNode is a user of GraphQL: an App's login has no "[bot]" here.
func actorNode(a Actor) any {
	if a.Login == "" {
		return nil
	}
	login := a.Login
	if a.Type == "Bot" {
		login = strings.TrimSuffix(login, "[bot]")
	}
	return &node{kind: or(a.Type, "User"), is: []string{"Actor"}, fields: fields{"login": is(login)}}
}

// threadFields are the fields that pull requests and issues share.
func (c *call) threadFields(t *Thread) fields {
	return fields{
		"databaseId": is(t.ID), "number": is(t.Number), "title": is(t.Title), "body": is(t.Body), "author": is(actorNode(t.Author)),
		"createdAt": is(stamp(t.Created)), "updatedAt": is(stamp(t.Updated)), "closedAt": is(stamp(t.Closed)), "lastEditedAt": is(stamp(t.lastEdit())),
		"repository": func(a args) any { return c.repositoryNode(t.repo, a) },
		"labels": func(a args) any {
			return connection("Label", a, numbered(t.Labels, func(n string) any { return &node{kind: "Label", fields: fields{"name": is(n)}} }))
		},
		"comments": func(a args) any {
			return connection("IssueComment", a, numbered(t.Comments, func(o *Comment) any { return c.commentNode(t, o) }))
		},
		"userContentEdits": func(a args) any {
			if len(t.Edits) == 0 {
				return nil // a text that was never edited has no history
			}
			newest := slices.Clone(t.Edits)
			slices.Reverse(newest)
			return connection("UserContentEdit", a, numbered(newest, editNode))
		},
	}
}

// editNode is one edit: its "diff" is the whole text as it then was.
func editNode(e Edit) any {
	return &node{kind: "UserContentEdit", fields: fields{
		"createdAt": is(stamp(e.When)), "editedAt": is(stamp(e.When)), "updatedAt": is(stamp(e.When)), "deletedAt": is(nil), "diff": is(e.Text),
	}}
}

func (c *call) issueNode(i *Issue) any {
	if i.Hidden {
		return refusal{"FORBIDDEN", "Resource protected by organization SAML enforcement. You must grant your Personal Access token access to this organization."}
	}
	f := c.threadFields(&i.Thread)
	f["id"], f["state"] = is(fmt.Sprintf("I_%d", i.ID)), is(i.State)
	f["url"] = is(fmt.Sprintf("%s/%s/issues/%d", c.URL, i.repo.FullName(), i.Number))
	return &node{kind: "Issue", is: []string{"Node", "Comment"}, fields: f}
}

func (c *call) pullNode(p *Pull) any {
	f := c.threadFields(&p.Thread)
	f["id"], f["state"], f["merged"] = is(fmt.Sprintf("PR_%d", p.ID)), is(p.State), is(p.State == "MERGED")
	f["url"] = is(fmt.Sprintf("%s/%s/pull/%d", c.URL, p.repo.FullName(), p.Number))
	f["mergedAt"], f["baseRefName"], f["headRefName"], f["headRefOid"] = is(stamp(p.Merged)), is(p.Base), is(p.Head), is(p.HeadSHA)
	f["mergeCommit"] = is(nil)
	if p.MergeCommit != "" {
		f["mergeCommit"] = is(&node{kind: "Commit", fields: fields{"oid": is(p.MergeCommit)}})
	}
	f["commits"] = func(a args) any { return connection("PullRequestCommit", a, numbered(p.Commits, commitNode)) }
	f["reviews"] = func(a args) any { return connection("PullRequestReview", a, numbered(p.Reviews, reviewNode)) }
	f["closingIssuesReferences"] = func(a args) any { return connection("Issue", a, numbered(p.Closes, c.closed(p))) }
	return &node{kind: "PullRequest", is: []string{"Node", "Comment"}, fields: f}
}

// closed finds the issue of a closing reference; a deleted one is null.
func (c *call) closed(p *Pull) func(Ref) any {
	return func(ref Ref) any {
		r := p.repo
		if ref.Repo != "" {
			r = c.find(ref.Repo)
		}
		if r == nil {
			return nil
		}
		if i := r.Issue(ref.Number); i != nil {
			return c.issueNode(i)
		}
		return nil
	}
}

func commitNode(one Commit) any {
	return &node{kind: "PullRequestCommit", fields: fields{"commit": is(&node{kind: "Commit", fields: fields{
		"oid": is(one.SHA), "message": is(one.Message), "authoredDate": is(stamp(one.Authored)),
	}})}}
}

func reviewNode(one Review) any {
	return &node{kind: "PullRequestReview", fields: fields{
		"author": is(actorNode(one.Author)), "state": is(one.State), "submittedAt": is(stamp(one.Submitted)),
	}}
}

func (c *call) commentNode(t *Thread, o *Comment) *node {
	o.dated(t)
	return &node{kind: "IssueComment", is: []string{"Node", "Comment", "Minimizable"}, fields: fields{
		"id": is(o.node()), "databaseId": is(o.ID), "author": is(actorNode(o.Author)), "body": is(o.Body), "createdAt": is(stamp(o.Created)),
		"updatedAt": is(stamp(o.Updated)), "lastEditedAt": is(stamp(o.Edited)), "isMinimized": is(o.Minimized != ""),
		"minimizedReason": is(text(o.Minimized)), "url": is(fmt.Sprintf("%s/%s/issues/%d#issuecomment-%d", c.URL, t.repo.FullName(), t.Number, o.ID)),
	}}
}

// mutation is the root of writes.
func (c *call) mutation() *node {
	return &node{kind: "Mutation", fields: fields{"minimizeComment": c.minimize}}
}

func (c *call) minimize(a args) any {
	in, _ := a["input"].(map[string]any)
	id, classifier := args(in).str("subjectId"), args(in).str("classifier")
	for _, r := range c.repos {
		for _, t := range r.threads() {
			for _, o := range t.Comments {
				if o.node() == id {
					o.Minimized = strings.ToLower(classifier)
					return &node{kind: "MinimizeCommentPayload", fields: fields{"minimizedComment": is(c.commentNode(t, o)), "clientMutationId": is(nil)}}
				}
			}
		}
	}
	return refusal{"NOT_FOUND", fmt.Sprintf("Could not resolve to a node with the global id of '%s'", id)}
}
