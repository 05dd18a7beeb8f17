package build

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

const oldestRust = "1.85"

type cargo struct {
	Package struct {
		Name        string `toml:"name"`
		RustVersion any    `toml:"rust-version"`
	} `toml:"package"`
	Workspace *struct {
		Members []string `toml:"members"`
	} `toml:"workspace"`
	Bin []struct {
		Path string `toml:"path"`
	} `toml:"bin"`
}

func proposeRust(in Input) (Recipe, error) {
	var c cargo
	if err := toml.Unmarshal(in.Files["Cargo.toml"].Data, &c); err != nil {
		return Recipe{}, &NoRecipe{"Cargo.toml can't be read: " + err.Error()}
	}
	if c.Workspace != nil && c.Package.Name == "" {
		return Recipe{}, &NoRecipe{"Cargo.toml is a workspace without a root package; write a Dockerfile and pass it with --dockerfile"}
	}
	version, from := oldestRust, "the default"
	if v, ok := c.Package.RustVersion.(string); ok {
		version, from = rustVersion(v), "rust-version in Cargo.toml"
	}
	args := rustTargets(in)
	copied := in.context("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "build.rs")
	for _, p := range in.under("**/Cargo.toml", ".cargo/**") {
		copied[p] = in.Files[p]
	}
	for _, p := range crateRoots(in, c) {
		copied[p] = tree.Text("fn main() {}\n")
	}
	lines := []string{
		"FROM rust:" + version + "-slim",
		"ENV CARGO_HOME=/opt/cargo CARGO_TARGET_DIR=/opt/target CARGO_TERM_COLOR=never",
		"WORKDIR /opt/deps",
		"COPY . .",
		"RUN cargo fetch" + locked(in) + " && (cargo test --no-run --offline || true) && chmod -R a+rwX /opt/cargo /opt/target",
	}
	return Recipe{
		Dockerfile: dockerfile(lines...), Context: copied,
		Env: map[string]string{"CARGO_HOME": "/opt/cargo", "CARGO_TARGET_DIR": "/opt/target", "CARGO_NET_OFFLINE": "true", "CARGO_TERM_COLOR": "never"},
		// One process per target would be clearer to read; cargo's own
		// "Running" lines name the target, and the reader keeps them.
		Test:   []string{"sh", "-c", "cargo test --offline --no-fail-fast " + shellWords(args) + " > {report} 2>&1"},
		Report: assay.Report{Format: "cargo"},
		Units:  args, Requires: []string{"cargo"},
		Why: []string{fmt.Sprintf("rust:%s-slim from %s", version, from)},
	}, nil
}

func rustVersion(v string) string {
	parts := strings.Split(v, ".")
	if len(parts) > 2 {
		parts = parts[:2]
	}
	v = strings.Join(parts, ".")
	if newer(v, oldestRust) {
		return v
	}
	return oldestRust
}

func locked(in Input) string {
	if in.has("Cargo.lock") {
		return " --locked"
	}
	return ""
}

// rustTargets limits cargo test to the targets of the change: integration
// tests by name, unit tests of the crate when a source file changed.
func rustTargets(in Input) []string {
	if in.All {
		return nil
	}
	var out []string
	unit := false
	for _, p := range in.Tests {
		switch {
		case path.Dir(p) == "tests" && strings.HasSuffix(p, ".rs"):
			out = append(out, "--test="+strings.TrimSuffix(path.Base(p), ".rs"))
		case strings.HasPrefix(p, "tests/"):
			// a helper module of integration tests: all of them
			return nil
		case strings.HasSuffix(p, ".rs"):
			unit = true
		}
	}
	if unit {
		out = append(out, "--bins")
		if in.has("src/lib.rs") {
			out = append(out, "--lib")
		}
	}
	sort.Strings(out)
	return out
}

// crateRoots are the files that cargo must find to resolve the manifest.
func crateRoots(in Input, c cargo) []string {
	var out []string
	for _, p := range []string{"src/main.rs", "src/lib.rs"} {
		if in.has(p) {
			out = append(out, p)
		}
	}
	for _, b := range c.Bin {
		if b.Path != "" && in.has(b.Path) {
			out = append(out, b.Path)
		}
	}
	return append(out, in.under("benches/*.rs", "examples/*.rs", "tests/*.rs")...)
}
