package github

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the old header is part of every delivery
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
)

// Delivery is one webhook. ID is its GUID; a redelivery carries the same one.
// Payload is raw JSON, or a value that is turned into it. An empty Secret
// sends no signature.
type Delivery struct {
	URL, Event, ID, Secret string
	Payload                any
}

// Deliver posts a webhook as GitHub does, signed over the raw bytes, and
// returns the receiver's status.
func Deliver(ctx context.Context, d Delivery) (int, error) {
	req, err := d.request(ctx)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("delivering %s to %s: %w", d.Event, d.URL, err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil
}

func (d Delivery) request(ctx context.Context) (*http.Request, error) {
	body, ok := d.Payload.(json.RawMessage)
	if !ok {
		var err error
		if body, err = json.Marshal(d.Payload); err != nil {
			return nil, fmt.Errorf("encoding the payload of %s: %w", d.Event, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("addressing %s: %w", d.Event, err)
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "GitHub-Hookshot/0000000")
	h.Set("X-GitHub-Event", d.Event)
	h.Set("X-GitHub-Delivery", or(d.ID, "00000000-0000-4000-8000-000000000000"))
	h.Set("X-GitHub-Hook-ID", "1")
	h.Set("X-GitHub-Hook-Installation-Target-ID", fmt.Sprint(AppID))
	h.Set("X-GitHub-Hook-Installation-Target-Type", "integration")
	if d.Secret != "" {
		h.Set("X-Hub-Signature", "sha1="+sign(sha1.New, d.Secret, body))
		h.Set("X-Hub-Signature-256", "sha256="+sign(sha256.New, d.Secret, body))
	}
	return req, nil
}

func sign(kind func() hash.Hash, secret string, body []byte) string {
	m := hmac.New(kind, []byte(secret))
	m.Write(body)
	return fmt.Sprintf("%x", m.Sum(nil))
}
