package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
	"github.com/assaybot/assay/internal/tree"
)

// program is an agent's program with all that it runs in.
type program struct {
	agent   Agent
	box     Box
	repo    tree.Tree
	session *session
}

// launch furnishes the box and runs the program to its end.
func (a *attempt) launch(ctx context.Context, p program, left *leftover) error {
	in := a.invocation()
	in.Root, in.ModelURL, in.Token = p.box.Root(), p.session.modelURL(p.box), p.session.token()
	launch, err := p.agent.Invoke(in)
	if err != nil {
		return a.never("preparing the agent", err)
	}
	err = a.phase("prepare", func() error {
		return together(
			func() error { return a.furnish(ctx, p.box, p.repo, left) },
			func() error {
				if len(launch.Home) == 0 {
					return nil
				}
				return put(ctx, p.box, HomeDir, true, launch.Home)
			})
	})
	if err != nil {
		return err
	}
	if err := a.phase("agent", func() error { return a.execute(ctx, p, launch) }); err != nil {
		return err
	}
	return a.phase("collect", func() error { return a.keepTranscripts(ctx, p.box, launch.Transcripts) })
}

// streams are the raw files of a program.
type streams struct {
	out        *watched
	errFile    *capped
	errTail    *tail
	trajectory *atif.Writer
	files      []io.Closer
}

// openStreams makes the raw files. A parser that produces steps gets the
// trajectory as its sink.
func (a *attempt) openStreams(p Parser) (s *streams, err error) {
	s = &streams{errTail: newTail(tailBytes)}
	open := func(name string) io.Writer {
		if err != nil {
			return io.Discard
		}
		var w io.WriteCloser
		if w, err = a.create(name); err != nil {
			return io.Discard
		}
		s.files = append(s.files, w)
		return w
	}
	raw, trajectory, stderr := open(TranscriptFile), open(TrajectoryFile), open(StderrFile)
	if err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	s.trajectory = atif.NewWriter(trajectory)
	if needs, ok := p.(NeedsSink); ok {
		needs.SetSink(s.trajectory)
	}
	s.out = newWatched(raw, p)
	s.errFile = &capped{w: stderr, left: maxStderr}
	return s, nil
}

func (s *streams) closeFiles() error {
	errs := make([]error, 0, len(s.files))
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// execute runs the program under its clocks and books what it did.
func (a *attempt) execute(ctx context.Context, p program, l Launch) error {
	s, err := a.openStreams(l.Parser)
	if err != nil {
		return err
	}
	running, cancel := context.WithCancelCause(ctx)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		clocksOf(a.limits(), l.Grace).watch(running, s.out, func(why string) {
			p.session.freeze()
			cancel(stopped{why})
		})
	}()
	exit, runErr := p.box.Run(running, Command{
		Argv: l.Argv, Dir: WorkDir, Env: merged(merged(p.session.proxies(p.box), a.env(p.box)), l.Env),
		Stdin: strings.NewReader(l.Stdin), Stdout: s.out, Stderr: io.MultiWriter(s.errTail, s.errFile),
	})
	why := whyStopped(running)
	cancel(nil)
	<-watching
	err = a.book(s, l.Parser, p.session.refused())
	a.facts.Agent.Stopped, a.facts.OOM = why, exit.OOM
	a.facts.Agent.Exit = status(exit)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case runErr != nil:
		return assay.Infra(assay.InfraSandbox, "running the agent", runErr)
	case err == nil && len(l.Kits) > 0 && neverBegan(exit, a.facts.Agent):
		return a.never("starting the program of "+a.job.Trial.Agent.Key(), fmt.Errorf(
			"%s: the task's image lacks what the program needs, most likely the GNU C library (images with musl have another one); codex and mini-swe-agent bring all that they need",
			lastLine(a.facts.Agent.Stderr)))
	}
	return err
}

// neverBegan tells whether a program could not be started: the statuses that
// shells and the loader of libraries have for that, and not a word of its own.
// Nothing of the model's has run by then.
func neverBegan(e Exit, a assay.AgentFacts) bool {
	return !e.Killed && e.Signal == 0 && (e.Code == 126 || e.Code == 127) && a.Stdout == 0
}

// book reads the facts from the stream and closes the raw files.
func (a *attempt) book(s *streams, p Parser, refused []assay.Refusal) error {
	err := s.out.broken
	if p != nil && err == nil {
		err = safely(func() error { a.facts.Agent = p.Finish(); return nil })
	}
	f := &a.facts.Agent
	now := time.Now()
	f.Stdout, f.Stderr = s.out.count, strings.ToValidUTF8(string(s.errTail.bytes()), "\uFFFD")
	f.FirstSec, f.Seconds = since(s.out.begun, s.out.first), since(s.out.begun, now)
	if s.out.first.IsZero() {
		f.FirstSec = 0
	}
	if s.out.raw.cut {
		f.Detail = join(f.Detail, fmt.Sprintf("the transcript ends after %d bytes of %d", int64(maxTranscript), f.Stdout))
	}
	t := a.job.Trial
	end := atif.EndOf(t.Agent.Name, t.Model, *f)
	end.Notes = refusals(refused)
	wrote := s.trajectory.Finish(end)
	disk := errors.Join(s.out.raw.err, s.errFile.err, wrote, s.closeFiles())
	if disk != nil {
		return assay.Infra(assay.InfraDisk, "keeping the agent's output", disk)
	}
	return assay.Infra(assay.InfraSandbox, "reading the agent's stream", err)
}

// status is the exit status as a shell tells it; nil for a program that we
// killed.
func status(e Exit) *int {
	code := e.Code
	switch {
	case e.Killed:
		return nil
	case e.Signal != 0:
		code = 128 + e.Signal
	}
	return &code
}

// env is the task's environment for the agent's box; {work} stands for the
// workspace, as in checks.
func (a *attempt) env(box Box) map[string]string {
	out := map[string]string{}
	for k, v := range a.job.Task.Environment.Env {
		out[k] = strings.ReplaceAll(v, "{work}", PathsOf(box).Work)
	}
	return out
}

// merged is both environments; the second wins.
func merged(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b))
	for k, v := range a {
		out[k] = v
	}
	for k, v := range b {
		out[k] = v
	}
	return out
}
