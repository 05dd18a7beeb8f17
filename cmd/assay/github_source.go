package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
	"github.com/assaybot/assay/internal/github"
)

// fullName is a repository as people name it on GitHub. An owner begins with
// no dot, so that it can't be taken for a folder such as ../thing.
var fullName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*/[\w.-]+$`)

// texts finds the GitHub server of a repository, nil where it is on none.
func texts(_ context.Context, t flow.MineTarget) (*flow.TextServer, error) {
	named := fullName.MatchString(t.Repo)
	repo, at, err := github.ParseRepo(t.Repo)
	if err != nil || !named && at == "" {
		return nil, nil
	}
	host, err := serverOf(t, at)
	if err != nil || host == nil {
		return nil, err
	}
	token := cmp.Or(os.Getenv("GITHUB_TOKEN"), os.Getenv("GH_TOKEN"))
	if token == "" {
		return nil, assay.Userf("reading the texts of %s from %s needs a token: set GITHUB_TOKEN or GH_TOKEN (it needs to read pull requests, issues and contents).\n"+
			"Without one, clone it and mine the folder: then the messages of commits stand in for the texts", repo, host.Web)
	}
	transport := github.NewTransport(github.Options{
		Host: *host, UserAgent: "assay/" + version(),
		Token: func(context.Context) (string, error) { return token, nil },
		Notify: func(why string, d time.Duration) {
			fmt.Fprintf(os.Stderr, "assay: waiting %s for GitHub: %s\n", d.Round(time.Second), why)
		},
	})
	s := &flow.TextServer{Name: repo.String(), URL: host.Web + "/" + repo.String(), Clone: t.Repo}
	if named {
		s.Clone = s.URL
	}
	s.Open = func(page int) flow.PagedTexts {
		return paged{github.NewSource(transport, repo, github.State{Page: page})}
	}
	return s, nil
}

// paged tells the size of a page as flow wants it.
type paged struct{ *github.Source }

func (p paged) Page() int { return p.State().Page }

// serverOf is the GitHub of a repository whose address names the host at ("" if
// it is a bare name): by flags, else by the environment. It is nil where
// nothing says that the host is a GitHub.
func serverOf(t flow.MineTarget, at string) (*github.Host, error) {
	api, graph, web := t.API, "", t.Server
	if api == "" && web == "" {
		api, graph, web = os.Getenv("GITHUB_API_URL"), os.Getenv("GITHUB_GRAPHQL_URL"), os.Getenv("GITHUB_SERVER_URL")
	}
	h, err := github.HostOf(api, graph, web)
	if err != nil {
		return nil, err
	}
	if at == "" || sameHost(h.Web, at) {
		return &h, nil
	}
	if t.API != "" || t.Server != "" {
		return nil, assay.Userf("%s is not on %s; name the server of its address, or write --repo OWNER/NAME", t.Repo, h.Web)
	}
	name, _, _ := strings.Cut(strings.ToLower(at), ":")
	if name == "github.com" || name == "www.github.com" || strings.HasSuffix(name, ".ghe.com") {
		h, err = github.ParseHost(at)
		return &h, err
	}
	return nil, nil
}

// sameHost compares a server's address with a host as addresses name it; that
// of an ssh address may have another port.
func sameHost(web, at string) bool {
	u, err := url.Parse(web)
	if err != nil {
		return false
	}
	name, _, _ := strings.Cut(at, ":")
	return strings.EqualFold(u.Host, at) || strings.EqualFold(u.Hostname(), name) && !strings.Contains(u.Host, ":")
}

// cloneAuth lets git clone what the token may see, from the server of the
// environment and by https only. It goes by the environment, which other
// users of the machine can't read as they can arguments.
func cloneAuth() []string {
	token := cmp.Or(os.Getenv("GITHUB_TOKEN"), os.Getenv("GH_TOKEN"))
	h, err := github.HostOf(os.Getenv("GITHUB_API_URL"), os.Getenv("GITHUB_GRAPHQL_URL"), os.Getenv("GITHUB_SERVER_URL"))
	if err != nil || token == "" || !strings.HasPrefix(h.Web, "https://") {
		return nil
	}
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
	return []string{
		"GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=http." + h.Web + "/.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic " + basic,
	}
}
