package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
)

// noneLeft checks that the engine holds no container, volume or network of
// the run in a folder. Other runs of this machine are none of our business.
func (p *person) noneLeft(dir string) {
	p.t.Helper()
	if dockerFault() != nil {
		return
	}
	c := engineClient(p.t)
	sum := sha256.Sum256([]byte(p.path(dir)))
	f := filters.NewArgs(filters.Arg("label", "io.assay.run="+hex.EncodeToString(sum[:6])))
	ctx := p.t.Context()
	containers, err := c.ContainerList(ctx, container.ListOptions{All: true, Filters: f})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, x := range containers {
		p.t.Errorf("left behind: container %v, %s", x.Names, x.State)
	}
	volumes, err := c.VolumeList(ctx, volume.ListOptions{Filters: f})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, v := range volumes.Volumes {
		if v.Labels["io.assay.role"] != "kit" {
			p.t.Errorf("left behind: volume %s", v.Name)
			continue
		}
		// Kept for the next run on purpose; a test's has none.
		if err := c.VolumeRemove(ctx, v.Name, true); err != nil {
			p.t.Error(err)
		}
	}
	networks, err := c.NetworkList(ctx, network.ListOptions{Filters: f})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, n := range networks {
		p.t.Errorf("left behind: network %s", n.Name)
	}
}

func engineClient(t testing.TB) *client.Client {
	t.Helper()
	opts := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		opts = append(opts, client.WithHost(host))
	}
	c, err := client.NewClientWithOpts(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
