package agent

import (
	"context"
	_ "embed" // the two scripts
	"path/filepath"
	"strings"
)

// miniKit makes the kit, miniRun starts the program in a box.
var (
	//go:embed mini/kit.py
	miniKit string
	//go:embed mini/run.py
	miniRun string
)

// miniPackages are mini-swe-agent in a version and the packages that it
// imports in a trial; those of the proven version are proven too. What it
// declares beside them is for benchmarks of its own and takes 400 MB.
func miniPackages(version string) []string {
	out := []string{"mini-swe-agent==" + version}
	for _, p := range []string{
		"litellm==1.110.2", "openai==3.57.0", "pyyaml==6.0.4", "requests==2.34.2", "jinja2==3.1.6", "pydantic==2.14.4", "tenacity==9.2.1",
		"rich==15.0.0", "python-dotenv==1.2.4", "typer==0.29.2", "platformdirs==4.14.9", "textual==8.2.8", "prompt_toolkit==3.0.53",
	} {
		if version != MiniVersion {
			p, _, _ = strings.Cut(p, "==")
		}
		out = append(out, p)
	}
	return out
}

// pythonInstall makes a kit by this machine's Python.
func pythonInstall(ctx context.Context, r KitRequest, dir string, packages []string) error {
	kit := filepath.Join(dir, "kit")
	return install(ctx, r, installation{
		dir: dir, argv: append([]string{"python3", "-c", miniKit, kit}, packages...), what: packages[0],
		needs: "Python 3.10 or later with pip (Debian's python3-pip)",
	})
}
