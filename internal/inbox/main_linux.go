package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// The box's user.
const (
	userID  = 1000
	groupID = 1000
)

// programDir is where a box holds this program; Main works nowhere else.
const programDir = "/assay"

// Main is the first process of a box. It serves the host over stdin and
// stdout until stdin ends, and returns the exit status. Outside of a box it
// does nothing and returns 2.
func Main(stdin io.Reader, stdout io.Writer) int {
	if !firstOfBox() {
		return 2
	}
	warmThreads()
	b := &box{procs: namespace{}, root: "/", owners: true}
	if err := b.serve(stdin, stdout); err != nil {
		fmt.Fprintln(os.Stderr, "inbox:", err)
		return 1
	}
	return 0
}

// firstOfBox tells whether this process is the first one of a container that
// was started to be a box. Killing everything is right only then: all four
// signs must agree.
func firstOfBox() bool {
	exe, err := os.Executable()
	return err == nil && os.Getpid() == 1 && os.Getppid() == 0 &&
		len(os.Args) > 1 && os.Args[1] == "inbox" && filepath.Dir(exe) == programDir
}

// box serves one host.
type box struct {
	procs  processes
	root   string // what paths are relative to; "/" but in tests
	owners bool   // whether owners of files are set

	s    *session
	wg   sync.WaitGroup
	home string

	mu      sync.Mutex
	pipes   map[uint32]*stream
	current *running
}

func (b *box) serve(stdin io.Reader, stdout io.Writer) error {
	b.pipes = map[uint32]*stream{}
	b.s = newSession(stdout, 2, boxBounds())
	b.s.accept = b.accept
	err := b.s.serve(stdin)
	b.kill()
	b.wg.Wait()
	return err
}

// accept is called in the read loop. A pipe is known before the command that
// names it.
func (b *box) accept(st *stream, data []byte) {
	var req request
	err := json.Unmarshal(data, &req)
	if err == nil && req.Op == opPipe {
		b.mu.Lock()
		b.pipes[st.id] = st
		b.mu.Unlock()
		return
	}
	b.wg.Go(func() {
		if err != nil {
			b.reply(st, replyOf(fmt.Errorf("%w: %w", errFrame, err)))
			return
		}
		b.reply(st, b.do(st, req))
	})
}

// reply answers and then swallows what still comes, so that the host isn't
// left waiting for its window.
func (b *box) reply(st *stream, r reply) {
	data, err := json.Marshal(r)
	if err != nil {
		data = []byte(`{"error":"no answer"}`)
	}
	if err := st.answer(data); err == nil {
		_, _ = io.Copy(io.Discard, st)
	}
}

func (b *box) do(st *stream, req request) reply {
	switch req.Op {
	case opSetup:
		if req.Setup == nil {
			return replyOf(errFrame)
		}
		return replyOf(b.setup(*req.Setup))
	case opPut:
		return replyOf(b.files(req.Own).put(req.Dir, st))
	case opGet:
		return replyOf(b.files(false).get(req.Dir, req.Limit, st))
	case opClear:
		return replyOf(b.files(true).clear(req.Dir))
	case opKill:
		b.kill()
		return reply{}
	case opRun:
		if req.Run == nil || len(req.Run.Argv) == 0 {
			return replyOf(errors.New("there is no command"))
		}
		return b.run(st, *req.Run)
	}
	return replyOf(fmt.Errorf("%q is nothing that a box does", req.Op))
}

func (b *box) files(own bool) files {
	f := files{base: b.root}
	if b.owners {
		f.chown = true
		if own {
			f.uid, f.gid = userID, groupID
		}
	}
	return f
}
