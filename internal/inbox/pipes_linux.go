package inbox

import (
	"fmt"
	"os"
	"time"
)

// pipes are the ends of a command's standard streams.
type pipes struct {
	stdin, stdout, stderr *os.File    // ours
	theirs                [3]*os.File // the command's
}

func openPipes(input bool) (*pipes, error) {
	p := &pipes{}
	err := p.open(input)
	if err != nil {
		p.closeChild()
		p.closeOurs()
		return nil, fmt.Errorf("opening a command's pipes: %w", err)
	}
	return p, nil
}

func (p *pipes) open(input bool) (err error) {
	if input {
		p.theirs[0], p.stdin, err = os.Pipe()
	} else {
		p.theirs[0], err = os.Open(os.DevNull)
	}
	if err != nil {
		return err
	}
	if p.stdout, p.theirs[1], err = os.Pipe(); err != nil {
		return err
	}
	p.stderr, p.theirs[2], err = os.Pipe()
	return err
}

// child are the command's descriptors. Fd makes them blocking, as programs
// expect.
func (p *pipes) child() []uintptr {
	return []uintptr{p.theirs[0].Fd(), p.theirs[1].Fd(), p.theirs[2].Fd()}
}

func (p *pipes) closeChild() {
	for _, f := range p.theirs {
		if f != nil {
			_ = f.Close()
		}
	}
}

// endOutput ends reading: at once where nobody writes any more, else after
// drainTime.
func (p *pipes) endOutput() {
	until := time.Now().Add(drainTime)
	_ = p.stdout.SetReadDeadline(until)
	_ = p.stderr.SetReadDeadline(until)
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
}

func (p *pipes) closeOurs() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}
