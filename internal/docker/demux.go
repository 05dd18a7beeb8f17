package docker

import (
	"encoding/binary"
	"fmt"
	"io"
)

// tailSize is how much of the first process's errors is kept.
const tailSize = 2 << 10

// demux reads standard output out of an attached container's stream and
// keeps the end of its standard error.
type demux struct {
	r    io.Reader
	left uint32

	said tail
}

func newDemux(r io.Reader) *demux { return &demux{r: r} }

func (d *demux) Read(p []byte) (int, error) {
	for d.left == 0 {
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	if uint32(len(p)) > d.left {
		p = p[:d.left]
	}
	n, err := d.r.Read(p)
	d.left -= uint32(n)
	return n, err
}

// next reads a header, and all of a piece that isn't standard output.
func (d *demux) next() error {
	var h [8]byte
	if _, err := io.ReadFull(d.r, h[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(h[4:])
	switch h[0] {
	case 1:
		d.left = n
		return nil
	case 0, 2, 3:
		return d.keep(int64(n))
	}
	return fmt.Errorf("the engine sent a stream of kind %d", h[0])
}

func (d *demux) keep(n int64) error {
	buf := make([]byte, 1024)
	for n > 0 {
		got, err := d.r.Read(buf[:min(n, int64(len(buf)))])
		n -= int64(got)
		_, _ = d.said.Write(buf[:got])
		if err != nil {
			return err
		}
	}
	return nil
}

// tail is what the first process said last on its standard error.
func (d *demux) tail() string { return d.said.text() }
