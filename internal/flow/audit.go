package flow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// The image of a task may hold the project's own newer release, and the change
// with it: a dependency brings it, or the Dockerfile installs it.
const (
	// minLeak is the size of a file below which equal files say nothing.
	minLeak = 32
	// maxAudited bounds how many files are looked for.
	maxAudited = 200
	maxFound   = 1 << 20
)

// changed are the files by which a change would be recognised: what it leaves
// that the base doesn't have, by SHA-256.
func changed(base, after tree.Tree) map[string]string {
	out := map[string]string{}
	for _, p := range after.Paths() {
		e := after[p]
		if e.Mode == tree.Link || len(e.Data) < minLeak || bytes.Equal(e.Data, base[p].Data) || len(out) == maxAudited {
			continue
		}
		sum := sha256.Sum256(e.Data)
		out[hex.EncodeToString(sum[:])] = p
	}
	return out
}

// audit looks through an image, outside of the workspace, for files of the
// change as an agent could find them. It tells the first, "" for none.
func audit(ctx context.Context, box run.Box, base, after tree.Tree) (string, error) {
	want := changed(base, after)
	if len(want) == 0 {
		return "", nil
	}
	out := &bounded{left: maxFound}
	_, err := box.Run(ctx, run.Command{Argv: auditCommand(want, after), Dir: "/", Stdout: out})
	if err != nil {
		return "", assay.Infra(assay.InfraSandbox, "looking for the change in the image", err)
	}
	// What can't be read by an ordinary user can't be read by an agent, so
	// the exit status doesn't matter.
	return found(out.String(), want), nil
}

// auditCommand sums up all files of the box that have the name and the size of
// one that is wanted. The workspace itself may be a file system of its own.
func auditCommand(want map[string]string, after tree.Tree) []string {
	argv := []string{"find", "/", "-xdev", "-type", "f", "!", "-path", run.WorkDir + "/*", "!", "-path", "/proc/*", "("}
	plain := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
	for i, p := range slices.Sorted(maps.Values(want)) {
		if i > 0 {
			argv = append(argv, "-o")
		}
		argv = append(argv, "-name", plain.Replace(path.Base(p)), "-size", strconv.Itoa(len(after[p].Data))+"c")
	}
	return append(argv, ")", "-exec", "sha256sum", "{}", "+")
}

// found reads what sha256sum wrote.
func found(text string, want map[string]string) string {
	for line := range strings.Lines(text) {
		sum, name, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), `\`), " ")
		if p, ok := want[sum]; ok {
			return fmt.Sprintf("the image holds %s as it is after the change: %s", p, strings.TrimLeft(name, " *"))
		}
	}
	return ""
}
