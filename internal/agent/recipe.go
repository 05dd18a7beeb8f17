package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// recipe says how the kit of an agent's program is made: of npm packages, or
// by Python of its packages.
type recipe struct {
	title   string // for people
	version string // where a spec names none
	program string // within the kit; a kit with it is complete
	// packages of a version, in npm's form, or in pip's with python.
	packages func(version string) []string
	python   bool
	// parts are moved from the folder of installed packages into the kit.
	parts []part
}

// part is a file or folder. An optional one may be missing in some versions.
type part struct {
	from, to string
	optional bool
}

// nodeVersion is the Node.js that goes into a kit whose program needs one.
const nodeVersion = "22.23.5"

// recipes are the kits by agent. The boxes' platform is this machine's.
func recipes() map[string]recipe {
	arch := npmArch()
	claude, node := claudePackage(), "node-linux-"+arch
	open := "opencode-linux-" + arch
	if arch == "x64" {
		open += "-baseline" // also for processors without AVX2
	}
	vendor := "@openai/codex/vendor/" + rustArch() + "-unknown-linux-musl/"
	return map[string]recipe{
		ClaudeCode: {
			title: "Claude Code", version: ClaudeVersion, program: "bin/claude",
			packages: func(v string) []string { return []string{claude + "@" + v} },
			parts:    []part{{from: claude + "/claude", to: "bin/claude"}, {from: claude + "/LICENSE.md", to: "LICENSE.md", optional: true}},
		},
		Codex: {
			title: "Codex", version: CodexVersion, program: "bin/codex",
			packages: func(v string) []string { return []string{"@openai/codex@" + v + "-linux-" + arch} },
			parts: []part{
				{from: vendor + "bin", to: "bin"},
				{from: vendor + "codex-path", to: "codex-path", optional: true},
				{from: vendor + "codex-package.json", to: "codex-package.json", optional: true},
			},
		},
		Gemini: {
			title: "Gemini CLI", version: GeminiVersion, program: "bin/node",
			packages: func(v string) []string { return []string{"@google/gemini-cli@" + v, node + "@" + nodeVersion} },
			parts: []part{
				{from: "@google/gemini-cli", to: "node_modules/@google/gemini-cli"},
				{from: node + "/bin/node", to: "bin/node"},
			},
		},
		Opencode: {
			title: "opencode", version: OpencodeVersion, program: "bin/opencode",
			packages: func(v string) []string { return []string{open + "@" + v} },
			parts:    []part{{from: open + "/bin/opencode", to: "bin/opencode"}},
		},
		MiniSWE: {
			title: "mini-swe-agent", version: MiniVersion, program: "bin/python3",
			packages: miniPackages, python: true,
		},
	}
}

func npmArch() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}

func rustArch() string {
	if runtime.GOARCH == "amd64" {
		return "x86_64"
	}
	return "aarch64"
}

// claudePackage is the package with the native program for this machine.
func claudePackage() string { return "@anthropic-ai/claude-code-" + runtime.GOOS + "-" + npmArch() }

// KitName is the name of the kit of an agent's program in a version; "" is
// the default version. It is "" for agents without a program of ours.
func KitName(agent, version string) string {
	r, ok := recipes()[agent]
	if !ok {
		return ""
	}
	if version == "" {
		version = r.version
	}
	return assay.SafeName(agent+"-"+version, 60)
}

// kit is the kit of a spec's program, in this machine's cache.
func (o Options) kit(spec assay.AgentSpec) (run.Kit, error) {
	kit := run.Kit{Name: KitName(spec.Name, spec.Version)}
	if kit.Dir = o.kitDir(kit.Name); kit.Dir == "" {
		return run.Kit{}, assay.Userf("there is no folder with the program of %s: give a cache folder for kits", kit.Name)
	}
	return kit, nil
}

// complete tells whether a folder holds the kit.
func (r recipe) complete(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(r.program)))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// settle moves the parts out of the packages and the kit to its place.
// Another process may have been faster; its kit is as good.
func (r recipe) settle(tmp, dir string) error {
	kit := filepath.Join(tmp, "kit")
	for _, p := range r.parts {
		from := filepath.Join(tmp, "node_modules", filepath.FromSlash(p.from))
		to := filepath.Join(kit, filepath.FromSlash(p.to))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		err := os.Rename(from, to)
		if err != nil && (!p.optional || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(kit, filepath.FromSlash(r.program)), 0o755); err != nil {
		return err
	}
	if err := os.Rename(kit, dir); err != nil && !r.complete(dir) {
		return err
	}
	return nil
}
