package github

import (
	"net/url"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// Host is where one GitHub lives: three addresses, none with a slash at its
// end.
type Host struct {
	Web     string // https://github.com
	REST    string // https://api.github.com, or https://HOST/api/v3
	GraphQL string // https://api.github.com/graphql, or https://HOST/api/graphql
}

// ParseHost makes a host of what a person wrote: nothing (github.com), a host
// name, or any of the three addresses. A name that is neither github.com nor
// under ghe.com is an Enterprise Server.
func ParseHost(s string) (Host, error) {
	if s = strings.TrimSpace(s); s == "" {
		s = "github.com"
	}
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Host{}, assay.Userf("%q is no address of a GitHub server; write a host name, or https://HOST", s)
	}
	name := strings.ToLower(u.Hostname())
	switch {
	case name == "github.com" || name == "www.github.com" || name == "api.github.com":
		return cloud("github.com"), nil
	case strings.HasSuffix(name, ".ghe.com"):
		return cloud(strings.TrimPrefix(name, "api.")), nil
	}
	base := u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")
	for _, tail := range []string{"/api/v3", "/api/graphql", "/api"} {
		base = strings.TrimSuffix(base, tail)
	}
	return Host{Web: base, REST: base + "/api/v3", GraphQL: base + "/api/graphql"}, nil
}

func cloud(name string) Host {
	return Host{Web: "https://" + name, REST: "https://api." + name, GraphQL: "https://api." + name + "/graphql"}
}

// HostOf makes a host of the three addresses that a workflow's runner tells,
// as they are; those that are empty are derived from the others.
func HostOf(rest, graphql, web string) (Host, error) {
	if rest == "" {
		h, err := ParseHost(first(web, graphql))
		return Host{Web: first(web, h.Web), REST: h.REST, GraphQL: first(graphql, h.GraphQL)}, err
	}
	rest = strings.TrimSuffix(rest, "/")
	u, err := url.Parse(rest)
	if err != nil || u.Host == "" {
		return Host{}, assay.Userf("%q is no address of a GitHub API", rest)
	}
	h := Host{REST: rest, GraphQL: rest + "/graphql", Web: u.Scheme + "://" + strings.TrimPrefix(u.Host, "api.")}
	if base, ok := strings.CutSuffix(rest, "/api/v3"); ok {
		h.GraphQL, h.Web = base+"/api/graphql", base
	}
	h.GraphQL, h.Web = first(strings.TrimSuffix(graphql, "/"), h.GraphQL), first(strings.TrimSuffix(web, "/"), h.Web)
	return h, nil
}

func first(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// owns tells whether an address belongs to the host, so that it may be given
// the token.
func (h Host) owns(u *url.URL) bool {
	for _, mine := range []string{h.REST, h.GraphQL} {
		if m, err := url.Parse(mine); err == nil && m.Scheme == u.Scheme && strings.EqualFold(m.Host, u.Host) {
			return true
		}
	}
	return false
}

// Repo names a repository on its host.
type Repo struct{ Owner, Name string }

func (r Repo) String() string { return r.Owner + "/" + r.Name }

// ParseRepo reads "owner/name", a web address or a git remote
// (https://, ssh://, git@host:owner/name.git). The host is "" when it isn't
// said.
func ParseRepo(s string) (r Repo, host string, err error) {
	rest := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(s), "/"), ".git")
	if _, after, ok := strings.Cut(rest, "://"); ok {
		host, rest, _ = strings.Cut(after, "/")
	} else if at, path, ok := strings.Cut(rest, ":"); ok {
		host, rest = at, path
	}
	if _, after, ok := strings.Cut(host, "@"); ok {
		host = after
	}
	parts := strings.Split(rest, "/")
	if len(parts) < 2 || parts[0] == "" || parts[1] == "" || host == "" && len(parts) != 2 || strings.ContainsAny(rest, " ?#\\") {
		return Repo{}, "", assay.Userf("%q names no repository on GitHub; write OWNER/NAME or its address", s)
	}
	return Repo{Owner: parts[0], Name: parts[1]}, host, nil
}
