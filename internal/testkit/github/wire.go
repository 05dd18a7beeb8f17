package github

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// stamp is a time of the wire; nil for none.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

func (s *Server) api(format string, args ...any) string {
	return s.URL + fmt.Sprintf(format, args...)
}

// actor is a user of REST; nil for a deleted account.
func (s *Server) actor(a Actor) any {
	if a.Login == "" {
		return nil
	}
	login := a.Login
	if a.Type == "Bot" && !strings.HasSuffix(login, "[bot]") {
		login += "[bot]"
	}
	id := int64(0)
	for _, c := range login {
		id = (id*31 + int64(c)) % 100000007
	}
	u := s.api("/users/%s", strings.NewReplacer("[", "%5B", "]", "%5D").Replace(login))
	return object{
		"login": login, "id": id, "node_id": fmt.Sprintf("U_%d", id), "avatar_url": s.URL + "/avatar", "gravatar_id": "",
		"url": u, "html_url": s.URL + "/" + login, "followers_url": u + "/followers", "following_url": u + "/following{/other_user}",
		"gists_url": u + "/gists{/gist_id}", "starred_url": u + "/starred{/owner}{/repo}", "subscriptions_url": u + "/subscriptions",
		"organizations_url": u + "/orgs", "repos_url": u + "/repos", "events_url": u + "/events{/privacy}",
		"received_events_url": u + "/received_events", "type": or(a.Type, "User"), "site_admin": false,
	}
}

// typed is an actor by login; "[bot]" at its end makes a Bot.
func typed(login string) Actor {
	if strings.HasSuffix(login, "[bot]") {
		return Bot(login)
	}
	return User(login)
}

// repoURLs are the links of a repository, by name and by what follows its
// address.
func repoURLs() map[string]string {
	return map[string]string{
		"archive": "/{archive_format}{/ref}", "assignees": "/assignees{/user}", "blobs": "/git/blobs{/sha}", "branches": "/branches{/branch}",
		"collaborators": "/collaborators{/collaborator}", "comments": "/comments{/number}", "commits": "/commits{/sha}",
		"compare": "/compare/{base}...{head}", "contents": "/contents/{+path}", "contributors": "/contributors", "deployments": "/deployments",
		"downloads": "/downloads", "events": "/events", "forks": "/forks", "git_commits": "/git/commits{/sha}", "git_refs": "/git/refs{/sha}",
		"git_tags": "/git/tags{/sha}", "hooks": "/hooks", "issue_comment": "/issues/comments{/number}", "issue_events": "/issues/events{/number}",
		"issues": "/issues{/number}", "keys": "/keys{/key_id}", "labels": "/labels{/name}", "languages": "/languages", "merges": "/merges",
		"milestones": "/milestones{/number}", "notifications": "/notifications{?since,all,participating}", "pulls": "/pulls{/number}",
		"releases": "/releases{/id}", "stargazers": "/stargazers", "statuses": "/statuses/{sha}", "subscribers": "/subscribers",
		"subscription": "/subscription", "tags": "/tags", "teams": "/teams", "trees": "/git/trees{/sha}",
	}
}

func (s *Server) repository(r *Repo) object {
	u, web := s.api("/repos/%s", r.FullName()), s.URL+"/"+r.FullName()
	out := object{
		"id": r.ID, "node_id": fmt.Sprintf("R_%d", r.ID), "name": r.Name, "full_name": r.FullName(), "owner": s.actor(Actor{r.Owner, "Organization"}),
		"private": r.Private, "fork": r.Fork, "html_url": web, "description": nil, "url": u, "clone_url": web + ".git",
		"git_url": "git://example/" + r.FullName() + ".git", "ssh_url": "git@example:" + r.FullName() + ".git", "svn_url": web, "mirror_url": nil,
		"default_branch": r.Default, "homepage": nil, "language": nil, "license": nil, "forks": 0, "forks_count": 0, "stargazers_count": 0,
		"watchers": 0, "watchers_count": 0, "size": 1, "open_issues": 0, "open_issues_count": 0, "has_issues": true, "has_projects": false,
		"has_wiki": false, "has_downloads": true, "has_pages": false, "has_discussions": false, "archived": false, "disabled": false, "network_count": 0,
		"subscribers_count": 0, "pushed_at": stamp(r.createdAt), "created_at": stamp(r.createdAt), "updated_at": stamp(r.createdAt),
	}
	for name, tail := range repoURLs() {
		out[name+"_url"] = u + tail
	}
	return out
}

func (s *Server) label(r *Repo, name string) object {
	id := int64(0)
	for _, c := range name {
		id = (id*31 + int64(c)) % 100000007
	}
	return object{"id": id, "node_id": fmt.Sprintf("LA_%d", id), "url": s.api("/repos/%s/labels/%d", r.FullName(), id),
		"name": name, "description": nil, "color": "ededed", "default": false}
}

func (s *Server) labels(r *Repo, names []string) []object {
	return each(names, func(n string) object { return s.label(r, n) })
}

func (s *Server) issue(i *Issue) object {
	r := i.repo
	u, web := s.api("/repos/%s/issues/%d", r.FullName(), i.Number), fmt.Sprintf("%s/%s/issues/%d", s.URL, r.FullName(), i.Number)
	return object{
		"id": i.ID, "node_id": fmt.Sprintf("I_%d", i.ID), "number": i.Number, "title": i.Title, "body": i.Body, "state": strings.ToLower(i.State),
		"user": s.actor(i.Author), "labels": s.labels(r, i.Labels), "assignee": nil, "assignees": []object{}, "milestone": nil, "locked": false,
		"comments": len(i.Comments), "created_at": stamp(i.Created), "updated_at": stamp(i.Updated), "closed_at": stamp(i.Closed),
		"author_association": "NONE", "url": u, "html_url": web, "repository_url": s.api("/repos/%s", r.FullName()),
		"comments_url": u + "/comments", "events_url": u + "/events", "labels_url": u + "/labels{/name}",
	}
}

func (s *Server) pull(p *Pull, whole bool) object {
	r := p.repo
	u := s.api("/repos/%s/pulls/%d", r.FullName(), p.Number)
	state := "open"
	if p.State != "OPEN" {
		state = "closed"
	}
	out := object{
		"id": p.ID, "node_id": fmt.Sprintf("PR_%d", p.ID), "number": p.Number, "title": p.Title, "body": p.Body, "state": state,
		"user": s.actor(p.Author), "labels": s.labels(r, p.Labels), "assignee": nil, "milestone": nil, "locked": false, "draft": false,
		"created_at": stamp(p.Created), "updated_at": stamp(p.Updated), "closed_at": stamp(p.Closed), "merged_at": stamp(p.Merged),
		"merge_commit_sha": nil, "author_association": "NONE", "auto_merge": nil,
		"base": s.side(r, p.Base, r.Heads[p.Base]), "head": s.side(s.headRepo(p), p.Head, p.HeadSHA),
	}
	if p.MergeCommit != "" {
		out["merge_commit_sha"] = p.MergeCommit
	}
	s.pullLinks(out, p, u)
	if whole {
		more := object{"additions": 1, "changed_files": 1, "comments": len(p.Comments), "commits": max(1, len(p.Commits)), "deletions": 0,
			"mergeable": nil, "mergeable_state": "unknown", "merged": p.State == "MERGED", "maintainer_can_modify": false, "merged_by": nil,
			"review_comments": 0}
		maps.Copy(out, more)
	}
	return out
}

func (s *Server) pullLinks(out object, p *Pull, u string) {
	issue, web := s.api("/repos/%s/issues/%d", p.repo.FullName(), p.Number), fmt.Sprintf("%s/%s/pull/%d", s.URL, p.repo.FullName(), p.Number)
	links := map[string]string{
		"self": u, "html": web, "issue": issue, "comments": issue + "/comments", "review_comments": u + "/comments",
		"review_comment": s.api("/repos/%s/pulls/comments{/number}", p.repo.FullName()), "commits": u + "/commits",
		"statuses": s.api("/repos/%s/statuses/%s", p.repo.FullName(), p.HeadSHA),
	}
	all := object{}
	for name, to := range links {
		all[name] = object{"href": to}
		if name != "self" {
			out[name+"_url"] = to
		}
	}
	out["url"], out["_links"], out["diff_url"], out["patch_url"] = u, all, web+".diff", web+".patch"
}

// headRepo is where a pull request's branch lives; nil when the fork is gone.
func (s *Server) headRepo(p *Pull) *Repo {
	if p.HeadRepo == "" {
		return p.repo
	}
	return s.repo(p.HeadRepo)
}

func (s *Server) side(r *Repo, branch, commit string) object {
	if r == nil {
		return object{"label": "unknown:" + branch, "ref": branch, "sha": commit, "user": nil, "repo": nil}
	}
	return object{"label": r.Owner + ":" + branch, "ref": branch, "sha": commit, "user": s.actor(Actor{r.Owner, "Organization"}), "repo": s.repository(r)}
}

func (s *Server) commentJSON(t *Thread, c *Comment) object {
	c.dated(t)
	u := s.api("/repos/%s/issues/comments/%d", t.repo.FullName(), c.ID)
	out := object{
		"id": c.ID, "node_id": c.node(), "url": u, "html_url": fmt.Sprintf("%s/%s/issues/%d#issuecomment-%d", s.URL, t.repo.FullName(), t.Number, c.ID),
		"issue_url": s.api("/repos/%s/issues/%d", t.repo.FullName(), t.Number), "body": c.Body, "user": s.actor(c.Author),
		"created_at": stamp(c.Created), "updated_at": stamp(c.Updated), "author_association": "NONE",
	}
	if c.Author.Login == AppLogin {
		out["performed_via_github_app"] = s.app()
	}
	return out
}

func (s *Server) app() object {
	return object{
		"id": AppID, "node_id": "A_1", "slug": strings.TrimSuffix(AppLogin, "[bot]"), "owner": s.actor(User("octocat")), "name": "assay test",
		"description": nil, "external_url": s.URL, "html_url": s.URL + "/apps/assay-test", "created_at": "2025-01-01T00:00:00Z",
		"updated_at": "2025-01-01T00:00:00Z", "permissions": object{"checks": "write"}, "events": []string{},
	}
}
