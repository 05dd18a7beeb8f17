package docker

import (
	"context"
	"errors"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
)

// Clean removes what dead processes of ours left: containers in any state,
// volumes and networks. With all it also removes kits and built images. It
// returns the names of what it removed and touches nothing without our
// label, nor anything whose owner lives or is on another machine.
func (s *Sandbox) Clean(ctx context.Context, all bool) ([]string, error) {
	return s.clean(ctx, func(l map[string]string) bool {
		if all && (l[labelRole] == roleEnv || l[labelRole] == roleCA || l[labelRole] == roleKit) {
			return true
		}
		return s.left(l)
	}, all)
}

// Reap removes what an earlier, dead process left of the sandbox's own run.
func (s *Sandbox) Reap(ctx context.Context) ([]string, error) {
	return s.clean(ctx, func(l map[string]string) bool {
		return s.opts.Run != "" && l[labelRun] == s.opts.Run && s.left(l)
	}, false)
}

// left tells whether an object is a dead process's, by its labels.
func (s *Sandbox) left(l map[string]string) bool {
	who, ok := parseOwner(l[labelOwner])
	return ok && who.dead(s.owner)
}

func (s *Sandbox) clean(ctx context.Context, want func(map[string]string) bool, all bool) ([]string, error) {
	ours := filters.NewArgs(filters.Arg("label", labelOwner))
	var removed []string
	steps := []func(context.Context, filters.Args, func(map[string]string) bool) ([]string, error){
		s.cleanContainers,
		func(ctx context.Context, f filters.Args, want func(map[string]string) bool) ([]string, error) {
			return s.cleanVolumes(ctx, f, func(l map[string]string) bool { return want(l) && (all || l[labelRole] != roleKit) })
		},
		s.cleanNetworks,
	}
	if all {
		steps = append(steps, s.cleanImages)
	}
	errs := make([]error, 0, len(steps))
	for _, step := range steps {
		names, err := step(ctx, ours, want)
		removed = append(removed, names...)
		errs = append(errs, err)
	}
	return removed, infra("removing leftovers", errors.Join(errs...))
}

func (s *Sandbox) cleanContainers(ctx context.Context, f filters.Args, want func(map[string]string) bool) ([]string, error) {
	list, err := s.c.ContainerList(ctx, container.ListOptions{All: true, Filters: f})
	if err != nil {
		return nil, err
	}
	removed := make([]string, 0, len(list))
	for _, c := range list {
		// A living process may be filling a kit with it.
		if !want(c.Labels) || !s.left(c.Labels) {
			continue
		}
		if err := s.removeContainer(ctx, c.ID); err != nil {
			return removed, err
		}
		removed = append(removed, "container "+strings.TrimPrefix(strings.Join(c.Names, " "), "/"))
	}
	return removed, nil
}

func (s *Sandbox) cleanVolumes(ctx context.Context, f filters.Args, want func(map[string]string) bool) ([]string, error) {
	list, err := s.c.VolumeList(ctx, volume.ListOptions{Filters: f})
	if err != nil {
		return nil, err
	}
	var removed []string
	// Markers go first: a kit without one is no kit.
	for _, marker := range []bool{true, false} {
		for _, v := range list.Volumes {
			if strings.HasSuffix(v.Name, markerSuffix) != marker || !want(v.Labels) {
				continue
			}
			err := s.c.VolumeRemove(ctx, v.Name, false)
			switch {
			case err == nil:
				removed = append(removed, "volume "+v.Name)
			case isConflict(err) || isGone(err):
				// In use, or removed by another process: both are fine.
			default:
				return removed, err
			}
		}
	}
	return removed, nil
}

func (s *Sandbox) cleanNetworks(ctx context.Context, f filters.Args, want func(map[string]string) bool) ([]string, error) {
	list, err := s.c.NetworkList(ctx, network.ListOptions{Filters: f})
	if err != nil {
		return nil, err
	}
	removed := make([]string, 0, len(list))
	for _, n := range list {
		if !want(n.Labels) {
			continue
		}
		if err := s.c.NetworkRemove(ctx, n.ID); err != nil && !isGone(err) {
			return removed, err
		}
		removed = append(removed, "network "+n.Name)
	}
	return removed, nil
}

func (s *Sandbox) cleanImages(ctx context.Context, _ filters.Args, want func(map[string]string) bool) ([]string, error) {
	list, err := s.c.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelRole))})
	if err != nil {
		return nil, err
	}
	removed := make([]string, 0, len(list))
	for _, img := range list {
		// An image that a person built on ours inherits the label, but not
		// our names.
		tag := ourTag(img.RepoTags)
		if tag == "" || !want(img.Labels) {
			continue
		}
		_, err := s.c.ImageRemove(ctx, tag, image.RemoveOptions{PruneChildren: true})
		if err != nil && !isConflict(err) && !isGone(err) {
			return removed, err
		}
		if err == nil {
			removed = append(removed, "image "+tag)
		}
	}
	return removed, nil
}

func ourTag(tags []string) string {
	for _, t := range tags {
		if strings.HasPrefix(t, "assay-env:") || strings.HasPrefix(t, "assay-ca:") {
			return t
		}
	}
	return ""
}
