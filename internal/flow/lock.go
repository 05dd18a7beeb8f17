package flow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// lockScript prints what an image's build resolved: the requirements for which
// the index tells no dates, a line of its own, and the first lock that is
// there: pip's, npm's own of what it installed, Go's and cargo's.
const lockScript = `cd /opt/deps 2>/dev/null || exit 0
cat undated.txt 2>/dev/null
echo ` + lockLine + `
for f in lock.txt node_modules/.package-lock.json package-lock.json npm-shrinkwrap.json go.sum Cargo.lock; do
  if [ -s "$f" ]; then cat "$f"; exit 0; fi
done`

const lockLine = "== assay: lock =="

// maxLock bounds what is read of a lock.
const maxLock = 32 << 20

// locked reads what a box's image has resolved: the digest of its lock, "" for
// none, and what is undated. Images of no dependencies have neither.
func locked(ctx context.Context, box run.Box) (lock string, undated []string, err error) {
	out := &bounded{left: maxLock}
	exit, err := box.Run(ctx, run.Command{Argv: []string{"sh", "-c", lockScript}, Dir: run.WorkDir, Stdout: out})
	if err != nil || exit.Code != 0 {
		return "", nil, assay.Infra(assay.InfraSandbox, "reading what the image resolved", err)
	}
	lock, undated = readLock(out.Bytes())
	return lock, undated, nil
}

// readLock parts what lockScript printed.
func readLock(text []byte) (lock string, undated []string) {
	first, rest, _ := bytes.Cut(text, []byte(lockLine+"\n"))
	for line := range strings.Lines(strings.ToValidUTF8(string(first), "\uFFFD")) {
		if line = strings.TrimSpace(line); line != "" {
			undated = append(undated, line)
		}
	}
	slices.Sort(undated)
	if len(rest) > 0 {
		sum := sha256.Sum256(rest)
		lock = "sha256:" + hex.EncodeToString(sum[:])
	}
	return lock, slices.Compact(undated)
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	bytes.Buffer
	left int
}

// Write takes everything and keeps what there is room for.
func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	_, _ = b.Buffer.Write(p[:n]) // a buffer never fails
	return len(p), nil
}
