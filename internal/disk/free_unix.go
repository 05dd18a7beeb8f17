//go:build linux || darwin

package disk

import (
	"math"

	"golang.org/x/sys/unix"
)

func free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	blocks, size := st.Bavail, uint64(st.Bsize)
	if size != 0 && blocks > math.MaxInt64/size {
		return math.MaxInt64, nil
	}
	return int64(blocks * size), nil
}
