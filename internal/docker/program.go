package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"github.com/assaybot/assay/internal/assay"
)

const (
	programDir  = "/assay"
	programName = "assay"
)

// programVolume is the volume that holds our program, made at the first
// call. It is filled through a container of the image that is never started.
func (s *Sandbox) programVolume(ctx context.Context, image string) (string, error) {
	free, err := s.locks.lock(ctx, "program")
	if err != nil {
		return "", err
	}
	defer free()
	s.mu.Lock()
	have := s.program
	s.mu.Unlock()
	if have != "" {
		return have, nil
	}
	data, err := s.readProgram()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	name := unique(roleProgram, hex.EncodeToString(sum[:6]))
	ctx, cancel := closing(ctx)
	defer cancel()
	if err := s.fillProgram(ctx, name, image, data); err != nil {
		// What is half made is of no use; the first error tells.
		_ = s.c.VolumeRemove(ctx, name, true)
		return "", infra("giving the engine our program", err)
	}
	s.mu.Lock()
	s.program = name
	s.mu.Unlock()
	return name, nil
}

func (s *Sandbox) fillProgram(ctx context.Context, name, image string, data []byte) error {
	labels := s.labels("", roleProgram)
	if _, err := s.c.VolumeCreate(ctx, volume.CreateOptions{Name: name, Labels: labels}); err != nil {
		return err
	}
	made, err := s.c.ContainerCreate(ctx,
		&container.Config{Image: image, Entrypoint: []string{"/none"}, Labels: labels},
		&container.HostConfig{NetworkMode: "none", Mounts: []mount.Mount{volumeMount(name, programDir, false)}},
		nil, nil, unique(roleProgram))
	if err != nil {
		return err
	}
	err = s.c.CopyToContainer(ctx, made.ID, programDir, oneFile(programName, 0o755, data), container.CopyToContainerOptions{})
	return errors.Join(err, s.removeContainer(ctx, made.ID))
}

func volumeMount(name, at string, readOnly bool) mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: name, Target: at, ReadOnly: readOnly,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true},
	}
}

// oneFile is a tar stream with one file.
func oneFile(name string, mode int64, data []byte) io.Reader {
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	// A buffer takes everything.
	_ = tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data))})
	_, _ = tw.Write(data)
	_ = tw.Close()
	return &b
}

// readProgram reads our program and makes sure that it can run in any image.
func (s *Sandbox) readProgram() ([]byte, error) {
	if s.opts.Program == "" {
		return nil, assay.Userf("docker boxes need this program built for linux/%s; none was named", s.arch)
	}
	data, err := os.ReadFile(s.opts.Program)
	if err != nil {
		return nil, &assay.UserError{Text: "reading the program for boxes", Err: err}
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, assay.Userf("%s is no Linux program, and boxes need one: build it with GOOS=linux GOARCH=%s CGO_ENABLED=0", s.opts.Program, s.arch)
	}
	defer func() { _ = f.Close() }()
	if got := elfArch(f.Machine); got != s.arch {
		return nil, assay.Userf("%s is built for %s, but the engine runs %s: build it with GOOS=linux GOARCH=%s CGO_ENABLED=0", s.opts.Program, got, s.arch, s.arch)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return nil, assay.Userf("%s needs dynamic libraries, which an image may lack: build it with CGO_ENABLED=0", s.opts.Program)
		}
	}
	return data, nil
}

func elfArch(m elf.Machine) string {
	switch m {
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	}
	return fmt.Sprint(m)
}

// removeVolume removes a volume; one that is gone is fine.
func (s *Sandbox) removeVolume(ctx context.Context, name string) error {
	if err := s.c.VolumeRemove(ctx, name, true); err != nil && !isGone(err) {
		return infra("removing volume "+name, err)
	}
	return nil
}
