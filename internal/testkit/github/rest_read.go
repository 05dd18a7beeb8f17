package github

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
)

func (p place) getRepo() { write(p.w, http.StatusOK, p.repository(p.Repo)) }

func (p place) listPulls() {
	state, head := or(p.r.URL.Query().Get("state"), "open"), p.r.URL.Query().Get("head")
	var out []*Pull
	for i := range p.Pulls {
		one := p.Pulls[len(p.Pulls)-1-i] // the newest first
		if strings.Contains(head, ":") && !strings.EqualFold(head, p.headLabel(one)) {
			continue
		}
		if state == "all" || (one.State == "OPEN") == (state == "open") {
			out = append(out, p.fresh(one))
		}
	}
	write(p.w, http.StatusOK, each(page(p, out), func(one *Pull) object { return p.pull(one, false) }))
}

// headLabel is "owner:branch" of where a pull request comes from.
func (p place) headLabel(one *Pull) string {
	if r := p.headRepo(one); r != nil {
		return r.Owner + ":" + one.Head
	}
	return "unknown:" + one.Head
}

func (p place) getPull() {
	if one := p.Pull(int(p.number("number"))); one != nil {
		write(p.w, http.StatusOK, p.pull(one, true))
		return
	}
	notFound(p.w)
}

func (p place) listIssues() {
	state := or(p.r.URL.Query().Get("state"), "open")
	var out []*Issue
	for _, one := range p.Issues {
		if label := p.r.URL.Query().Get("labels"); label != "" && !slices.Contains(one.Labels, label) {
			continue
		}
		if state == "all" || strings.EqualFold(one.State, state) {
			out = append(out, one)
		}
	}
	write(p.w, http.StatusOK, each(page(p, out), p.issue))
}

func (p place) getIssue() {
	if one := p.Issue(int(p.number("number"))); one != nil {
		write(p.w, http.StatusOK, p.issue(one))
		return
	}
	notFound(p.w)
}

func (p place) listComments() {
	if t, ok := p.thread(int(p.number("number"))); ok {
		write(p.w, http.StatusOK, each(page(p, t.Comments), func(c *Comment) object { return p.commentJSON(t, c) }))
		return
	}
	notFound(p.w)
}

func (p place) getComment() {
	if t, c := p.comment(p.number("id")); c != nil {
		write(p.w, http.StatusOK, p.commentJSON(t, c))
		return
	}
	notFound(p.w)
}

func (p place) listIssueLabels() {
	if t, ok := p.thread(int(p.number("number"))); ok {
		write(p.w, http.StatusOK, p.labels(p.Repo, page(p, t.Labels)))
		return
	}
	notFound(p.w)
}

func (p place) listLabels() {
	write(p.w, http.StatusOK, p.labels(p.Repo, page(p, p.Labels)))
}

// permission answers with the five roles, and the four words that the field
// "permission" knows.
func (p place) permission() {
	user := p.r.PathValue("user")
	role, ok := p.Permissions[user]
	if !ok {
		role = "none"
		if !p.Private {
			role = "read"
		}
	}
	coarse := map[string]string{"maintain": "write", "triage": "read"}
	who, _ := p.actor(typed(user)).(object)
	who["role_name"] = role
	write(p.w, http.StatusOK, object{"permission": or(coarse[role], role), "role_name": role, "user": who})
}

func (p place) getRef() {
	branch := p.r.PathValue("branch")
	commit, ok := p.Heads[branch]
	if !ok {
		notFound(p.w)
		return
	}
	u := p.api("/repos/%s/git", p.FullName())
	write(p.w, http.StatusOK, object{"ref": "refs/heads/" + branch, "node_id": "REF_" + branch, "url": u + "/refs/heads/" + branch,
		"object": object{"type": "commit", "sha": commit, "url": u + "/commits/" + commit}})
}

func (p place) getBranch() {
	branch := p.r.PathValue("branch")
	commit, ok := p.Heads[branch]
	if !ok {
		problem(p.w, http.StatusNotFound, "Branch not found", "https://docs.github.com/rest/branches/branches#get-a-branch")
		return
	}
	u, repo := p.api("/repos/%s/branches/%s", p.FullName(), branch), p.api("/repos/%s", p.FullName())
	person := object{"name": "octocat", "email": "octocat@example.com", "date": stamp(p.createdAt)}
	write(p.w, http.StatusOK, object{
		"name": branch, "protected": false, "protection": object{}, "protection_url": u + "/protection",
		"_links": object{"self": u, "html": p.URL + "/" + p.FullName() + "/tree/" + branch},
		"commit": object{
			"sha": commit, "node_id": "C_1", "url": repo + "/commits/" + commit, "html_url": repo + "/commit/" + commit,
			"comments_url": repo + "/commits/" + commit + "/comments", "author": p.actor(User("octocat")), "committer": p.actor(User("octocat")),
			"parents": []object{},
			"commit": object{"author": person, "committer": person, "comment_count": 0, "message": "tip", "url": repo + "/git/commits/" + commit,
				"tree": object{"sha": commit, "url": repo + "/git/trees/" + commit}},
		},
	})
}

func (p place) getContents() {
	name := p.r.PathValue("path")
	data, ok := p.Files[name]
	if !ok {
		notFound(p.w)
		return
	}
	u := p.api("/repos/%s/contents/%s", p.FullName(), name)
	blob := p.api("/repos/%s/git/blobs/%s", p.FullName(), sha("blob", p.ID, len(data)))
	web := fmt.Sprintf("%s/%s/blob/%s/%s", p.URL, p.FullName(), p.Default, name)
	write(p.w, http.StatusOK, object{
		"type": "file", "name": path.Base(name), "path": name, "sha": sha("blob", p.ID, len(data)), "size": len(data), "encoding": "base64",
		"content": base64.StdEncoding.EncodeToString(data), "url": u, "git_url": blob, "html_url": web, "download_url": web,
		"_links": object{"self": u, "git": blob, "html": web},
	})
}
