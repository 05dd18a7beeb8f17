package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"github.com/assaybot/assay/internal/assay"
)

// infra turns an engine's error into one of the infrastructure that says
// what to do. A cancelled context stays what it is.
func infra(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", doing, err)
	case errors.Is(err, context.DeadlineExceeded):
		return assay.Infra(assay.InfraSandbox, doing, fmt.Errorf("the Docker engine took too long: %w", err))
	case client.IsErrConnectionFailed(err):
		return assay.Infra(assay.InfraSandbox, doing,
			fmt.Errorf("the Docker engine does not answer; is it running, and may this user reach it? %w", err))
	}
	return assay.Infra(assay.InfraSandbox, doing, err)
}

func permanent(doing string, err error) error {
	return &assay.InfraError{Kind: assay.InfraSandbox, Doing: doing, Err: err, Permanent: true}
}

func isGone(err error) bool     { return errdefs.IsNotFound(err) }
func isConflict(err error) bool { return errdefs.IsConflict(err) }
