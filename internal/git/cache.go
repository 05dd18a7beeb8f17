package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
)

// Find opens what a user named as a repository: a folder of this machine, or
// an address, of which a bare clone is kept in the cache and shared.
func (t Tool) Find(ctx context.Context, name string) (*Repo, error) {
	if !remote(name) {
		return t.Open(ctx, name)
	}
	return t.clone(ctx, name)
}

func remote(name string) bool {
	if strings.Contains(name, "://") {
		return true
	}
	// scp-like addresses: git@host:owner/name
	host, _, ok := strings.Cut(name, ":")
	return ok && strings.Contains(host, "@") && !strings.ContainsAny(host, `/\`)
}

// clone makes or updates the bare clone of an address, without the blobs that
// nobody asked for where the server can leave them out.
func (t Tool) clone(ctx context.Context, url string) (*Repo, error) {
	if t.Cache == "" {
		return nil, assay.Userf("no folder for clones is set")
	}
	sum := sha256.Sum256([]byte(WithoutCredentials(url)))
	dir := filepath.Join(t.Cache, assay.SafeName(filepath.Base(strings.TrimSuffix(url, "/")), 40)+"-"+hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(t.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of clones: %w", err)
	}
	release, err := disk.Lock(dir+".lock", "cloning "+WithoutCredentials(url))
	if err != nil {
		return nil, err
	}
	defer func() { _ = release() }()
	if _, err := os.Stat(dir); err == nil {
		_, err = t.run(ctx, dir, "fetch", "--quiet", "--prune", "--no-tags", "origin", "+refs/heads/*:refs/heads/*")
		return &Repo{tool: t, dir: dir}, network("updating the clone of", url, err)
	}
	tmp := dir + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		return nil, err
	}
	if _, err := t.run(ctx, t.Cache, "clone", "--quiet", "--bare", "--filter=blob:none", "--no-tags", "--", url, tmp); err != nil {
		return nil, network("cloning", url, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return nil, fmt.Errorf("keeping the clone: %w", err)
	}
	return &Repo{tool: t, dir: dir}, nil
}

func network(doing, url string, err error) error {
	return assay.Infra(assay.InfraNetwork, doing+" "+WithoutCredentials(url), err)
}
