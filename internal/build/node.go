package build

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

type packageJSON struct {
	Scripts         map[string]string `json:"scripts"`
	Dependencies    map[string]string `json:"dependencies"`
	DevDependencies map[string]string `json:"devDependencies"`
	Optional        map[string]string `json:"optionalDependencies"`
	Peer            map[string]string `json:"peerDependencies"`
	Engines         map[string]string `json:"engines"`
	PackageManager  string            `json:"packageManager"`
	Jest            json.RawMessage   `json:"jest"`
	Workspaces      json.RawMessage   `json:"workspaces"`
}

// nodeVersions that are proposed, oldest first.
func nodeVersions() []string { return []string{"20", "22", "24"} }

var firstNumber = regexp.MustCompile(`(\d+)`)

func proposeNode(in Input) (Recipe, error) {
	var p packageJSON
	if err := json.Unmarshal(in.Files["package.json"].Data, &p); err != nil {
		return Recipe{}, &NoRecipe{"package.json can't be read: " + err.Error()}
	}
	if len(p.Workspaces) > 0 {
		return Recipe{}, &NoRecipe{"package.json has workspaces; write a Dockerfile and pass it with --dockerfile"}
	}
	test, report, why, err := nodeRunner(in, p)
	if err != nil {
		return Recipe{}, err
	}
	version, from := nodeVersion(p.Engines["node"], in.hintsOf(nodeTool()))
	r := Recipe{
		Dockerfile: dockerfile("FROM node:" + version + "-slim"), Context: tree.Tree{},
		Env:  map[string]string{"CI": "true", "NODE_ENV": "test"},
		Test: test, Report: report, Units: nodeUnits(test, in.Tests), Requires: []string{test[0]},
		Why: []string{fmt.Sprintf("node:%s from %s", version, from), why},
	}
	if p.nothing() {
		r.Why = append(r.Why, "package.json has no dependencies")
		return r, nil
	}
	install, copied := nodeInstall(in)
	r.Context = copied
	r.Dockerfile = dockerfile(
		"FROM node:"+version+"-slim",
		"WORKDIR /opt/deps",
		"COPY . .",
		"RUN "+install+" && chmod -R a+rwX /opt/deps",
	)
	r.Setup = []string{"test -e node_modules || ln -s /opt/deps/node_modules node_modules"}
	r.Why = append(r.Why, "dependencies by "+install)
	return r, nil
}

// nothing tells a manifest for which nothing has to be installed.
func (p packageJSON) nothing() bool {
	return len(p.Dependencies)+len(p.DevDependencies)+len(p.Optional)+len(p.Peer) == 0
}

func nodeVersion(engines string, h hints) (version, from string) {
	all := nodeVersions()
	m := firstNumber.FindString(engines)
	if v, file := h.choose(all, 1, func(v string) bool { return m == "" || !newer(m, v) }); v != "" {
		return v, file
	}
	if m == "" {
		return all[0], "the default: package.json names no engine"
	}
	for _, v := range all {
		if !newer(m, v) {
			return v, "engines in package.json (" + engines + ")"
		}
	}
	return all[len(all)-1], "engines in package.json (" + engines + ")"
}

// nodeInstall resolves as of the base date where no lock file of npm's pins
// the dependencies.
func nodeInstall(in Input) (string, tree.Tree) {
	copied := in.context("package-lock.json", "npm-shrinkwrap.json", ".npmrc")
	copied["package.json"] = tree.Entry{Mode: tree.File, Data: onlyDependencies(in.Files["package.json"].Data)}
	const quiet = " --ignore-scripts --no-audit --no-fund --loglevel=error"
	if in.has("package-lock.json") || in.has("npm-shrinkwrap.json") {
		return "npm ci" + quiet, copied
	}
	plain := "npm install --legacy-peer-deps" + quiet
	if in.Date.IsZero() {
		return plain, copied
	}
	// A package that was published after the date, though the manifest asks
	// for it, is drift that the fallback mends and the lock records.
	return "(" + plain + " --before=" + quarter(in.Date).Format(time.RFC3339) + " || " + plain + ")", copied
}

// onlyDependencies is a manifest with what an installation reads: a change of
// scripts or of the version makes no other image.
func onlyDependencies(data []byte) []byte {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return data
	}
	kept := map[string]json.RawMessage{"private": json.RawMessage("true")}
	for _, name := range []string{
		"name", "type", "dependencies", "devDependencies", "optionalDependencies", "peerDependencies",
		"overrides", "resolutions", "engines", "bundleDependencies",
	} {
		if v, ok := all[name]; ok {
			kept[name] = v
		}
	}
	out, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return data
	}
	return append(out, '\n')
}

func nodeRunner(in Input, p packageJSON) ([]string, assay.Report, string, error) {
	files := in.Tests
	if in.All {
		files = nil
	}
	has := func(name string) bool {
		_, a := p.DevDependencies[name]
		_, b := p.Dependencies[name]
		return a || b
	}
	switch {
	case has("vitest"):
		argv := append([]string{"npx", "--no-install", "vitest", "run"}, vitestFiles(files)...)
		return append(argv, "--reporter=json", "--outputFile={report}"), assay.Report{Format: "jest"}, "vitest in package.json", nil
	case has("jest") || len(p.Jest) > 0:
		argv := append([]string{"npx", "--no-install", "jest", "--ci", "--json", "--outputFile={report}", "--runTestsByPath"}, files...)
		return argv, assay.Report{Format: "jest"}, "jest in package.json", nil
	case has("mocha"):
		argv := append([]string{"npx", "--no-install", "mocha", "--reporter=xunit", "--reporter-option=output={report}"}, files...)
		return argv, assay.Report{Format: "junit"}, "mocha in package.json", nil
	case strings.Contains(p.Scripts["test"], "node --test"), len(p.Scripts) == 0, strings.Contains(p.Scripts["test"], "--test"):
		argv := append([]string{"node", "--test", "--test-reporter=junit", "--test-reporter-destination={report}"}, files...)
		return argv, assay.Report{Format: "junit"}, "node's own test runner", nil
	}
	return nil, assay.Report{}, "", &NoRecipe{fmt.Sprintf("no test runner that is known (vitest, jest, mocha, node --test) is in package.json; its test script is %q", p.Scripts["test"])}
}

// nodeUnits are the test files that a command names.
func nodeUnits(test, files []string) []string {
	var out []string
	for _, f := range files {
		if slices.Contains(test, f) {
			out = append(out, f)
		}
	}
	return out
}

// vitestFiles are filters: a path is a substring match for vitest, so that a
// file's full path finds that file alone.
func vitestFiles(files []string) []string {
	var out []string
	for _, f := range files {
		switch path.Ext(f) {
		case ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts":
			out = append(out, f)
		}
	}
	return out
}
