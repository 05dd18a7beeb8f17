package scaffold

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// workflow is a workflow or an Action as the rules read it.
type workflow struct {
	path string
	text string
	doc  map[string]any
	jobs map[string]map[string]any
}

func parseWorkflow(path string, data []byte) (workflow, error) {
	w := workflow{path: path, text: string(data), jobs: map[string]map[string]any{}}
	if err := yaml.Unmarshal(data, &w.doc); err != nil {
		return w, err
	}
	jobs, _ := w.doc["jobs"].(map[string]any)
	for name, j := range jobs {
		w.jobs[name], _ = j.(map[string]any)
	}
	return w, nil
}

// steps are those of all jobs, or of a composite Action.
func (w workflow) steps() []map[string]any {
	holders := []map[string]any{}
	for _, j := range w.jobs {
		holders = append(holders, j)
	}
	if runs, ok := w.doc["runs"].(map[string]any); ok {
		holders = append(holders, runs)
	}
	var out []map[string]any
	for _, h := range holders {
		list, _ := h["steps"].([]any)
		for _, s := range list {
			if m, ok := s.(map[string]any); ok {
				out = append(out, m)
			}
		}
	}
	return out
}

var (
	usesLine = regexp.MustCompile(`^\s*(?:- )?uses:\s*(\S+)(.*)$`)
	pinned   = regexp.MustCompile(`^[A-Za-z0-9-]+/[A-Za-z0-9._/-]+@[0-9a-f]{40}$`)
	comment  = regexp.MustCompile(`^ # v?[0-9A-Za-z][0-9A-Za-z.+_-]*$`)
)

// broken are the rules that w breaks. They are those of zizmor and actionlint
// that matter most here, and some that these don't have.
func broken(w workflow) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, w.path+": "+fmt.Sprintf(format, args...)) }
	for i, line := range strings.Split(w.text, "\n") {
		m := usesLine.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(m[1], "./") {
			continue
		}
		if !pinned.MatchString(m[1]) || !comment.MatchString(m[2]) {
			add("line %d: %s isn't pinned to a commit with its version in a comment", i+1, m[1])
		}
	}
	if _, ok := w.doc["permissions"]; !ok && w.doc["runs"] == nil {
		add("no permissions at the top")
	}
	for name, j := range w.jobs {
		out = append(out, brokenJob(w, name, j)...)
	}
	out = append(out, brokenLimits(w)...)
	for _, s := range w.steps() {
		run, _ := s["run"].(string)
		if strings.Contains(run, "${{") {
			add("an expression stands in a script: %.60q", run)
		}
		if foreign.MatchString(run) && !strings.Contains(run, "exec 2>&1") {
			add("foreign text and what brackets it are in two streams: %.60q", run)
		}
		uses, _ := s["uses"].(string)
		with, _ := s["with"].(map[string]any)
		if strings.HasPrefix(uses, "actions/checkout@") && with["persist-credentials"] != false {
			add("a checkout leaves its token behind")
		}
		if strings.HasPrefix(uses, "actions/cache") {
			add("a cache could carry what an agent left into another job")
		}
	}
	return append(out, triggers(w)...)
}

func brokenJob(w workflow, name string, j map[string]any) []string {
	var out []string
	add := func(format string, args ...any) {
		out = append(out, w.path+": job "+name+": "+fmt.Sprintf(format, args...))
	}
	_, called := j["uses"]
	if _, ok := j["timeout-minutes"]; !ok && !called {
		add("no timeout")
	}
	perms, ok := j["permissions"].(map[string]any)
	if top, _ := w.doc["permissions"].(map[string]any); !ok && len(top) == 0 {
		add("no permissions")
	}
	writes := map[string]bool{}
	for scope, level := range perms {
		if level == "write" {
			writes[scope] = true
			if !mayWrite(w, j, scope) {
				add("may write %s", scope)
			}
		}
	}
	text := fmt.Sprint(j["steps"])
	if len(writes) > 0 && !called && strings.Contains(text, "_API_KEY") {
		add("holds a token that may write and keys of models")
	}
	if len(writes) > 0 && !called && strings.Contains(text, "assay run") {
		add("runs agents with a token that may write")
	}
	if strings.Contains(text, "assay run") && strings.Contains(text, "GITHUB_TOKEN") {
		add("runs agents with a token")
	}
	if strategy, ok := j["strategy"].(map[string]any); ok {
		if m, ok := strategy["matrix"].(string); ok && strings.Contains(m, "fromJSON") && !strings.Contains(fmt.Sprint(j["if"]), "count != '0'") {
			add("the matrix may be empty")
		}
		if _, ok := strategy["max-parallel"]; !ok {
			add("the matrix takes all runners at once")
		}
	}
	return out
}

// triggers refuses the events that run with secrets for a stranger's change,
// and crowded minutes.
func triggers(w workflow) []string {
	on, _ := w.doc["on"].(map[string]any)
	var out []string
	for _, bad := range []string{"pull_request_target", "issue_comment", "workflow_run"} {
		if _, ok := on[bad]; ok {
			out = append(out, w.path+": is started by "+bad)
		}
	}
	list, _ := on["schedule"].([]any)
	for _, s := range list {
		m, _ := s.(map[string]any)
		minute, _, _ := strings.Cut(fmt.Sprint(m["cron"]), " ")
		if n := len(minute); n == 0 || !strings.ContainsRune("13579", rune(minute[n-1])) || minute == "15" || minute == "45" {
			out = append(out, fmt.Sprintf("%s: %v is a crowded minute", w.path, m["cron"]))
		}
	}
	return out
}

func sampleFound() Found {
	f := Facts{Name: "thing", Manifests: map[string][]byte{"go.mod": nil}, Branch: "trunk",
		Counts: []Count{{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 80}}}
	return Detect(f)
}

// shipped are the workflows and the Action of this repository; generated are
// those that init writes.
func shipped(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) < 7 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, f := range append(files, "../../action.yml") {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[f] = data
	}
	return out
}

func generated(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := Make("thing", sampleFound(), Pin{"assaybot/assay", strings.Repeat("0123456789", 4), "v0.1.0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		if !f.Config {
			out[f.Path] = f.Data
		}
	}
	return out
}

func TestWorkflowsKeepTheRules(t *testing.T) {
	for _, set := range []map[string][]byte{shipped(t), generated(t)} {
		for path, data := range set {
			w, err := parseWorkflow(path, data)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			for _, fault := range broken(w) {
				t.Error(fault)
			}
		}
	}
}

// Each rule finds what it is for.
func TestRulesFindFaults(t *testing.T) {
	const good = `on:
  schedule:
    - cron: "7 3 * * *"
permissions: {}
jobs:
  run:
    needs: plan
    if: needs.plan.outputs.count != '0'
    timeout-minutes: 5
    permissions:
      contents: read
    strategy:
      max-parallel: 2
      matrix: ${{ fromJSON(needs.plan.outputs.matrix) }}
    steps:
      - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2
        with:
          persist-credentials: false
      - env:
          TITLE: ${{ github.event.issue.title }}
        run: |
          exec 2>&1
          assay run "$TITLE"
`
	tests := []struct{ name, old, new, want string }{
		{"fine", "", "", ""},
		{"tag", "checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd", "checkout@v6", "isn't pinned"},
		{"short", "de0fac2e4500dabe0009e67214ff5f5447ce83dd", "de0fac2e", "isn't pinned"},
		{"no version", " # v6.0.2", "", "version in a comment"},
		{"no permissions", "permissions: {}\n", "", "no permissions at the top"},
		{"no job permissions", "    permissions:\n      contents: read\n", "", "job run: no permissions"},
		{"write", "contents: read", "contents: write", "may write contents"},
		{"agents with a token", "contents: read", "checks: write", "runs agents with a token that may write"},
		{"token", "TITLE: ${{ github.event.issue.title }}", "GITHUB_TOKEN: ${{ github.token }}", "runs agents with a token"},
		{"injection", `"$TITLE"`, "${{ github.event.issue.title }}", "an expression stands in a script"},
		{"no timeout", "    timeout-minutes: 5\n", "", "no timeout"},
		{"script of GitHub's", "exec 2>&1", "exec 2>&1; echo ${{ github.head_ref }}", "an expression stands in a script"},
		{"row 47", "          exec 2>&1\n", "", "in two streams"},
		{"row 48", "persist-credentials: false", "{persist-credentials: false, ref: \"${{ github.head_ref }}\"}", "the branch of a pull request"},
		{"257 jobs", "${{ fromJSON(needs.plan.outputs.matrix) }}", "{a: " + list(257) + "}", "257 jobs"},
		{"16 x 17 jobs", "${{ fromJSON(needs.plan.outputs.matrix) }}", "{a: " + list(16) + ", b: " + list(17) + ", exclude: []}", "272 jobs"},
		{"256 jobs", "    strategy:\n      max-parallel: 2\n      matrix: ${{ fromJSON(needs.plan.outputs.matrix) }}", "    strategy:\n      max-parallel: 2\n      matrix: {a: " + list(256) + "}", ""},
		{"an empty list", "${{ fromJSON(needs.plan.outputs.matrix) }}", "{a: []}", "no jobs"},
		{"26 inputs", "  schedule:\n    - cron: \"7 3 * * *\"", "  workflow_dispatch:\n    inputs: {" + inputs(26) + "}", "26 inputs"},
		{"row 28", "    if: needs.plan.outputs.count != '0'\n", "", "the matrix may be empty"},
		{"parallel", "      max-parallel: 2\n", "", "takes all runners"},
		{"credentials", "persist-credentials: false", "fetch-depth: 1", "leaves its token behind"},
		{"target", "  schedule:\n    - cron: \"7 3 * * *\"", "  pull_request_target:", "started by pull_request_target"},
		{"full hour", `"7 3`, `"0 3`, "crowded minute"},
		{"cache", "actions/checkout@", "actions/cache@", "a cache could carry"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := good
			if tt.old != "" {
				if text = strings.Replace(good, tt.old, tt.new, 1); text == good {
					t.Fatal("the text wasn't changed")
				}
			}
			w, err := parseWorkflow("x.yml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(broken(w), "\n")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func event(expr string) bool { return strings.Contains(expr, "github.event.pull_request.head.sha") }

// Rows 10 and 13 and section 1.4: of a pull request's head nothing is run. Its
// commit is named only as the source of variants, and where the score belongs;
// forks and Dependabot are sent elsewhere before a secret is in reach.
func TestPullRequestsHeadIsDataOnly(t *testing.T) {
	text := string(shipped(t)["../../.github/workflows/pull-request.yml"])
	for _, line := range strings.Split(text, "\n") {
		if event(line) && !strings.Contains(line, "variants-ref:") && !strings.Contains(line, "HEAD_SHA:") && strings.TrimSpace(line) != "ref: ${{ github.event.pull_request.head.sha }}" {
			t.Errorf("the head is used in %q", line)
		}
	}
	w, err := parseWorkflow("pull-request.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	// One job looks at files of the head itself: whether they differ.
	looks := w.jobs["changes"]
	_, secrets := looks["secrets"]
	script := fmt.Sprint(looks["steps"])
	if secrets || strings.Contains(script, "secrets.") || strings.Contains(script, "assay ") || strings.Contains(script, "uses:./") || strings.Contains(script, "cd head") {
		t.Errorf("the job that looks at the head does more than that: %s", script)
	}
	guard := fmt.Sprint(looks["if"])
	for _, part := range []string{"head.repo.full_name == github.repository", "dependabot[bot]"} {
		if !strings.Contains(guard, part) {
			t.Errorf("the guard %q lacks %s", guard, part)
		}
	}
	for name, j := range w.jobs {
		_, secrets := j["secrets"]
		needs := fmt.Sprint(j["needs"])
		if secrets && !strings.Contains(needs, "changes") {
			t.Errorf("job %s gets secrets without the guard", name)
		}
	}
	shards := string(shipped(t)["../../.github/workflows/shards.yml"])
	checkouts := strings.Split(shards, "- uses: actions/checkout@")
	for _, c := range checkouts {
		if strings.Contains(c, "ref: ${{ inputs.variants-ref }}") && !strings.Contains(c, "sparse-checkout: |\n            ${{ inputs.variants-dir }}\n            .claude\n") {
			t.Error("more than the variants is checked out")
		}
	}
}

// Row 21: a label that isn't ours starts nothing.
func TestRow21OtherLabels(t *testing.T) {
	for _, w := range []struct{ path, text string }{
		{"label.yml", string(shipped(t)["../../.github/workflows/label.yml"])},
		{"assay-label.yml", string(generated(t)[".github/workflows/assay-label.yml"])},
	} {
		doc, err := parseWorkflow(w.path, []byte(w.text))
		if err != nil {
			t.Fatal(err)
		}
		for name, j := range doc.jobs {
			if !strings.Contains(fmt.Sprint(j["if"]), "github.event.label.name ==") {
				t.Errorf("%s: job %s runs for every label", w.path, name)
			}
		}
	}
}

// Row 30: every part of the matrix has an artifact of its own name.
func TestMining46AndRow30ArtifactNames(t *testing.T) {
	w, err := parseWorkflow("shards.yml", shipped(t)["../../.github/workflows/shards.yml"])
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range w.steps() {
		uses, _ := s["uses"].(string)
		if !strings.HasPrefix(uses, "actions/upload-artifact@") {
			continue
		}
		with, _ := s["with"].(map[string]any)
		name := fmt.Sprint(with["name"])
		if names[name] || with["overwrite"] != true {
			t.Errorf("the artifact %s is written twice, or can't be written again by a re-run", name)
		}
		names[name] = true
	}
	if !names["${{ inputs.key }}-${{ matrix.name }}"] {
		t.Errorf("the shards' artifacts are called %v", names)
	}
}

// What a caller hands on exists in the workflow that it calls, and what the
// called jobs may do is granted.
func TestCallsFit(t *testing.T) {
	called := map[string]workflow{}
	for path, data := range shipped(t) {
		w, err := parseWorkflow(path, data)
		if err != nil {
			t.Fatal(err)
		}
		called[filepath.Base(path)] = w
	}
	callers := generated(t)
	for p, d := range shipped(t) {
		callers[p] = d
	}
	calls := 0
	for path, data := range callers {
		w, err := parseWorkflow(path, data)
		if err != nil {
			t.Fatal(err)
		}
		for name, j := range w.jobs {
			uses, _ := j["uses"].(string)
			if uses == "" {
				continue
			}
			calls++
			file, _, _ := strings.Cut(filepath.Base(uses), "@")
			checkCall(t, path+" "+name, j, called[file])
		}
	}
	if calls < 9 {
		t.Errorf("only %d calls were looked at", calls)
	}
}

func checkCall(t *testing.T, who string, j map[string]any, to workflow) {
	t.Helper()
	on, _ := to.doc["on"].(map[string]any)
	call, _ := on["workflow_call"].(map[string]any)
	for _, part := range []struct{ has, takes string }{{"with", "inputs"}, {"secrets", "secrets"}} {
		given, _ := j[part.has].(map[string]any)
		takes, _ := call[part.takes].(map[string]any)
		for k := range given {
			if _, ok := takes[k]; !ok {
				t.Errorf("%s: %s takes no %s %s", who, to.path, part.takes, k)
			}
		}
	}
	granted, _ := j["permissions"].(map[string]any)
	for name, inner := range to.jobs {
		wants, _ := inner["permissions"].(map[string]any)
		for scope, level := range wants {
			if granted[scope] != level && granted[scope] != "write" {
				t.Errorf("%s: job %s of %s wants %s: %v, which isn't granted: GitHub would start nothing", who, name, to.path, scope, level)
			}
		}
	}
}

func TestActionlint(t *testing.T) {
	runLinter(t, "actionlint", func(files []string) []string {
		return slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "action.yml" })
	})
}

func TestZizmor(t *testing.T) {
	config, err := filepath.Abs("../../.github/zizmor.yml")
	if err != nil {
		t.Fatal(err)
	}
	runLinter(t, "zizmor", func(files []string) []string {
		return append([]string{"--offline", "--no-progress", "--quiet", "--config", config}, files...)
	})
}

// runLinter runs a linter of workflows where there is one; ASSAY_REQUIRE names
// those that must be there.
func runLinter(t *testing.T, name string, args func(files []string) []string) {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("ASSAY_REQUIRE"), ","), name) {
			t.Fatalf("ASSAY_REQUIRE names %s, and it isn't on PATH", name)
		}
		t.Skipf("%s isn't on PATH", name)
	}
	dir := t.TempDir()
	var files []string
	for _, set := range []map[string][]byte{shipped(t), generated(t)} {
		for path, data := range set {
			to := filepath.Join(dir, ".github", "workflows", filepath.Base(path))
			if filepath.Base(path) == "action.yml" {
				to = filepath.Join(dir, "action.yml")
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644)); err != nil {
				t.Fatal(err)
			}
			files = append(files, to)
		}
	}
	slices.Sort(files)
	// actionlint finds called workflows by the repository that they are in.
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args(files)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}
