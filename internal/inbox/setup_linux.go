package inbox

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"time"
)

// threads is how many threads the program keeps: enough that it never needs
// a new one when a command has used up the box's processes.
const threads = 14

// warmThreads makes the runtime start its threads now. They stay, parked.
func warmThreads() {
	var wg, ready sync.WaitGroup
	release := make(chan struct{})
	ready.Add(threads)
	for range threads {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		})
	}
	ready.Wait()
	close(release)
	wg.Wait()
}

func (b *box) setup(s Setup) error {
	b.mu.Lock()
	b.home = s.Home
	b.mu.Unlock()
	for _, dir := range s.Keep {
		if err := b.files(false).ensure(dir); err != nil {
			return err
		}
	}
	for _, dir := range append([]string{s.Home}, s.Own...) {
		if err := b.files(true).ensure(dir); err != nil {
			return err
		}
	}
	if b.owners {
		if err := prepareSystem(s.Home); err != nil {
			return err
		}
	}
	if s.Model == "" {
		return nil
	}
	return b.listen(s.Model)
}

// prepareSystem makes /tmp usable and gives the box's user a name, which
// many programs want.
func prepareSystem(home string) error {
	if err := os.MkdirAll("/tmp", 0o777); err != nil {
		return fmt.Errorf("making /tmp: %w", err)
	}
	if err := os.Chmod("/tmp", 0o777|os.ModeSticky); err != nil {
		return fmt.Errorf("making /tmp writable: %w", err)
	}
	users, err := os.ReadFile("/etc/passwd")
	if err != nil || bytes.Contains(users, fmt.Appendf(nil, ":%d:", userID)) {
		// An image without users has no program that asks for them.
		return nil
	}
	if len(users) > 0 && users[len(users)-1] != '\n' {
		users = append(users, '\n')
	}
	users = fmt.Appendf(users, "agent:x:%d:%d::%s:/bin/sh\n", userID, groupID, home)
	return os.WriteFile("/etc/passwd", users, 0o644)
}

// listen carries connections to the model's address to the host.
func (b *box) listen(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listening for calls of the model: %w", err)
	}
	b.wg.Go(func() {
		<-b.s.done
		_ = l.Close()
	})
	b.wg.Go(func() { b.acceptModel(l) })
	return nil
}

func (b *box) acceptModel(l net.Listener) {
	slots := make(chan struct{}, maxConns)
	for {
		slots <- struct{}{}
		conn, err := l.Accept()
		select {
		case <-b.s.done:
			if err == nil {
				_ = conn.Close()
			}
			return
		default:
		}
		if err != nil {
			// Out of descriptors or memory: it passes.
			<-slots
			time.Sleep(10 * time.Millisecond)
			continue
		}
		b.wg.Go(func() {
			b.carry(conn)
			<-slots
		})
	}
}

func (b *box) carry(conn net.Conn) {
	st, err := b.s.open([]byte(connRequest))
	if err != nil {
		_ = conn.Close()
		return
	}
	stop := make(chan struct{})
	b.wg.Go(func() {
		// A session that is over must not wait for the client.
		select {
		case <-b.s.done:
			_ = conn.Close()
		case <-stop:
		}
	})
	bridge(st, conn)
	close(stop)
}

// discard reads a pipe to its end, so that its writer never blocks.
func discard(r io.Reader) { _, _ = io.Copy(io.Discard, r) }
