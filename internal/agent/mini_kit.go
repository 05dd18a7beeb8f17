package agent

import (
	"context"
	_ "embed" // the two scripts of the kit
	"os"
	"path/filepath"
)

// miniKit makes the kit, miniRun starts the program in a box.
var (
	//go:embed mini/kit.py
	miniKit string
	//go:embed mini/run.py
	miniRun string
)

// miniNeeds are the packages that mini-swe-agent imports in a trial. What it
// declares beside them is for benchmarks of its own and takes 400 MB.
func miniNeeds() []string {
	return []string{
		"litellm==1.110.2", "openai", "pyyaml", "requests", "jinja2", "pydantic", "tenacity", "rich", "python-dotenv",
		"typer", "platformdirs", "textual", "prompt_toolkit",
	}
}

// pythonInstall makes a kit by this machine's Python.
func pythonInstall(ctx context.Context, r KitRequest, dir string, packages []string) error {
	kit := filepath.Join(dir, "kit")
	err := install(ctx, r, installation{
		dir: dir, argv: append([]string{"python3", "-c", miniKit, kit}, packages...), what: packages[0],
		needs: "Python 3.10 or later with pip (Debian's python3-pip)",
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(kit, "run.py"), []byte(miniRun), 0o600)
}
