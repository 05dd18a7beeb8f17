package flow

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
)

// InstructionPlaces are the files and folders at the top of a repository that
// coding agents read their instructions and settings from.
func InstructionPlaces() []string {
	return []string{
		"AGENTS.md", "CLAUDE.md", "GEMINI.md", "opencode.json", ".mcp.json", ".claude", ".codex", ".gemini", ".opencode",
	}
}

// InstructionsRequest asks for a variant of a checkout's own instructions for
// agents: From is the checkout, Into the folder of the variants, Name the
// variant's.
type InstructionsRequest struct{ From, Into, Name string }

// Instructions is the variant that was made, with the files that it lays over
// a workspace. There may be none: the variant changes nothing then.
type Instructions struct {
	Dir   string
	Files []string
}

// Bounds of what is taken: instructions are texts. instructionDir is the
// variant's folder of files.
const (
	instructionDir  = "overlay"
	maxInstruction  = 1 << 20
	maxInstructions = 200
)

// Instructions makes a variant of the files that stand in a checkout. A link
// is followed within the checkout only. A variant of that name is never
// overwritten.
func (f *Flow) Instructions(r InstructionsRequest) (Instructions, error) {
	out := Instructions{Dir: filepath.Join(r.Into, r.Name)}
	if assay.SafeName(r.Name, 64) != r.Name || r.Name == assay.Baseline {
		return out, assay.Userf("%q can't be the name of a variant of instructions; use letters, digits, '_' and '-'", r.Name)
	}
	if _, err := os.Lstat(out.Dir); err == nil {
		return out, assay.Userf("%s is there already; remove it, or give another name", out.Dir)
	}
	root, err := os.OpenRoot(r.From)
	if err != nil {
		return out, assay.Userf("opening the checkout: %v", err)
	}
	defer func() { _ = root.Close() }()
	for _, place := range InstructionPlaces() {
		files, err := instructionFiles(root, place)
		if err != nil {
			return out, err
		}
		out.Files = append(out.Files, files...)
	}
	if len(out.Files) > maxInstructions {
		return out, assay.Userf("%s has %d files of instructions for agents; at most %d make a variant", r.From, len(out.Files), maxInstructions)
	}
	return out, out.write(root, r.Name)
}

// instructionFiles are the ordinary files at or below a place.
func instructionFiles(root *os.Root, place string) ([]string, error) {
	info, err := root.Stat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, assay.Userf("%s can't be read: %v; it is a link out of the repository, or a broken one", place, err)
	case info.Mode().IsRegular():
		return []string{place}, nil
	}
	var out []string
	err = fs.WalkDir(root.FS(), place, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", place, err)
	}
	return out, nil
}

func (in Instructions) write(root *os.Root, name string) error {
	v := assay.Variant{Schema: assay.VariantSchema, Name: name, Description: "The repository's own instructions for agents."}
	for _, p := range in.Files {
		info, err := root.Stat(p)
		if err == nil && info.Size() > maxInstruction {
			return assay.Userf("%s is too large for instructions: %d bytes, at most %d", p, info.Size(), maxInstruction)
		}
		data, readErr := root.ReadFile(p)
		if err := errors.Join(err, readErr); err != nil {
			return fmt.Errorf("reading %s: %w", p, err)
		}
		to := filepath.Join(in.Dir, instructionDir, filepath.FromSlash(p))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), disk.WriteFile(to, data)); err != nil { //nolint:gosec // no secret
			return fmt.Errorf("writing the variant: %w", err)
		}
		v.Overlay = instructionDir
	}
	if err := os.MkdirAll(in.Dir, 0o755); err != nil { //nolint:gosec // no secret
		return fmt.Errorf("writing the variant: %w", err)
	}
	return disk.WriteJSON(filepath.Join(in.Dir, "variant.json"), v)
}

// String says what was made.
func (in Instructions) String() string {
	if len(in.Files) == 0 {
		return fmt.Sprintf("%s: no instructions for agents were found; the variant changes nothing.", in.Dir)
	}
	return fmt.Sprintf("%s: %s.", in.Dir, strings.Join(in.Files, ", "))
}
