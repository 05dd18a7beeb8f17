package gateway

import "bytes"

// maxLine bounds a line that is kept until its end comes; a longer one is
// skipped.
const maxLine = 4 << 20

// lines cuts pieces of a stream into lines, without their ends.
type lines struct {
	part []byte
	skip bool
}

func (l *lines) feed(p []byte, f func([]byte)) {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.keep(p)
			return
		}
		l.keep(p[:i])
		if !l.skip {
			f(bytes.TrimSuffix(l.part, []byte("\r")))
		}
		l.part, l.skip = l.part[:0], false
		p = p[i+1:]
	}
}

func (l *lines) keep(p []byte) {
	if l.skip || len(l.part)+len(p) > maxLine {
		l.part, l.skip = l.part[:0], true
		return
	}
	l.part = append(l.part, p...)
}
