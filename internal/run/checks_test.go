package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// checkRun is a run of the given steps that keeps logs and facts.
type checkRun struct {
	CheckRun
	logs  map[string]*bytes.Buffer
	facts []StepFacts
}

func newCheckRun(steps ...Step) *checkRun {
	c := &checkRun{logs: map[string]*bytes.Buffer{}}
	c.CheckRun = CheckRun{
		Graded: tree.Tree{"main.py": tree.Text("new")}, Hidden: tree.Tree{"t.py": tree.Text("secret")},
		Env: map[string]string{"A": "1", "B": "1"}, Steps: steps, Limits: assay.DefaultLimits(),
		Out: func(name string) (io.WriteCloser, error) {
			c.logs[name] = &bytes.Buffer{}
			return nopCloser{c.logs[name]}, nil
		},
		Judge: func(_ int, f StepFacts) { c.facts = append(c.facts, f) },
	}
	return c
}

func step(name string) Step {
	return Step{Name: name, Argv: func(p Paths) []string { return []string{name, p.Work, p.Verify, p.Report, p.Runner} }}
}

func graderBox(t *testing.T, isolated bool, main func(ctx context.Context, b *fakeBox, c Command) (Exit, error)) *fakeBox {
	t.Helper()
	s := &fakeSandbox{main: main, isolated: isolated}
	box, err := s.Open(t.Context(), BoxSpec{Role: "grader"})
	if err != nil {
		t.Fatal(err)
	}
	return box.(*fakeBox)
}

func TestChecksRunAlone(t *testing.T) {
	box := graderBox(t, true, func(_ context.Context, b *fakeBox, c Command) (Exit, error) {
		if b.text("/verify/t.py") != "secret" || b.text("/workspace/main.py") != "new" {
			t.Error("the box is not furnished")
		}
		if c.Argv[0] == "second" && b.text("/report/first.xml") != "" {
			t.Error("the second step finds the first one's report")
		}
		b.write("/report/"+c.Argv[0]+".xml", "<ok/>")
		_, _ = io.WriteString(c.Stdout, "out "+c.Env["A"]+c.Env["B"])
		_, _ = io.WriteString(c.Stderr, "err\xff")
		return Exit{Code: 3}, nil
	})
	first := step("first")
	first.Env = map[string]string{"B": "2"}
	c := newCheckRun(first, step("second"))
	changed, err := Checks(t.Context(), box, c.CheckRun)
	if err != nil || len(changed) > 0 || len(c.facts) != 2 {
		t.Fatal(changed, err, c.facts)
	}
	f := c.facts[0]
	if string(f.Stdout) != "out 12" || string(f.Stderr) != "err\xff" || f.Exit.Code != 3 || f.TimedOut {
		t.Errorf("%+v", f)
	}
	if d := cmp.Diff([]string{"first.xml"}, f.Report.Paths()); d != "" {
		t.Error(d)
	}
	if got := c.logs["first.log"].String(); got != "out 12err\xff" {
		t.Errorf("the log is %q", got)
	}
	want := []string{"run grader first /workspace /verify /report /verify/.assay", "run grader second /workspace /verify /report /verify/.assay"}
	var got []string
	for _, l := range box.s.log {
		if strings.HasPrefix(l, "run") {
			got = append(got, l)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestReportInWorkspaceIsTheStepsOwn(t *testing.T) {
	for _, writes := range []bool{true, false} {
		box := graderBox(t, true, func(_ context.Context, b *fakeBox, _ Command) (Exit, error) {
			if b.text("/workspace/out/r.xml") != "" {
				t.Error("the agent's report was still there")
			}
			if writes {
				b.write("/workspace/out/r.xml", "real")
			}
			return Exit{}, nil
		})
		s := step("unit")
		s.Report = "out/r.xml"
		c := newCheckRun(s)
		c.Graded = tree.Tree{"out/r.xml": tree.Text("forged")}
		if _, err := Checks(t.Context(), box, c.CheckRun); err != nil {
			t.Fatal(err)
		}
		want := ""
		if writes {
			want = "real"
		}
		if got := string(c.facts[0].Report["r.xml"].Data); got != want {
			t.Errorf("the report is %q, want %q", got, want)
		}
	}
	s := step("unit")
	s.Report = "../verify"
	if _, err := Checks(t.Context(), graderBox(t, true, nil), newCheckRun(s).CheckRun); err == nil {
		t.Error("a report outside of the workspace was accepted")
	}
}

func TestChangedHiddenFilesAreTold(t *testing.T) {
	box := graderBox(t, false, func(_ context.Context, b *fakeBox, _ Command) (Exit, error) {
		b.write("/verify/t.py", "pass")
		b.write("/verify/__pycache__/t.pyc", "x")
		return Exit{}, nil
	})
	changed, err := Checks(t.Context(), box, newCheckRun(step("unit")).CheckRun)
	if d := cmp.Diff([]string{"t.py"}, changed); d != "" || err != nil {
		t.Error(err, d)
	}
}

func TestStepTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := graderBox(t, true, func(ctx context.Context, b *fakeBox, c Command) (Exit, error) {
			if c.Argv[0] == "slow" {
				return hang(ctx)
			}
			return Exit{}, nil
		})
		slow := step("slow")
		slow.Timeout = time.Minute
		c := newCheckRun(slow, step("next"))
		if _, err := Checks(t.Context(), box, c.CheckRun); err != nil {
			t.Fatal(err)
		}
		if !c.facts[0].TimedOut || c.facts[1].TimedOut {
			t.Errorf("%+v", c.facts)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := Checks(ctx, box, newCheckRun(slow).CheckRun); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled check gave %v", err)
		}
	})
}

func TestSetupThatFailsInGradingLetsChecksTell(t *testing.T) {
	box := graderBox(t, true, func(_ context.Context, _ *fakeBox, c Command) (Exit, error) {
		if c.Argv[0] == "sh" {
			_, _ = io.WriteString(c.Stderr, "broken by the agent")
			return Exit{Code: 1}, nil
		}
		return Exit{}, nil
	})
	c := newCheckRun(step("unit"))
	c.Setup = []string{"make"}
	if _, err := Checks(t.Context(), box, c.CheckRun); err != nil || len(c.facts) != 1 {
		t.Error(err)
	}
	if c.logs["setup.log"].String() != "broken by the agent" {
		t.Error(c.logs["setup.log"].String())
	}
	if hidden, ran := slices.Index(box.s.log, "put grader /verify"), slices.Index(box.s.log, "run grader sh -c make"); hidden < ran {
		t.Error("setup ran with the hidden files there")
	}
}

func TestPlacedBoxGetsTheDifference(t *testing.T) {
	base := tree.Tree{"same": tree.Text("1"), "gone": tree.Text("2"), "dir/f": tree.Text("3"), "file": tree.Text("4"), "l": {Mode: tree.Link, Data: []byte("/etc")}}
	after := tree.Tree{"same": tree.Text("1"), "dir": tree.Text("now a file"), "file/x": tree.Text("now a folder"), "l": tree.Text("now a file"), "new": tree.Text("5")}
	box := graderBox(t, true, nil)
	if err := put(t.Context(), box, WorkDir, true, base); err != nil {
		t.Fatal(err)
	}
	c := newCheckRun()
	c.Graded = after
	if _, err := Checks(t.Context(), Placed{Box: box, Workspace: base}, c.CheckRun); err != nil {
		t.Fatal(err)
	}
	if got := box.files.Sub("workspace"); got.Digest() != after.Digest() {
		t.Error(tree.Diff(after, got))
	}
}
