package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// A kit is complete when the marker volume beside it exists: volumes can't
// be renamed or labelled later.
const markerSuffix = ".complete"

// kitTime bounds the installation of a kit.
const kitTime = 20 * time.Minute

// kit is the volume that holds a kit, filled at the first call of all
// processes that use this engine.
func (s *Sandbox) kit(ctx context.Context, k run.Kit, img run.Image) (string, error) {
	name, err := kitVolume(k)
	if err != nil {
		return "", err
	}
	free, err := s.locks.lock(ctx, "kit "+name)
	if err != nil {
		return "", err
	}
	defer free()
	// Looked at every time: somebody may have removed it meanwhile, and the
	// engine would silently mount an empty one.
	if err := s.makeKit(ctx, k, name, img); err != nil {
		return "", infra("installing the kit "+k.Name, err)
	}
	return name, nil
}

// kitVolume names a kit's volume by what it is made of, wherever its folder
// lies.
func kitVolume(k run.Kit) (string, error) {
	h := sha256.New()
	// A hash takes everything.
	_, _ = fmt.Fprintf(h, "%q %q\n", k.Name, k.Install)
	if k.Dir != "" {
		err := filepath.WalkDir(k.Dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			p = strings.TrimPrefix(p, k.Dir)
			_, _ = fmt.Fprintf(h, "%q %d %d %s\n", p, info.Size(), info.ModTime().UnixNano(), info.Mode())
			return nil
		})
		if err != nil {
			return "", &assay.UserError{Text: "reading the folder of kit " + k.Name, Err: err}
		}
	}
	return "assay-kit-" + plain(k.Name) + "-" + hex.EncodeToString(h.Sum(nil))[:16], nil
}

func (s *Sandbox) complete(ctx context.Context, name string) (bool, error) {
	for _, v := range []string{name, name + markerSuffix} {
		got, err := s.c.VolumeInspect(ctx, v)
		if isGone(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if got.Labels[labelRole] != roleKit {
			return false, nil
		}
	}
	return true, nil
}

// makeKit fills a kit's volume. The engine allows one container of a name:
// that is the lock between processes.
func (s *Sandbox) makeKit(ctx context.Context, k run.Kit, name string, img run.Image) error {
	for {
		done, err := s.complete(ctx, name)
		if err != nil || done {
			return err
		}
		lock, err := s.c.ContainerCreate(ctx,
			&container.Config{Image: img.Ref, Entrypoint: []string{"/none"}, Labels: s.labels("", roleKit)},
			&container.HostConfig{NetworkMode: "none"}, nil, nil, name+"-lock")
		if err == nil {
			return s.fillKitLocked(ctx, k, name, img, lock.ID)
		}
		if !isConflict(err) {
			return err
		}
		if err := s.waitForKit(ctx, name+"-lock"); err != nil {
			return err
		}
	}
}

// waitForKit waits a little for another process, or clears up after a dead
// one.
func (s *Sandbox) waitForKit(ctx context.Context, lock string) error {
	list, err := s.c.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("name", "^/"+lock+"$"))})
	if err != nil {
		return err
	}
	for _, c := range list {
		who, ok := parseOwner(c.Labels[labelOwner])
		if ok && who.dead(s.owner) {
			return s.removeContainer(ctx, c.ID)
		}
	}
	t := time.NewTimer(200 * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (s *Sandbox) fillKitLocked(ctx context.Context, k run.Kit, name string, img run.Image, lock string) (err error) {
	defer func() {
		ctx, cancel := closing(ctx)
		defer cancel()
		err = errors.Join(err, s.removeContainer(ctx, lock))
	}()
	// Another process may have finished between the look and the lock.
	if done, err := s.complete(ctx, name); err != nil || done {
		return err
	}
	labels := s.labels("", roleKit)
	labels[labelKit] = k.Name
	// What a dead process left is half a kit. It is made anew, also when it
	// is an unlabelled stray that a container's start made.
	for _, v := range []string{name + markerSuffix, name} {
		if err := s.removeVolume(ctx, v); err != nil {
			return err
		}
	}
	if _, err := s.c.VolumeCreate(ctx, volume.CreateOptions{Name: name, Labels: labels}); err != nil {
		return err
	}
	if err := s.fillKit(ctx, k, name, img); err != nil {
		clear, cancel := closing(ctx)
		defer cancel()
		return errors.Join(err, s.removeVolume(clear, name))
	}
	_, err = s.c.VolumeCreate(ctx, volume.CreateOptions{Name: name + markerSuffix, Labels: labels})
	return err
}

// fillKit fills the volume through a box that may write it, and reach the
// network when the kit has to be installed.
func (s *Sandbox) fillKit(ctx context.Context, k run.Kit, name string, img run.Image) (err error) {
	ctx, cancel := context.WithTimeout(ctx, kitTime)
	defer cancel()
	if s.opts.KitImage != "" && k.Dir == "" {
		if img, err = s.present(ctx, s.opts.KitImage, "", io.Discard); err != nil {
			return err
		}
	}
	at := run.KitDir + "/" + k.Name
	spec := run.BoxSpec{Run: s.opts.Run, Role: roleKit, Image: img, Network: k.Dir == ""}
	b, err := s.open(ctx, spec, []mount.Mount{volumeMount(name, at, false)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	if k.Dir != "" {
		return s.copyKit(ctx, k, b, at)
	}
	return s.installKit(ctx, k, b, at)
}

func (s *Sandbox) copyKit(ctx context.Context, k run.Kit, b *box, at string) error {
	r, w := io.Pipe()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = w.CloseWithError(tarFolder(w, k.Dir))
	}()
	err := b.Put(ctx, at, false, r)
	_ = r.Close()
	<-sent
	return err
}

// tarFolder writes a folder of this machine as a tar stream, links as links.
func tarFolder(w io.Writer, dir string) error {
	tw := tar.NewWriter(w)
	if err := tw.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return tw.Close()
}

func (s *Sandbox) installKit(ctx context.Context, k run.Kit, b *box, at string) error {
	if err := b.Clear(ctx, at); err != nil {
		return err
	}
	env := map[string]string{"KIT": at}
	for name, value := range s.opts.Proxies {
		env[name] = value
	}
	if len(s.opts.CA) > 0 {
		if err := b.Put(ctx, "/tmp/ca", true, oneFile("ca.pem", 0o644, s.opts.CA)); err != nil {
			return err
		}
		for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "PIP_CERT", "npm_config_cafile"} {
			env[name] = "/tmp/ca/ca.pem"
		}
	}
	for _, line := range k.Install {
		var said tail
		x, err := b.Run(ctx, run.Command{
			Argv: []string{"/bin/sh", "-ec", line}, Dir: at, Env: env, Stdout: &said, Stderr: &said,
		})
		switch {
		case err != nil:
			return err
		case x.Killed:
			return errors.Join(ctx.Err(), fmt.Errorf("%q was stopped: %s", line, said.text()))
		case x.Code != 0:
			return fmt.Errorf("%q ended with status %d: %s", line, x.Code, said.text())
		}
	}
	return nil
}
