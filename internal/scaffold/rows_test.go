package scaffold

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Limits of GitHub's that its runner enforces and no linter knows.
const (
	maxJobs   = 256
	maxInputs = 25
)

// foreign is a script that prints texts of tasks and agents; the program puts
// them between brackets that it writes to standard error.
var foreign = regexp.MustCompile(`\bassay (run|mine|build|validate|merge|report|plan|grade)\b`)

// branchOf is the name of a pull request's branch: it is the author's words,
// and in a fork it isn't in this repository at all.
var branchOf = regexp.MustCompile(`github\.head_ref|pull_request\.head\.(ref|label)`)

// brokenLimits are the rules on what GitHub bounds.
func brokenLimits(w workflow) []string {
	var out []string
	if branchOf.MatchString(w.text) {
		out = append(out, w.path+": the branch of a pull request is named; its commit is what counts")
	}
	for name, j := range w.jobs {
		strategy, _ := j["strategy"].(map[string]any)
		matrix, ok := strategy["matrix"].(map[string]any)
		if n := jobs(matrix); ok && n == 0 {
			out = append(out, w.path+": job "+name+": a matrix of no jobs is an error")
		} else if n > maxJobs {
			out = append(out, fmt.Sprintf("%s: job %s: a matrix of %d jobs; GitHub runs at most %d", w.path, name, n, maxJobs))
		}
	}
	on, _ := w.doc["on"].(map[string]any)
	dispatch, _ := on["workflow_dispatch"].(map[string]any)
	if in, _ := dispatch["inputs"].(map[string]any); len(in) > maxInputs {
		out = append(out, fmt.Sprintf("%s: %d inputs; GitHub takes at most %d", w.path, len(in), maxInputs))
	}
	return out
}

// jobs is how many jobs a written matrix has, without its exceptions.
func jobs(matrix map[string]any) int {
	n := 1
	for key, values := range matrix {
		if list, ok := values.([]any); ok && key != "include" && key != "exclude" {
			n *= len(list)
		}
	}
	return n
}

// list and inputs make long YAML.
func list(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1, ", n), ", ") + "]" }

func inputs(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("i%d: {type: string}", i))
	}
	return strings.Join(out, ", ")
}

func shippedOne(t *testing.T, name string) workflow {
	t.Helper()
	w, err := parseWorkflow(name, shipped(t)["../../.github/workflows/"+name])
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Row 13: Dependabot gets no secrets, whoever opened the pull request; its runs
// are treated like a fork's and told so, in place of failing without a key.
func TestRow13DependabotIsAFork(t *testing.T) {
	w := shippedOne(t, "pull-request.yml")
	guard, outside := fmt.Sprint(w.jobs["changes"]["if"]), fmt.Sprint(w.jobs["outside"]["if"])
	for _, part := range []string{"github.event.pull_request.user.login != 'dependabot[bot]'", "github.actor != 'dependabot[bot]'"} {
		if !strings.Contains(guard, part) {
			t.Errorf("the guard lacks %s: %s", part, guard)
		}
	}
	// Exactly one of the two runs: the one condition is the other's opposite.
	if outside != "${{ !("+guard+") }}" {
		t.Errorf("a pull request may be neither evaluated nor told: %s", outside)
	}
	if text := fmt.Sprint(w.jobs["outside"]["steps"]); !strings.Contains(text, "Dependabot") || strings.Contains(text, "exit 1") {
		t.Errorf("it isn't told well: %s", text)
	}
}

// Row 20: whoever pushed, a pull request's workflow is not red for it: what
// can't be evaluated ends well with a reason, and the score is posted by a job
// that has no condition on people.
func TestRow20WhoPushedMakesNothingRed(t *testing.T) {
	w := shippedOne(t, "pull-request.yml")
	for name, j := range w.jobs {
		cond := fmt.Sprint(j["if"])
		if strings.Contains(cond, "always()") || strings.Contains(cond, "failure()") {
			t.Errorf("job %s runs whatever happened: %s", name, cond)
		}
		if strings.Contains(cond, "[bot]") && name != "changes" && name != "outside" {
			t.Errorf("job %s asks who pushed: %s", name, cond)
		}
	}
	if perms := fmt.Sprint(w.jobs["outside"]["permissions"]); perms != "map[]" {
		t.Errorf("a stranger's run may %s", perms)
	}
}

// Row 42: the report waits for all shards, and reports also when one failed.
func TestRow42OneReportAfterAllShards(t *testing.T) {
	shards, evaluate := shippedOne(t, "shards.yml"), shippedOne(t, "evaluate.yml")
	if needs := fmt.Sprint(shards.jobs["merge"]["needs"]); needs != "[plan run]" {
		t.Errorf("the merge needs %s", needs)
	}
	for _, cond := range []string{fmt.Sprint(shards.jobs["merge"]["if"]), fmt.Sprint(evaluate.jobs["report"]["if"])} {
		if !strings.Contains(cond, "!cancelled()") {
			t.Errorf("a shard that failed keeps the others from being reported: %s", cond)
		}
	}
	posts := 0
	for _, s := range append(evaluate.steps(), shippedOne(t, "pull-request.yml").steps()...) {
		if run, _ := s["run"].(string); strings.Contains(run, "assay publish") {
			posts++
		}
	}
	if posts != 2 {
		t.Errorf("%d steps post; one per workflow does", posts)
	}
}

// Row 48: of a pull request commits are checked out, by their SHA.
func TestRow48HeadsAreCommits(t *testing.T) {
	w := shippedOne(t, "pull-request.yml")
	for _, side := range []struct{ job, ref, variants string }{
		{"base", "${{ github.event.pull_request.base.sha }}", "<nil>"},
		{"head", "${{ github.event.pull_request.base.sha }}", "${{ github.event.pull_request.head.sha }}"},
	} {
		with, _ := w.jobs[side.job]["with"].(map[string]any)
		if fmt.Sprint(with["ref"]) != side.ref || fmt.Sprint(with["variants-ref"]) != side.variants {
			t.Errorf("%s checks out %v and %v", side.job, with["ref"], with["variants-ref"])
		}
	}
}

// Row 50: of two runs that are started at once each can be found by a word of
// its own, and they post one after the other.
func TestRow50EachRunHasItsName(t *testing.T) {
	generatedOne, err := parseWorkflow("assay-evaluate.yml", generated(t)[".github/workflows/assay-evaluate.yml"])
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []workflow{generatedOne, shippedOne(t, "evaluate.yml")} {
		on, _ := w.doc["on"].(map[string]any)
		dispatch, _ := on["workflow_dispatch"].(map[string]any)
		in, _ := dispatch["inputs"].(map[string]any)
		if _, ok := in["request"]; !ok || !strings.Contains(fmt.Sprint(w.doc["run-name"]), "${{ inputs.request }}") {
			t.Errorf("%s: the run's name is %v", w.path, w.doc["run-name"])
		}
	}
	if c := fmt.Sprint(shippedOne(t, "evaluate.yml").doc["concurrency"]); !strings.Contains(c, "inputs.key") || !strings.Contains(c, "cancel-in-progress:false") {
		t.Errorf("concurrency: %s", c)
	}
}
