package build

import (
	"path"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// pretended is the version of a project that takes its own from git's tags:
// the agent's repository has none. It is high, since some check that they are
// new enough.
const pretended = "9999.0.0"

var (
	scmTool     = regexp.MustCompile(`setuptools[-_]scm|hatch-vcs|hatch_vcs|pdm.*\bscm\b`)
	versionFile = regexp.MustCompile(`(?m)^\s*["']?(?:write_to|version_file|version-file)["']?\s*[=:]\s*["']([\w./-]+\.py)["']`)
)

// pretend pins the version of a project that derives it from tags: by the
// variable that the tools read, and by the file that they would write.
func pretend(in Input) (env map[string]string, setup []string) {
	text := in.text("pyproject.toml") + "\n" + in.text("setup.py") + "\n" + in.text("setup.cfg")
	if !scmTool.MatchString(text) {
		return nil, nil
	}
	env = map[string]string{"SETUPTOOLS_SCM_PRETEND_VERSION": pretended}
	if m := versionFile.FindStringSubmatch(text); m != nil && !strings.Contains(m[1], "..") && !path.IsAbs(m[1]) {
		setup = append(setup, "[ -e "+shell(m[1])+" ] || printf '%s\\n' \"__version__ = version = '"+pretended+"'\" \"__version_tuple__ = version_tuple = (9999, 0, 0)\" > "+shell(m[1]))
	}
	return env, setup
}

// ownName is what the project calls itself, "" where no manifest says so.
func ownName(in Input, p pyproject) string {
	for _, name := range []string{p.Project.Name, setupCfgValue(in.text("setup.cfg"), "metadata", "name"), quoted(in.text("setup.py"), `\bname`)} {
		if packageName.MatchString(name) {
			return name
		}
	}
	return ""
}

// withoutOwn takes the project itself out of the image, where a dependency
// brought a release of it: it may be newer than the base, and hold the answer.
func withoutOwn(in Input) string {
	var p pyproject
	if err := toml.Unmarshal(in.Files["pyproject.toml"].Data, &p); err != nil {
		return ""
	}
	name := ownName(in, p)
	if name == "" || name == "pytest" {
		return ""
	}
	return "python3 -m pip uninstall -y --break-system-packages " + shell(name) + " >/dev/null 2>&1 || true\n"
}

var packageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
