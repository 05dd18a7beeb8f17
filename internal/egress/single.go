package egress

import (
	"bufio"
	"net"
	"sync"
	"time"
)

// modelHead bounds the wait for a request's head.
const modelHead = time.Minute

// single is a listener with one connection.
type single struct {
	conn  *counted
	given bool
}

func (s *single) Accept() (net.Conn, error) {
	if !s.given {
		s.given = true
		return s.conn, nil
	}
	<-s.conn.gone
	return nil, net.ErrClosed
}

func (s *single) Close() error   { return s.conn.Close() }
func (s *single) Addr() net.Addr { return s.conn.LocalAddr() }

// counted is a connection that tells when it is closed.
type counted struct {
	net.Conn
	r    *bufio.Reader
	once sync.Once
	gone chan struct{}
}

func (c *counted) Read(p []byte) (int, error) { return c.r.Read(p) }

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.gone) })
	return err
}
