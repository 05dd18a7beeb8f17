package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"sort"
	"sync"
	"time"
)

// killWait is how long a killed command may take to be gone.
const killWait = 20 * time.Second

// Client is the host's side of a box. One command runs at a time; everything
// else may happen meanwhile.
type Client struct {
	s     *session
	model http.Handler
	conns chan net.Conn
	wg    sync.WaitGroup
}

// NewClient talks to a box over w and r. It owns goroutines that end when r
// does; Wait waits for them. The handler answers the box's calls of the
// model; nil refuses them.
func NewClient(r io.Reader, w io.Writer, model http.Handler) *Client {
	c := &Client{s: newSession(w, 1, hostBounds()), model: model, conns: make(chan net.Conn, maxConns)}
	c.s.maxPeer = maxConns + 8
	c.s.accept = c.accept
	c.wg.Go(func() { _ = c.s.serve(r) })
	if model != nil {
		c.wg.Go(c.serveModel)
	}
	return c
}

// Wait returns when the session is over and every goroutine of it ended.
func (c *Client) Wait() { c.wg.Wait() }

// Done is closed when the session is over.
func (c *Client) Done() <-chan struct{} { return c.s.done }

func (c *Client) accept(st *stream, what []byte) {
	if c.model == nil || string(what) != connRequest {
		c.wg.Go(st.reset)
		return
	}
	here, there := net.Pipe()
	c.wg.Go(func() { bridge(st, there) })
	select {
	case c.conns <- here:
	default:
		_ = here.Close()
	}
}

// bridge carries a connection over a stream until both directions ended.
func bridge(st *stream, conn net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() {
		drain(conn, st)
		endWrite(conn)
	})
	_, err := io.Copy(st, conn)
	if err == nil {
		err = st.closeWrite()
	}
	if err != nil {
		st.reset()
	}
	wg.Wait()
	_ = conn.Close()
	st.reset()
}

func endWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = conn.Close()
}

func (c *Client) serveModel() {
	srv := &http.Server{Handler: c.model, ReadHeaderTimeout: time.Minute}
	c.wg.Go(func() {
		<-c.s.done
		_ = srv.Close()
	})
	_ = srv.Serve(&listener{c: c})
}

// listener hands the box's connections to an http.Server.
type listener struct{ c *Client }

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.c.conns:
		return conn, nil
	case <-l.c.s.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { return nil }
func (l *listener) Addr() net.Addr { return boxAddr{} }

type boxAddr struct{}

func (boxAddr) Network() string { return "box" }
func (boxAddr) String() string  { return "box" }

// ask opens a stream for a request; a cancelled ctx gives the stream up. The
// returned function must be called.
func (c *Client) ask(ctx context.Context, req request) (*stream, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	data, err := json.Marshal(req)
	if err != nil {
		return nil, nil, err
	}
	if len(data) > boxBounds().open {
		return nil, nil, fmt.Errorf("the request is %d bytes long; the box takes %d", len(data), boxBounds().open)
	}
	st, err := c.s.open(data)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, st.reset)
	return st, func() { stop(); st.reset() }, nil
}

// result waits for the reply and prefers the context's error to the one that
// giving the stream up caused.
func result(ctx context.Context, st *stream) (reply, error) {
	data, err := st.wait()
	if err != nil {
		return reply{}, errors.Join(ctx.Err(), err)
	}
	return parseReply(data)
}

func (c *Client) simple(ctx context.Context, req request) error {
	st, done, err := c.ask(ctx, req)
	if err != nil {
		return err
	}
	defer done()
	if err := st.closeWrite(); err != nil {
		return err
	}
	r, err := result(ctx, st)
	if err != nil {
		return err
	}
	return r.err()
}

// Setup prepares the box; it is the first thing to ask.
func (c *Client) Setup(ctx context.Context, s Setup) error {
	return c.simple(ctx, request{Op: opSetup, Setup: &s})
}

// Clear empties a folder, or makes it, for the box's user.
func (c *Client) Clear(ctx context.Context, dir string) error {
	return c.simple(ctx, request{Op: opClear, Dir: dir})
}

// Put unpacks a tar stream below dir, for the box's user or for root.
func (c *Client) Put(ctx context.Context, dir string, own bool, r io.Reader) error {
	st, done, err := c.ask(ctx, request{Op: opPut, Dir: dir, Own: own})
	if err != nil {
		return err
	}
	defer done()
	_, copyErr := io.Copy(st, r)
	if copyErr == nil {
		copyErr = st.closeWrite()
	}
	// A box that stops reading answers first, so that its reason is known.
	if copyErr != nil && !st.answered() {
		return errors.Join(ctx.Err(), copyErr)
	}
	rep, err := result(ctx, st)
	if err != nil {
		return err
	}
	return rep.err()
}

// Get copies dir as a tar stream to w, at most limit bytes (0: any number).
func (c *Client) Get(ctx context.Context, dir string, limit int64, w io.Writer) error {
	st, done, err := c.ask(ctx, request{Op: opGet, Dir: dir, Limit: limit})
	if err != nil {
		return err
	}
	defer done()
	if err := st.closeWrite(); err != nil {
		return err
	}
	from := io.Reader(st)
	if limit > 0 {
		// The box counts too, but its word isn't enough. The end of an
		// archive is two blocks, and a header may need some more.
		from = &capped{r: st, left: limit + limit/8 + 1<<20}
	}
	if _, err := io.Copy(w, from); err != nil {
		if errors.Is(err, ErrTooLarge) {
			return err
		}
		return errors.Join(ctx.Err(), err)
	}
	rep, err := result(ctx, st)
	if err != nil {
		return err
	}
	return rep.err()
}

type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

// Command is a program to run in the box. A nil Stdin is empty input, a nil
// writer discards; the two writers may be one and are never written at once.
type Command struct {
	Argv   []string
	Dir    string
	Env    map[string]string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

func (cmd Command) wire(stderr uint32) *command {
	env := make([]string, 0, len(cmd.Env))
	for k, v := range cmd.Env {
		env = append(env, k+"="+v)
	}
	sort.Strings(env)
	return &command{Argv: cmd.Argv, Dir: cmd.Dir, Env: env, Stdin: cmd.Stdin != nil, Stderr: stderr}
}

// Run runs a command to its end and returns when all its output was written.
// A cancelled ctx kills everything in the box and is no error.
func (c *Client) Run(ctx context.Context, cmd Command) (Exit, error) {
	if ctx.Err() != nil {
		return Exit{Code: 137, Signal: 9, Killed: true}, nil
	}
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	pipe, donePipe, err := c.ask(hard, request{Op: opPipe})
	if err != nil {
		return Exit{}, err
	}
	defer donePipe()
	if err := pipe.closeWrite(); err != nil {
		return Exit{}, err
	}
	st, done, err := c.ask(hard, request{Op: opRun, Run: cmd.wire(pipe.id)})
	if err != nil {
		return Exit{}, err
	}
	defer done()
	stop := context.AfterFunc(ctx, func() { c.kill(hard, cancel) })
	defer stop()
	// The reader is the caller's and may block; it isn't waited for.
	go feed(st, cmd.Stdin)
	var wg sync.WaitGroup
	stdout, stderr := plainWriters(cmd.Stdout, cmd.Stderr)
	wg.Go(func() { drain(stderr, pipe) })
	drain(stdout, st)
	wg.Wait()
	rep, err := result(hard, st)
	if err != nil {
		return Exit{}, fmt.Errorf("the box vanished under the command: %w", err)
	}
	if rep.Exit == nil {
		return Exit{}, errors.Join(rep.err(), errFrame)
	}
	return *rep.Exit, nil
}

// kill ends the command, and gives up on the box when it doesn't answer.
func (c *Client) kill(hard context.Context, giveUp context.CancelFunc) {
	wait, stop := context.WithTimeout(hard, killWait)
	defer stop()
	_ = c.simple(wait, request{Op: opKill})
	<-wait.Done()
	giveUp()
}

// feed sends a command's input until the command, or the input, ends.
func feed(st *stream, r io.Reader) {
	if r != nil {
		if _, err := io.Copy(st, r); err != nil {
			return
		}
	}
	_ = st.closeWrite()
}

// drain reads to the end whatever becomes of the writer, so that a failing
// writer doesn't block the command.
func drain(w io.Writer, from io.Reader) {
	if _, err := io.Copy(w, from); err != nil {
		_, _ = io.Copy(io.Discard, from)
	}
}

// plainWriters are a command's two writers: nil discards, and one that is
// both is written by one at a time.
func plainWriters(stdout, stderr io.Writer) (io.Writer, io.Writer) {
	if stdout == nil {
		stdout = io.Discard
	}
	if stderr == nil {
		stderr = io.Discard
	}
	one := &lockedWriter{w: stdout}
	if reflect.ValueOf(stdout).Comparable() && reflect.ValueOf(stderr).Comparable() && stdout == stderr {
		return one, one
	}
	return one, &lockedWriter{w: stderr}
}

// lockedWriter hides every method of a writer but Write.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
