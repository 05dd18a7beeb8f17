package github_test

import (
	"testing"

	"github.com/assaybot/assay/internal/github"
)

func TestRow33EveryFormOfAHost(t *testing.T) {
	cloud := github.Host{Web: "https://github.com", REST: "https://api.github.com", GraphQL: "https://api.github.com/graphql"}
	residency := github.Host{Web: "https://acme.ghe.com", REST: "https://api.acme.ghe.com", GraphQL: "https://api.acme.ghe.com/graphql"}
	server := github.Host{Web: "https://git.acme.example", REST: "https://git.acme.example/api/v3", GraphQL: "https://git.acme.example/api/graphql"}
	for in, want := range map[string]github.Host{
		"": cloud, "github.com": cloud, "https://github.com/": cloud, "https://api.github.com": cloud, "api.github.com/graphql": cloud, "GitHub.com": cloud,
		"acme.ghe.com": residency, "https://api.acme.ghe.com/": residency,
		"git.acme.example": server, "https://git.acme.example/": server, "https://git.acme.example/api/v3/": server, "https://git.acme.example/api/graphql": server,
		"https://git.acme.example/api": server,
	} {
		if got, err := github.ParseHost(in); err != nil || got != want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for _, bad := range []string{"ftp://x", "https://", "::"} {
		if _, err := github.ParseHost(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	for _, c := range []struct {
		in   [3]string
		want github.Host
	}{
		{[3]string{"https://api.github.com", "https://api.github.com/graphql", "https://github.com"}, cloud},
		{[3]string{"https://api.github.com", "", ""}, cloud},
		{[3]string{"https://git.acme.example/api/v3", "", ""}, server},
		{[3]string{"", "", "https://git.acme.example"}, server},
		{[3]string{"", "", ""}, cloud},
		{[3]string{"http://127.0.0.1:1", "", ""}, github.Host{Web: "http://127.0.0.1:1", REST: "http://127.0.0.1:1", GraphQL: "http://127.0.0.1:1/graphql"}},
	} {
		if got, err := github.HostOf(c.in[0], c.in[1], c.in[2]); err != nil || got != c.want {
			t.Errorf("%v: %+v, %v", c.in, got, err)
		}
	}
}

func TestParseRepo(t *testing.T) {
	for in, want := range map[string][2]string{
		"acme/shop": {"acme/shop", ""}, "https://github.com/acme/shop": {"acme/shop", "github.com"}, "https://github.com/acme/shop.git/": {"acme/shop", "github.com"},
		"git@github.com:acme/shop.git": {"acme/shop", "github.com"}, "ssh://git@git.acme.example:22/acme/shop.git": {"acme/shop", "git.acme.example:22"},
		"https://x:secret@github.com/acme/shop": {"acme/shop", "github.com"}, "https://github.com/acme/shop/pull/5": {"acme/shop", "github.com"},
	} {
		r, host, err := github.ParseRepo(in)
		if err != nil || r.String() != want[0] || host != want[1] {
			t.Errorf("%q: %v %q %v", in, r, host, err)
		}
	}
	for _, bad := range []string{"", "shop", "/shop", "acme/", "./local/dir", "acme/shop/more"} {
		if r, _, err := github.ParseRepo(bad); err == nil {
			t.Errorf("%q is %v", bad, r)
		}
	}
}

func FuzzParseRepo(f *testing.F) {
	for _, s := range []string{"acme/shop", "git@h:a/b.git", "https://h/a/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, _, err := github.ParseRepo(s); err == nil && (r.Owner == "" || r.Name == "") {
			t.Errorf("%q: %+v", s, r)
		}
	})
}
