package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/inbox"
	"github.com/assaybot/assay/internal/run"
)

// startTime bounds how long a container may take until its first process
// answers.
const startTime = 2 * time.Minute

// Open makes a box and starts it.
func (s *Sandbox) Open(ctx context.Context, spec run.BoxSpec) (run.Box, error) {
	kits := make([]mount.Mount, 0, len(spec.Kits))
	for _, k := range spec.Kits {
		name, err := s.kit(ctx, k, spec.Image)
		if err != nil {
			return nil, err
		}
		kits = append(kits, volumeMount(name, run.KitDir+"/"+k.Name, true))
	}
	b, err := s.open(ctx, spec, kits)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// open makes a box with the mounts besides those that every box has.
func (s *Sandbox) open(ctx context.Context, spec run.BoxSpec, mounts []mount.Mount) (*box, error) {
	spec.Limits = spec.Limits.Or(assay.DefaultLimits())
	program, err := s.programVolume(ctx, spec.Image.Ref)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Not to be cancelled half way: a container that was made must be
	// known, or nobody removes it.
	sure, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer cancel()
	mounts = append([]mount.Mount{volumeMount(program, programDir, true)}, mounts...)
	made, err := s.c.ContainerCreate(sure, s.config(spec), s.hostConfig(spec, mounts), nil, nil, unique(spec.Run, spec.Role))
	if err != nil {
		if isGone(err) {
			return nil, permanent("making a box", fmt.Errorf("the engine has no image %s: %w", spec.Image.Ref, err))
		}
		return nil, infra("making a box", err)
	}
	b := &box{s: s, id: made.ID, spec: spec, known: make(chan struct{})}
	s.mu.Lock()
	s.boxes[b] = true
	s.mu.Unlock()
	info, endInfo := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	b.endInfo = endInfo
	if err := b.start(ctx, sure); err != nil {
		close(b.known)
		return nil, errors.Join(err, b.Close(ctx))
	}
	b.wg.Go(func() { b.learn(info) })
	return b, nil
}

// start attaches to the container, starts it and waits for its first
// process.
func (b *box) start(ctx, sure context.Context) error {
	conn, err := b.s.c.ContainerAttach(sure, b.id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return infra("attaching to the box", err)
	}
	b.conn = conn
	b.lines = newDemux(conn.Reader)
	b.in = inbox.NewClient(b.lines, conn.Conn, b.spec.Model)
	if err := b.s.c.ContainerStart(sure, b.id, container.StartOptions{}); err != nil {
		return infra("starting the box", err)
	}
	setup := inbox.Setup{
		Home: run.HomeDir, Own: []string{run.WorkDir, run.ReportDir}, Keep: []string{run.VerifyDir},
	}
	if b.spec.Model != nil {
		setup.Model = modelAddr
	}
	wait, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return b.fail(ctx, "waiting for the box's first process", b.in.Setup(wait, setup))
}

func (s *Sandbox) config(spec run.BoxSpec) *container.Config {
	return &container.Config{
		Image: spec.Image.Ref, Labels: s.labels(spec.Run, spec.Role),
		Entrypoint: []string{programDir + "/" + programName, "inbox"}, Cmd: []string{},
		User: "0:0", WorkingDir: "/", Hostname: "box",
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

func (s *Sandbox) hostConfig(spec run.BoxSpec, mounts []mount.Mount) *container.HostConfig {
	l := spec.Limits
	memory, pids := int64(l.MemoryMB)<<20, int64(l.Pids)
	cpus := l.CPUs
	if s.cpus > 0 {
		cpus = min(cpus, float64(s.cpus))
	}
	h := &container.HostConfig{
		NetworkMode: "none",
		// When this process is killed the box's input ends, its first
		// process exits, and the engine removes it.
		AutoRemove: true,
		Mounts:     mounts,
		LogConfig:  container.LogConfig{Type: "none"},
		CapDrop:    []string{"ALL"},
		CapAdd:     []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"},
		SecurityOpt: []string{
			"no-new-privileges",
		},
		Resources: container.Resources{
			NanoCPUs: int64(cpus * 1e9), Memory: memory, MemorySwap: memory, PidsLimit: &pids,
		},
	}
	if spec.Network {
		h.NetworkMode = "default"
		if s.opts.BuildNetwork != "" {
			h.NetworkMode = container.NetworkMode(s.opts.BuildNetwork)
		}
	}
	if spec.MemoryWorkspace {
		h.Tmpfs = memoryFolders(l)
	}
	return h
}

// memoryFolders keep a box's files in memory. Their sizes are ceilings: what
// is used counts as the box's memory.
func memoryFolders(l assay.Limits) map[string]string {
	size := max(2*l.WorkspaceMB, l.MemoryMB/2)
	out := map[string]string{}
	for _, dir := range []string{run.WorkDir, run.VerifyDir, run.ReportDir, "/tmp"} {
		out[dir] = fmt.Sprintf("rw,exec,nosuid,nodev,size=%dm", size)
	}
	return out
}

// removeContainer kills and removes a container, and returns when it is
// gone.
func (s *Sandbox) removeContainer(ctx context.Context, id string) error {
	err := s.c.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || isGone(err) {
		return nil
	}
	if !isConflict(err) {
		return err
	}
	// Somebody else removes it already: the engine itself, most of all.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, gone := s.c.ContainerInspect(ctx, id); isGone(gone) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}
