package inbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

type frameKind uint8

// A stream is opened once, carries data both ways, and ends in each
// direction by EOF, by a result (which is an EOF with a message), or for
// both at once by a reset.
const (
	frameOpen frameKind = iota + 1
	frameData
	frameWindow
	frameEOF
	frameResult
	frameReset
	frameLast = frameReset
)

const (
	headerLen = 9
	// maxData bounds a data frame, so that a kill never waits behind much.
	maxData = 32 << 10
	// window is how many bytes one side may send before the other one has
	// read them: no stream can block another.
	window = 256 << 10
)

var errFrame = errors.New("a broken frame came from the other side")

type frame struct {
	kind    frameKind
	id      uint32
	payload []byte
}

// bounds are the longest payloads that one side accepts.
type bounds struct{ open, result int }

func (b bounds) of(k frameKind) int {
	switch k {
	case frameOpen:
		return b.open
	case frameData:
		return maxData
	case frameWindow:
		return 4
	case frameResult:
		return b.result
	}
	return 0
}

func appendFrame(to []byte, f frame) []byte {
	to = append(to, byte(f.kind))
	to = binary.BigEndian.AppendUint32(to, f.id)
	to = binary.BigEndian.AppendUint32(to, uint32(len(f.payload)))
	return append(to, f.payload...)
}

// readFrame reads one frame. io.EOF means that the stream ended between two
// frames.
func readFrame(r io.Reader, b bounds) (frame, error) {
	var h [headerLen]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return frame{}, err
	}
	f := frame{kind: frameKind(h[0]), id: binary.BigEndian.Uint32(h[1:5])}
	n := binary.BigEndian.Uint32(h[5:9])
	if f.kind == 0 || f.kind > frameLast {
		return frame{}, fmt.Errorf("%w: kind %d", errFrame, f.kind)
	}
	if int64(n) > int64(b.of(f.kind)) {
		return frame{}, fmt.Errorf("%w: %d bytes in a frame of kind %d", errFrame, n, f.kind)
	}
	if n == 0 {
		return f, nil
	}
	f.payload = make([]byte, n)
	if _, err := io.ReadFull(r, f.payload); err != nil {
		return frame{}, fmt.Errorf("%w: cut short", errFrame)
	}
	return f, nil
}
