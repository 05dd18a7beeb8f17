//go:build !linux

package inbox

import "io"

// Main is the first process of a box, which is always Linux.
func Main(io.Reader, io.Writer) int { return 2 }
