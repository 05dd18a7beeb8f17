package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/client"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

const dockerfile = "Dockerfile"

// build builds an image once per content of its context: its tag is the
// digest of all that goes into it.
func (s *Sandbox) build(ctx context.Context, env assay.Environment, files tree.Tree, log io.Writer) (run.Image, error) {
	file, ok := files[dockerfile]
	if !ok {
		return run.Image{}, assay.Userf("the environment's folder holds no Dockerfile")
	}
	tag := s.envTag(env.Platform, files)
	free, err := s.locks.lock(ctx, tag)
	if err != nil {
		return run.Image{}, err
	}
	defer free()
	img, err := s.lookUp(ctx, tag)
	if err == nil || !isGone(err) {
		return img, infra("looking for image "+tag, err)
	}
	// A base image that can't be had says nothing of the Dockerfile.
	_, err = rewriteFrom(string(file.Data), func(ref string) (string, []string, error) {
		_, err := s.present(ctx, ref, env.Platform, log)
		return ref, nil, err
	})
	if err != nil {
		return run.Image{}, err
	}
	if len(s.opts.CA) > 0 {
		text, err := s.trusting(ctx, string(file.Data), env.Platform, log)
		if err != nil {
			return run.Image{}, err
		}
		files = tree.Over(files, tree.Tree{dockerfile: {Mode: file.Mode, Data: []byte(text)}})
	}
	last, err := s.buildImage(ctx, tag, env.Platform, files, log)
	if err != nil {
		if ctx.Err() != nil {
			return run.Image{}, fmt.Errorf("building an environment: %w", ctx.Err())
		}
		// An engine that took the context and then failed a step of the
		// Dockerfile will fail it again; one that didn't answer may not.
		if len(last) > 0 && !client.IsErrConnectionFailed(err) {
			err = fmt.Errorf("%w; its last lines:\n%s", err, strings.Join(last, "\n"))
			if passed(last...) != "" {
				return run.Image{}, assay.Infra(assay.InfraNetwork, "building the environment "+tag, err)
			}
			return run.Image{}, permanent("building the environment "+tag, err)
		}
		return run.Image{}, infra("building the environment "+tag, err)
	}
	img, err = s.lookUp(ctx, tag)
	return img, infra("looking for image "+tag+" after building it", err)
}

func (s *Sandbox) envTag(platform string, files tree.Tree) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%x\n", files.Digest(), platform, sha256.Sum256(s.opts.CA)))
	return "assay-env:" + hex.EncodeToString(sum[:16])
}

func (s *Sandbox) buildImage(ctx context.Context, tag, platform string, files tree.Tree, log io.Writer) ([]string, error) {
	r, w := io.Pipe()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = w.CloseWithError(tree.WriteTar(w, files))
	}()
	defer func() { <-sent }()
	defer func() { _ = r.Close() }()
	args := map[string]*string{}
	for name, value := range s.opts.Proxies {
		args[name] = &value
	}
	res, err := s.c.ImageBuild(ctx, r, build.ImageBuildOptions{
		Tags: []string{tag}, Dockerfile: dockerfile, Labels: imageLabels(roleEnv),
		Remove: true, ForceRemove: true, Platform: platform, BuildArgs: args,
		NetworkMode: s.opts.BuildNetwork, Version: build.BuilderV1,
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	return readProgress(res.Body, log)
}

var (
	fromLine = regexp.MustCompile(`(?i)^(\s*FROM\s+(?:--platform=\S+\s+)?)(\S+)((?:\s+AS\s+(\S+))?\s*)$`)
	argLine  = regexp.MustCompile(`(?i)^\s*ARG\s+([A-Za-z_][A-Za-z0-9_]*)=(\S*)`)
	variable = regexp.MustCompile(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)
)

// rewriteFrom replaces every base image of a Dockerfile by what base makes
// of it, with lines to follow. Stages and scratch stay.
func rewriteFrom(text string, base func(ref string) (string, []string, error)) (string, error) {
	args, stages := map[string]string{}, map[string]bool{}
	var out []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if m := argLine.FindStringSubmatch(line); m != nil && len(stages) == 0 {
			args[m[1]] = strings.Trim(m[2], `"'`)
		}
		m := fromLine.FindStringSubmatch(line)
		if m == nil {
			out = append(out, line)
			continue
		}
		ref := expand(m[2], args)
		known := stages[strings.ToLower(ref)] || strings.EqualFold(ref, "scratch")
		stages[strings.ToLower(m[4])] = true
		if known {
			out = append(out, line)
			continue
		}
		to, more, err := base(ref)
		if err != nil {
			return "", err
		}
		out = append(append(out, m[1]+to+m[3]), more...)
	}
	return strings.Join(out, "\n"), nil
}

func expand(s string, args map[string]string) string {
	return variable.ReplaceAllStringFunc(s, func(v string) string {
		m := variable.FindStringSubmatch(v)
		return args[m[1]+m[2]]
	})
}
