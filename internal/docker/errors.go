package docker

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

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

// passing are words of registries and package indexes that mean "not now".
var passing = regexp.MustCompile(`(?i)too ?many ?requests|http error 429|status code:? 429|pull rate limit|` +
	`\b50[234] (service unavailable|bad gateway|gateway time-?out)|tls handshake timeout|i/o timeout|read timed out|connection timed out|` +
	`connection reset by peer|temporary failure in name resolution|network is unreachable|could not resolve host|\bEAI_AGAIN\b|\bETIMEDOUT\b|\bECONNRESET\b`)

// passed finds the line that says that a registry, or the way to it, failed
// for now; "" when none does. Such a failure tells nothing of an image.
func passed(lines ...string) string {
	for _, l := range slices.Backward(lines) {
		if passing.MatchString(l) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

func isGone(err error) bool     { return errdefs.IsNotFound(err) }
func isConflict(err error) bool { return errdefs.IsConflict(err) }
