package docker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/docker/docker/api/types/image"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// Prepare makes sure that env's image exists: it is looked up, pulled, or
// built when files are given. The image's ID is its digest.
func (s *Sandbox) Prepare(ctx context.Context, env assay.Environment, files tree.Tree, log io.Writer) (run.Image, error) {
	if log == nil {
		log = io.Discard
	}
	if files != nil {
		return s.build(ctx, env, files, log)
	}
	if env.Image == "" {
		return run.Image{}, assay.Userf("the environment names neither an image nor a Dockerfile")
	}
	return s.present(ctx, env.Image, env.Platform, log)
}

// present is an image that the engine has, or can pull.
func (s *Sandbox) present(ctx context.Context, ref, platform string, log io.Writer) (run.Image, error) {
	free, err := s.locks.lock(ctx, "image "+ref)
	if err != nil {
		return run.Image{}, err
	}
	defer free()
	img, err := s.lookUp(ctx, ref)
	if err == nil || !isGone(err) {
		return img, infra("looking for image "+ref, err)
	}
	if err := s.pull(ctx, ref, platform, log); err != nil {
		if ctx.Err() != nil {
			return run.Image{}, fmt.Errorf("pulling image %s: %w", ref, ctx.Err())
		}
		if passed(err.Error()) != "" {
			return run.Image{}, assay.Infra(assay.InfraNetwork, "pulling image "+ref, err)
		}
		return run.Image{}, &assay.InfraError{
			Kind: assay.InfraNetwork, Doing: "preparing image " + ref, Permanent: true,
			Err: fmt.Errorf("the engine doesn't have it and can't pull it: %w; load it with `docker load` or `docker pull`, or name another image", err),
		}
	}
	img, err = s.lookUp(ctx, ref)
	return img, infra("looking for image "+ref+" after pulling it", err)
}

func (s *Sandbox) lookUp(ctx context.Context, ref string) (run.Image, error) {
	got, err := s.c.ImageInspect(ctx, ref)
	if err != nil {
		return run.Image{}, err
	}
	return run.Image{Ref: got.ID, Digest: got.ID}, nil
}

func (s *Sandbox) pull(ctx context.Context, ref, platform string, log io.Writer) error {
	body, err := s.c.ImagePull(ctx, ref, image.PullOptions{Platform: platform})
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	_, err = readProgress(body, log)
	return err
}

// maxProgress bounds one message of the engine.
const maxProgress = 1 << 20

// lastLines is how much of a failed build its error shows.
const lastLines = 25

// readProgress copies what the engine tells to log until its stream ends,
// and returns the last lines. The error is the one that the engine told.
func readProgress(r io.Reader, log io.Writer) ([]string, error) {
	var last []string
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxProgress)
	for sc.Scan() {
		var m struct {
			Stream string `json:"stream"`
			Status string `json:"status"`
			ID     string `json:"id"`
			Error  string `json:"error"`
			// Progress bars are for terminals.
			Progress string `json:"progress"`
		}
		if err := json.Unmarshal(sc.Bytes(), &m); err != nil {
			continue
		}
		if m.Error != "" {
			return last, errors.New(m.Error)
		}
		text := m.Stream
		if m.Status != "" && m.Progress == "" {
			text = strings.TrimSpace(m.ID+" "+m.Status) + "\n"
		}
		if text == "" {
			continue
		}
		// A log that can't be written must not fail a build.
		_, _ = io.WriteString(log, text)
		if t := strings.TrimRight(text, "\r\n "); t != "" {
			last = append(last, t)
		}
		if len(last) > lastLines {
			last = last[1:]
		}
	}
	return last, sc.Err()
}
