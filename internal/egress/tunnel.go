package egress

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
)

// connect joins the client and a destination until both directions end.
func (w *way) connect(ctx context.Context, rw http.ResponseWriter, dest string) {
	far, err := w.dial(ctx, "tcp", dest)
	if err != nil {
		w.failed(rw, dest, err)
		return
	}
	defer func() { _ = far.Close() }()
	near, buf, ok := taken(rw)
	if !ok {
		return
	}
	defer func() { _ = near.Close() }()
	defer context.AfterFunc(ctx, func() { _, _ = far.Close(), near.Close() })()
	var both sync.WaitGroup
	both.Go(func() { copyHalf(far, buf) })
	both.Go(func() { copyHalf(near, far) })
	both.Wait()
}

// taken takes a connection over from the server and says that it is made.
func taken(rw http.ResponseWriter) (net.Conn, *bufio.Reader, bool) {
	conn, buf, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		http.Error(rw, "assay: no tunnel can be made", http.StatusInternalServerError)
		return nil, nil, false
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = conn.Close()
		return nil, nil, false
	}
	return conn, buf.Reader, true
}

func copyHalf(to net.Conn, from io.Reader) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}

// loop serves the model on a tunnel to the box's own address of it.
func (w *way) loop(rw http.ResponseWriter) {
	if !w.enter() {
		http.Error(rw, "assay: too many connections, or the trial is over", http.StatusServiceUnavailable)
		return
	}
	defer w.leave()
	conn, buf, ok := taken(rw)
	if !ok {
		return
	}
	one := &single{conn: &counted{Conn: conn, r: buf, gone: make(chan struct{})}}
	srv := &http.Server{Handler: w.model, ReadHeaderTimeout: modelHead}
	ended := make(chan struct{})
	w.wait.Go(func() {
		select {
		case <-w.done:
		case <-one.conn.gone:
		}
		_ = srv.Close()
		close(ended)
	})
	_ = srv.Serve(one)
	<-ended
}
