package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/docker/docker/api/types/container"

	"github.com/assaybot/assay/internal/run"
)

const (
	caFolder = "/usr/local/share/ca-certificates"
	caName   = "assay-build.crt"
	caFile   = caFolder + "/" + caName
	// maxBundle bounds a bundle of authorities that is read from an image.
	maxBundle = 8 << 20
)

// bundles are where distributions keep the authorities that they trust.
func bundles() []string {
	return []string{
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
	}
}

// trusting is a Dockerfile whose base images trust our authorities. The
// variables that it declares name files and last for the build only.
func (s *Sandbox) trusting(ctx context.Context, text, platform string, log io.Writer) (string, error) {
	return rewriteFrom(text, func(ref string) (string, []string, error) {
		img, err := s.present(ctx, ref, platform, log)
		if err != nil {
			return "", nil, err
		}
		tag, bundle, err := s.trustingBase(ctx, img)
		if err != nil {
			return "", nil, infra("giving image "+ref+" the certificate authorities", err)
		}
		return tag, trustArgs(bundle), nil
	})
}

func trustArgs(bundle string) []string {
	lines := []string{"ARG NODE_EXTRA_CA_CERTS=" + caFile}
	if bundle == "" {
		return lines
	}
	for _, name := range []string{"SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO"} {
		lines = append(lines, "ARG "+name+"="+bundle)
	}
	return lines
}

func (s *Sandbox) caTag(img run.Image) string {
	sum := sha256.Sum256(append([]byte(img.Digest+"\n"), s.opts.CA...))
	return "assay-ca:" + hex.EncodeToString(sum[:16])
}

// trustingBase is img with our authorities added to its own, and the path of
// its bundle ("" when it has none). No program of the image runs for it.
func (s *Sandbox) trustingBase(ctx context.Context, img run.Image) (tag, bundle string, err error) {
	tag = s.caTag(img)
	free, err := s.locks.lock(ctx, tag)
	if err != nil {
		return "", "", err
	}
	defer free()
	base, err := s.c.ImageInspect(ctx, img.Ref)
	if err != nil {
		return "", "", err
	}
	made, err := s.c.ContainerCreate(ctx,
		&container.Config{Image: img.Ref, Cmd: []string{"/none"}, Labels: s.labels("", roleCA)},
		&container.HostConfig{NetworkMode: "none"}, nil, nil, unique(roleCA))
	if err != nil {
		return "", "", err
	}
	defer func() {
		ctx, cancel := closing(ctx)
		defer cancel()
		err = errors.Join(err, s.removeContainer(ctx, made.ID))
	}()
	if bundle, err = s.addAuthorities(ctx, made.ID); err != nil {
		return "", "", err
	}
	if _, err := s.lookUp(ctx, tag); err == nil {
		return tag, bundle, nil
	}
	config := &container.Config{Labels: imageLabels(roleCA)}
	if c := base.Config; c != nil {
		config.User, config.Env, config.Entrypoint, config.Cmd = c.User, c.Env, c.Entrypoint, c.Cmd
		config.WorkingDir, config.Volumes, config.Shell = c.WorkingDir, c.Volumes, c.Shell
		config.StopSignal, config.OnBuild = c.StopSignal, c.OnBuild
	}
	_, err = s.c.ContainerCommit(ctx, made.ID, container.CommitOptions{Reference: tag, Config: config})
	return tag, bundle, err
}

// addAuthorities adds ours to every bundle of a container and returns the
// first one's path.
func (s *Sandbox) addAuthorities(ctx context.Context, id string) (string, error) {
	var opts container.CopyToContainerOptions
	first := ""
	for _, at := range bundles() {
		have, err := s.readFile(ctx, id, at)
		if err != nil {
			return "", err
		}
		if len(have) == 0 {
			continue
		}
		both := bytes.Join([][]byte{bytes.TrimSpace(have), s.opts.CA}, []byte("\n"))
		if err := s.c.CopyToContainer(ctx, id, path.Dir(at), oneFile(path.Base(at), 0o644, both), opts); err != nil {
			return "", err
		}
		if first == "" {
			first = at
		}
	}
	// The folder may be missing; the engine makes it on the way.
	return first, s.c.CopyToContainer(ctx, id, "/", oneFile(caFile[1:], 0o644, s.opts.CA), opts)
}

// readFile reads an ordinary file of a container; nothing when there is
// none.
func (s *Sandbox) readFile(ctx context.Context, id, at string) ([]byte, error) {
	body, _, err := s.c.CopyFromContainer(ctx, id, at)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	tr := tar.NewReader(body)
	h, err := tr.Next()
	if err != nil || h.Typeflag != tar.TypeReg {
		return nil, err
	}
	if h.Size > maxBundle {
		return nil, fmt.Errorf("%s is %d bytes long", at, h.Size)
	}
	return io.ReadAll(tr)
}
