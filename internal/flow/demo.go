package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/config"
	"github.com/assaybot/assay/internal/tree"
)

// DemoRequest asks for the demo. Out "" means a folder that is removed
// afterwards.
type DemoRequest struct {
	Sandbox string
	Out     string
	Render  Render
}

// hasty names the demo's scripted agent.
const hasty = "hasty"

// hastyWork are the tasks that the scripted agent attempts, and which of
// their wrong solutions it hands in: three ways to miss.
func hastyWork() map[string]string {
	return map[string]string{
		"merge-intervals": "edits-the-test",
		"fix-pagination":  "fixes-legacy-too",
		"csv-parser":      "splits-lines-first",
	}
}

// Demo runs the reference agents and one scripted agent over the built-in
// suite and prints the report: the whole road without a model or a key.
func (f *Flow) Demo(ctx, soft context.Context, d DemoRequest, p Progress, w io.Writer) error {
	out, remove, err := demoFolder(d.Out)
	if err != nil {
		return err
	}
	defer remove()
	command, err := f.hastyCommand()
	if err != nil {
		return err
	}
	base := assay.Request{Out: out, Sandbox: d.Sandbox, Jobs: 2}
	reference, scripted := base, base
	reference.Agents = []assay.AgentSpec{{Name: "oracle"}, {Name: "nop"}}
	scripted.Agents = []assay.AgentSpec{{Name: "command", Label: hasty, Command: command}}
	for task := range hastyWork() {
		scripted.Task = append(scripted.Task, task)
	}
	p.Note("The reference solution (oracle) must pass every task, doing nothing (nop) must fail every task.")
	if err := f.demoRun(ctx, soft, reference, p); err != nil {
		return err
	}
	p.Note("A hasty agent: it edits the test, touches a file that it was told to leave, and skips a clause.")
	if err := f.demoRun(ctx, soft, scripted, p); err != nil {
		return err
	}
	if err := f.Report(out, "terminal", d.Render, w); err != nil {
		return err
	}
	return f.expected(out)
}

func (f *Flow) demoRun(ctx, soft context.Context, req assay.Request, p Progress) error {
	req = config.WithDefaults(req)
	req.Tasks, req.VarDir = "", ""
	sum, err := f.Run(ctx, soft, req, p)
	if err != nil {
		return err
	}
	if sum.Interrupted {
		return context.Canceled
	}
	return nil
}

func demoFolder(out string) (string, func(), error) {
	if out != "" {
		return out, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "assay-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("making a folder for the demo: %w", err)
	}
	return filepath.Join(dir, "results"), func() { _ = os.RemoveAll(dir) }, nil
}

// expected tells whether the demo saw what it must see; anything else is a
// fault of ours or of this machine, and no demo.
func (f *Flow) expected(out string) error {
	rep, err := f.buildReport(out)
	if err != nil {
		return err
	}
	for _, row := range rep.ByAgent {
		want := 0
		if row.Agent == "oracle" {
			want = row.Trials
		}
		if row.Resolved != want || row.N != row.Trials {
			return fmt.Errorf("the demo expected %s to resolve %d of %d tasks, but it resolved %d of %d; 'assay doctor' tells what this machine lacks",
				row.Agent, want, row.Trials, row.Resolved, row.N)
		}
	}
	return nil
}

// hastyProgram writes the files of the task that it finds itself in. It reads
// its prompt, as any agent would.
const hastyProgram = `
import json, os, sys
sys.stdin.read()
for marker, files in json.loads(sys.argv[1]).items():
    if os.path.exists(marker):
        for name, text in files.items():
            with open(name, "w", newline="") as f:
                f.write(text)
            print("wrote", name)
print("All done, the tests pass.")
`

// hastyCommand is the scripted agent's command line, made of wrong solutions
// that the built-in suite ships.
func (f *Flow) hastyCommand() ([]string, error) {
	work := map[string]map[string]string{}
	for task, wrong := range hastyWork() {
		all, err := tree.FromFS(f.Tasks, tree.Bounds{})
		if err != nil {
			return nil, err
		}
		files := all.Sub(path.Join(task, "wrong", wrong))
		if len(files) == 0 {
			return nil, fmt.Errorf("the built-in task %s has no wrong solution %q", task, wrong)
		}
		texts := map[string]string{}
		for p, e := range files {
			texts[p] = string(e.Data)
		}
		work[marker(all.Sub(path.Join(task, "workspace")))] = texts
	}
	data, err := json.Marshal(work)
	if err != nil {
		return nil, fmt.Errorf("making the scripted agent: %w", err)
	}
	return []string{"python3", "-I", "-c", hastyProgram, string(data)}, nil
}

// marker is a file by which a workspace is known: its package's __init__.
func marker(workspace tree.Tree) string {
	for _, p := range workspace.Paths() {
		if path.Base(p) == "__init__.py" && path.Dir(p) != "tests" {
			return p
		}
	}
	return "README.md"
}
