package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/assaybot/assay/internal/flow"
	"github.com/assaybot/assay/internal/git"
)

// gitTool is the git program, which sees just the variables that a clone may
// need.
func gitTool() git.Tool {
	tool := git.Tool{Cache: filepath.Join(cacheDir(), "clones")}
	for _, name := range []string{
		"PATH", "HOME", "USERPROFILE", "TMPDIR", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "SSL_CERT_FILE",
		"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	} {
		if v := os.Getenv(name); v != "" {
			tool.Env = append(tool.Env, name+"="+v)
		}
	}
	tool.Env = append(tool.Env, cloneAuth()...)
	return tool
}

// branches opens branches of remotes with the git program.
func branches() flow.Branches {
	tool := gitTool()
	return func(ctx context.Context, remote, name, folder string) (flow.Branch, error) {
		b, err := tool.Branch(ctx, remote, name, folder)
		if err != nil {
			return nil, err // not a nil *git.Branch in an interface
		}
		return b, nil
	}
}

// repos opens repositories with the git program.
func repos() flow.Repositories {
	tool := gitTool()
	return func(ctx context.Context, name string) (flow.Repository, error) {
		r, err := tool.Find(ctx, name)
		if err != nil {
			return nil, err // not a nil *git.Repo in an interface
		}
		return r, nil
	}
}
