package github

import (
	"fmt"
	"net/http"
	"strings"
)

// noPulls is what GitHub says where the repository's settings keep workflows
// from making pull requests.
const noPulls = "GitHub Actions is not permitted to create or approve pull requests."

// head is the tip of a branch: Resolve's where there is one.
func (r *Repo) head(branch string) string {
	if r.Resolve != nil {
		if commit := r.Resolve(branch); commit != "" {
			return commit
		}
	}
	return r.Heads[branch]
}

// createPull makes a pull request from a branch of the same repository.
func (p place) createPull() {
	var in struct{ Title, Body, Head, Base string }
	if !p.decode(&in) {
		return
	}
	if p.NoPulls {
		problem(p.w, http.StatusForbidden, noPulls, "https://docs.github.com/rest/pulls/pulls#create-a-pull-request")
		return
	}
	head := in.Head[strings.Index(in.Head, ":")+1:]
	switch {
	case in.Title == "":
		invalid(p.w, "PullRequest", "title", "title can't be blank")
		return
	case p.head(head) == "":
		invalid(p.w, "PullRequest", "head", "head is not a branch")
		return
	case p.head(in.Base) == "":
		invalid(p.w, "PullRequest", "base", "base is not a branch")
		return
	}
	for _, one := range p.Pulls {
		if one.State == "OPEN" && one.Head == head && one.HeadRepo == "" {
			invalid(p.w, "PullRequest", "head", fmt.Sprintf("A pull request already exists for %s:%s.", p.Owner, head))
			return
		}
	}
	now := p.Now().UTC()
	one := &Pull{Thread: Thread{Title: in.Title, Body: in.Body, Author: typed(p.token.Login), Created: now, Updated: now},
		State: "OPEN", Base: in.Base, Head: head, HeadSHA: p.head(head)}
	p.settle(&one.Thread)
	p.Pulls = append(p.Pulls, one)
	p.w.Header().Set("Location", p.api("/repos/%s/pulls/%d", p.FullName(), one.Number))
	write(p.w, http.StatusCreated, p.pull(one, true))
}

// updatePull changes what is given of a pull request.
func (p place) updatePull() {
	one := p.Pull(int(p.number("number")))
	if one == nil {
		notFound(p.w)
		return
	}
	var in struct{ Title, Body, State *string }
	if !p.decode(&in) {
		return
	}
	if in.State != nil && one.State != "MERGED" {
		one.State = map[string]string{"open": "OPEN", "closed": "CLOSED"}[*in.State]
	}
	set(&one.Title, in.Title)
	set(&one.Body, in.Body)
	one.Updated = p.Now().UTC()
	write(p.w, http.StatusOK, p.pull(one, true))
}

// fresh takes over what git knows of a pull request's branch.
func (p place) fresh(one *Pull) *Pull {
	if one.State == "OPEN" && one.HeadRepo == "" && p.Resolve != nil {
		if commit := p.Resolve(one.Head); commit != "" {
			one.HeadSHA = commit
		}
	}
	return one
}
