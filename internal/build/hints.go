package build

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// hints are versions of a toolchain that the repository names outside of its
// manifest.
type hints struct {
	// pinned is the version that a version manager's file asks for, "" for
	// none; file is where it stands.
	pinned, file string
	// tested are the versions that CI or a development container sets up, by
	// the file that names each.
	tested map[string]string
}

// tool is how a toolchain is called in the files that pin one.
type tool struct {
	// files hold a version alone, names are words of .tool-versions.
	files, names []string
	// key is the input of the action that sets the toolchain up, image the
	// last part of a container image's name.
	key, image string
}

func pythonTool() tool {
	return tool{files: []string{".python-version"}, names: []string{"python"}, key: "python-version", image: "python"}
}

func nodeTool() tool {
	return tool{
		files: []string{".nvmrc", ".node-version"}, names: []string{"nodejs", "node"}, key: "node-version",
		image: "(?:node|javascript-node|typescript-node)",
	}
}

func goTool() tool {
	return tool{files: []string{".go-version"}, names: []string{"golang", "go"}, key: "go-version", image: "(?:go|golang)"}
}

var versionWord = regexp.MustCompile(`\d+(?:\.\d+)*`)

// hintsOf reads them all. What a file says is a hint, never a fault.
func (in Input) hintsOf(t tool) hints {
	h := hints{tested: map[string]string{}}
	h.pinned, h.file = in.pinned(t)
	for _, p := range in.under(".github/workflows/*.yml", ".github/workflows/*.yaml") {
		for _, v := range workflowVersions(in.text(p), t.key) {
			h.test(v, p)
		}
	}
	image := regexp.MustCompile(`(?m)(?:"image"\s*:\s*"|^FROM\s+)\S*\b` + t.image + `:(?:\d+-)?(\d+(?:\.\d+)*)`)
	for _, p := range in.under(".devcontainer.json", ".devcontainer/devcontainer.json", ".devcontainer/Dockerfile") {
		for _, m := range image.FindAllStringSubmatch(in.text(p), -1) {
			h.test(m[1], p)
		}
	}
	return h
}

func (h hints) test(version, file string) {
	if _, ok := h.tested[version]; !ok {
		h.tested[version] = file
	}
}

// pinned is the first version of a version manager's files.
func (in Input) pinned(t tool) (version, file string) {
	for _, p := range t.files {
		if v := versionWord.FindString(firstWord(in.text(p))); v != "" {
			return v, p
		}
	}
	const shared = ".tool-versions"
	for _, line := range strings.Split(in.text(shared), "\n") {
		f := strings.Fields(line)
		if len(f) > 1 && slices.Contains(t.names, f[0]) {
			if v := versionWord.FindString(f[1]); v != "" {
				return v, shared
			}
		}
	}
	return "", ""
}

func firstWord(text string) string {
	f := strings.Fields(text)
	if len(f) == 0 {
		return ""
	}
	return f[0]
}

// workflowVersions are the values of a key in a workflow: one, a list in
// brackets, or a list below it (as a matrix has it). Expressions name none.
func workflowVersions(text, key string) []string {
	var out []string
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		trimmed := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- "))
		value, ok := strings.CutPrefix(trimmed, key+":")
		if !ok {
			continue
		}
		value, _, _ = strings.Cut(value, " #")
		if strings.TrimSpace(value) == "" {
			value = items(lines[i+1:])
		}
		if !strings.Contains(value, "${{") {
			out = append(out, versionWord.FindAllString(value, -1)...)
		}
	}
	return out
}

// items joins the entries of a list that begins with the first line.
func items(lines []string) string {
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !ok || strings.Contains(item, ": ") {
			break
		}
		out = append(out, item)
	}
	return strings.Join(out, " ")
}

// minor is a version's first n numbers.
func minor(version string, n int) string {
	parts := strings.Split(version, ".")
	return strings.Join(parts[:min(n, len(parts))], ".")
}

// choose picks of the versions that are offered, in their order: the pinned
// one, else the first that CI tests. n is how many numbers an offered version
// has; ok says what else a version must fulfil.
func (h hints) choose(offered []string, n int, ok func(string) bool) (version, from string) {
	if v := minor(h.pinned, n); h.pinned != "" && slices.Contains(offered, v) && ok(v) {
		return v, h.file
	}
	for _, v := range offered {
		for _, named := range sorted(h.tested) {
			if minor(named, n) == v && ok(v) {
				return v, path.Base(h.tested[named]) + ", which tests with it"
			}
		}
	}
	return "", ""
}
