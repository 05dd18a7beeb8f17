package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// fakeSandbox makes boxes in memory. main plays every program that isn't one
// of the few tools that run itself uses.
type fakeSandbox struct {
	mu       sync.Mutex
	main     func(ctx context.Context, b *fakeBox, c Command) (Exit, error)
	openErr  func(spec BoxSpec) error
	prepare  error
	isolated bool
	log      []string // what happened, in order
	boxes    []*fakeBox
}

func (s *fakeSandbox) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *fakeSandbox) Name() string { return "fake" }

func (s *fakeSandbox) Prepare(context.Context, assay.Environment, tree.Tree, io.Writer) (Image, error) {
	return Image{Ref: "image", Digest: "sha256:1"}, s.prepare
}

func (s *fakeSandbox) Open(ctx context.Context, spec BoxSpec) (Box, error) {
	s.note("open %s", spec.Role)
	if s.openErr != nil {
		if err := s.openErr(spec); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	b := &fakeBox{s: s, spec: spec, files: tree.Tree{}}
	s.mu.Lock()
	s.boxes = append(s.boxes, b)
	s.mu.Unlock()
	return b, nil
}

// open boxes that nobody closed.
func (s *fakeSandbox) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, b := range s.boxes {
		if !b.closed {
			n++
		}
	}
	return n
}

type fakeBox struct {
	s      *fakeSandbox
	spec   BoxSpec
	mu     sync.Mutex
	files  tree.Tree // below "/", without the leading slash
	closed bool
}

func (b *fakeBox) Root() string     { return "" }
func (b *fakeBox) ModelURL() string { return "http://127.0.0.1:1" }
func (b *fakeBox) Facts() assay.Box { return assay.Box{Kind: "fake", Isolated: b.s.isolated} }

func inside(dir string) string { return strings.TrimPrefix(dir, "/") }

func (b *fakeBox) Put(_ context.Context, dir string, _ bool, r io.Reader) error {
	t, _, err := tree.ReadTar(r, tree.Bounds{})
	if err != nil {
		return err
	}
	b.s.note("put %s %s", b.spec.Role, dir)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files = tree.Over(b.files, t.In(inside(dir)))
	return nil
}

func (b *fakeBox) Get(_ context.Context, dir string, limit int64, w io.Writer) error {
	b.s.note("get %s %s", b.spec.Role, dir)
	b.mu.Lock()
	t := b.files.Sub(inside(dir))
	b.mu.Unlock()
	if t.Size() > limit {
		return ErrTooLarge
	}
	return tree.WriteTar(w, t)
}

func (b *fakeBox) Clear(_ context.Context, dir string) error {
	b.remove(inside(dir))
	return nil
}

func (b *fakeBox) remove(at string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p := range b.files {
		if p == at || strings.HasPrefix(p, at+"/") {
			delete(b.files, p)
		}
	}
}

// write makes a file, given with its absolute path.
func (b *fakeBox) write(p, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files = tree.Over(b.files, tree.Tree{inside(p): tree.Text(text)})
}

func (b *fakeBox) text(p string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.files[inside(p)].Data)
}

func (b *fakeBox) Run(ctx context.Context, c Command) (Exit, error) {
	switch c.Argv[0] {
	case "xargs":
		names, err := io.ReadAll(c.Stdin)
		for p := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
			b.remove(path.Join(inside(c.Dir), p))
		}
		return Exit{}, err
	case "cp":
		from := path.Join(inside(c.Dir), c.Argv[3])
		b.write(path.Join(c.Argv[4], path.Base(from)), b.text("/"+from))
		return Exit{}, nil
	}
	b.s.note("run %s %s", b.spec.Role, strings.Join(c.Argv, " "))
	return b.s.main(ctx, b, c)
}

func (b *fakeBox) Close(ctx context.Context) error {
	b.s.note("close %s", b.spec.Role)
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.closed = true
	return ctx.Err()
}

// hang is a program that writes nothing more and has to be killed.
func hang(ctx context.Context) (Exit, error) {
	<-ctx.Done()
	return Exit{Killed: true, Code: 137}, nil
}

// fakePatches writes patches as JSON.
type fakePatches struct{ lie bool }

type fakeDiff struct {
	Gone []string
	Made tree.Tree
}

func (f fakePatches) Make(_ context.Context, base, after tree.Tree) ([]byte, error) {
	d := fakeDiff{Made: tree.Tree{}}
	for _, p := range unequal(base, after) {
		if e, ok := after[p]; ok {
			d.Made[p] = e
		} else {
			d.Gone = append(d.Gone, p)
		}
	}
	if len(d.Gone)+len(d.Made) == 0 {
		return nil, nil
	}
	return json.Marshal(d)
}

func (f fakePatches) Apply(_ context.Context, base tree.Tree, diff []byte) (tree.Tree, error) {
	out := base.Clone()
	if len(diff) == 0 {
		return out, nil
	}
	var d fakeDiff
	if err := json.Unmarshal(diff, &d); err != nil {
		return nil, err
	}
	for _, p := range d.Gone {
		delete(out, p)
	}
	if f.lie {
		d.Made["lie"] = tree.Text("")
	}
	return tree.Over(out, d.Made), nil
}

func (fakePatches) Ignored(_ context.Context, _ tree.Tree, paths []string) (out []string, _ error) {
	for _, p := range paths {
		if strings.HasSuffix(p, ".pyc") {
			out = append(out, p)
		}
	}
	return out, nil
}

func (fakePatches) Repository(context.Context, tree.Tree) (tree.Tree, error) {
	return tree.Tree{".git/HEAD": tree.Text("ref: refs/heads/main\n")}, nil
}

func (fakePatches) WithoutGit(t tree.Tree) (tree.Tree, []string) {
	out, nested := tree.Tree{}, []string{}
	for _, p := range t.Paths() {
		switch {
		case strings.HasPrefix(p, ".git/"):
		case strings.Contains(p, "/.git/"):
			nested = append(nested, p)
		default:
			out[p] = t[p]
		}
	}
	return out, nested
}

func (fakePatches) Sum(base, after tree.Tree, diff []byte) assay.Patch {
	return assay.Patch{Files: tree.Diff(base, after), Bytes: int64(len(diff))}
}

// fakeRecord is one attempt in memory.
type fakeRecord struct {
	mu     sync.Mutex
	n      int
	files  map[string]*bytes.Buffer
	order  []string
	result *assay.Result
	fail   error // of Finish
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (r *fakeRecord) Number() int { return r.n }

func (r *fakeRecord) Create(name string) (io.WriteCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := &bytes.Buffer{}
	r.files[name] = b
	r.order = append(r.order, name)
	return nopCloser{b}, nil
}

func (r *fakeRecord) Write(name string, data []byte) error {
	w, err := r.Create(name)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

func (r *fakeRecord) Read(name string) ([]byte, error) {
	if b, ok := r.files[name]; ok {
		return b.Bytes(), nil
	}
	return nil, fs.ErrNotExist
}

func (r *fakeRecord) Finish(res assay.Result) error {
	if r.fail != nil {
		return r.fail
	}
	r.result = &res
	r.order = append(r.order, "result.json")
	return nil
}

func (r *fakeRecord) text(name string) string {
	b, _ := r.Read(name)
	return string(b)
}

// fakeLedger hands out records.
type fakeLedger struct {
	mu      sync.Mutex
	records map[string][]*fakeRecord
	fail    error // of Begin and Finish
	finish  error
}

func (l *fakeLedger) begin(t assay.Trial) (Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return nil, l.fail
	}
	if l.records == nil {
		l.records = map[string][]*fakeRecord{}
	}
	rec := &fakeRecord{n: len(l.records[t.ID]) + 1, files: map[string]*bytes.Buffer{}, fail: l.finish}
	l.records[t.ID] = append(l.records[t.ID], rec)
	return rec, nil
}

func (l *fakeLedger) last(id string) *fakeRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.records[id]
	return all[len(all)-1]
}

// fakeAgent starts "agent" with whatever launch says.
type fakeAgent struct{ launch func(in Invocation) Launch }

func (fakeAgent) Name() string                                  { return "fake" }
func (fakeAgent) Check(assay.Trial, Credentials) assay.Problems { return nil }
func (f fakeAgent) Invoke(in Invocation) (Launch, error) {
	if f.launch == nil {
		return Launch{Argv: []string{"agent"}, Stdin: in.Prompt}, nil
	}
	return f.launch(in), nil
}

// oracle lays the solution over the workspace.
func oracle(in Invocation) Launch { return Launch{NoProgram: true, Overlay: in.Solution} }

// lineParser ends at a line "end"; Finish says success then.
type lineParser struct {
	seen  strings.Builder
	sink  StepSink
	panic bool
}

func (p *lineParser) Write(b []byte) (int, error) {
	if p.panic {
		panic("a bug")
	}
	p.seen.Write(b)
	if p.sink != nil {
		p.sink.Step(assay.Step{Source: "agent", Message: "said"})
	}
	return len(b), nil
}
func (p *lineParser) SetSink(s StepSink) { p.sink = s }
func (p *lineParser) Ended() bool        { return strings.Contains(p.seen.String(), "end\n") }
func (p *lineParser) Finish() (f assay.AgentFacts) {
	if p.Ended() {
		f.Ending = EndSuccess
	}
	f.CostUSD, f.CostKnown = 0.25, true
	return f
}

// fakeGrader passes when the file "good" is in the workspace. It opens its
// box as a real one does.
type fakeGrader struct {
	hook func(ctx context.Context, g Grading, box Box) ([]assay.CheckResult, error)
}

func (f fakeGrader) Grade(ctx context.Context, g Grading) ([]assay.CheckResult, error) {
	box, err := g.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = box.Close(ctx) }()
	if f.hook != nil {
		return f.hook(ctx, g, box)
	}
	if _, err := Checks(ctx, box, CheckRun{Graded: g.After, Hidden: g.Verify, Limits: g.Limits, Out: g.Out}); err != nil {
		return nil, err
	}
	status := assay.CheckFailed
	if _, ok := g.After["good"]; ok {
		status = assay.CheckPassed
	}
	return []assay.CheckResult{{Name: "unit", Kind: assay.CheckTests, Status: status}}, nil
}

// fakeGateway gives every session the same account.
type fakeGateway struct{ calls assay.ModelCalls }

func (fakeGateway) Credentials() Credentials { return Credentials{"p": true} }
func (g fakeGateway) Session(s SessionSpec) (Session, error) {
	_, err := io.WriteString(s.Log, "{}\n")
	return fakeSession{calls: g.calls}, err
}

type fakeSession struct {
	http.Handler
	calls assay.ModelCalls
}

func (fakeSession) Token() string             { return "token" }
func (s fakeSession) Calls() assay.ModelCalls { return s.calls }
func (fakeSession) Close() error              { return nil }

// events keeps what was told.
type events struct{ list []string }

func (e *events) Started(t assay.Trial, n int)          { e.add("started %s %d", t.Task, n) }
func (e *events) Finished(r assay.Result)               { e.add("finished %s %s", r.Trial.Task, r.Outcome) }
func (e *events) Retry(r assay.Result, w time.Duration) { e.add("retry %s %s", r.Trial.Task, w) }
func (e *events) Spent(usd float64, _ assay.Tokens)     { e.add("spent %.2f", usd) }
func (e *events) add(format string, args ...any) {
	e.list = append(e.list, fmt.Sprintf(format, args...))
}

// stage is a runner on fakes.
type stage struct {
	*Runner
	box    *fakeSandbox
	ledger *fakeLedger
	events *events
}

func newStage(t *testing.T, main func(ctx context.Context, b *fakeBox, c Command) (Exit, error)) *stage {
	t.Helper()
	s := &stage{box: &fakeSandbox{main: main, isolated: true}, ledger: &fakeLedger{}, events: &events{}}
	s.Runner = &Runner{
		Sandbox: s.box, Agents: map[string]Agent{"fake": fakeAgent{}}, Grader: fakeGrader{},
		Patches: fakePatches{}, Begin: s.ledger.begin, Events: s.events, Run: "r", EarlyGrader: true,
	}
	return s
}

func job(task string) Job {
	t := assay.Trial{Task: task, Agent: assay.AgentSpec{Name: "fake"}, Repeat: 1}
	t.ID = assay.TrialID(t)
	return Job{
		Trial: t, Task: assay.Task{ID: task}, Prompt: "do it",
		Workspace: tree.Tree{"main.py": tree.Text("pass\n"), "old": tree.Text("x")},
		Verify:    tree.Tree{"test_hidden.py": tree.Text("secret")},
		Solution:  tree.Tree{"good": tree.Text("yes")},
	}
}

// wantNothingLeft holds that every box was closed.
func (s *stage) wantNothingLeft(t *testing.T) {
	t.Helper()
	if n := s.box.left(); n > 0 {
		t.Errorf("%d boxes were left open:\n%s", n, strings.Join(s.box.log, "\n"))
	}
}

var errBroken = errors.New("the engine is gone")
