//go:build !linux && !darwin

package disk

import (
	"math"
	"os"
)

// free can't be measured here: it is taken for unlimited where dir exists.
func free(dir string) (int64, error) {
	if _, err := os.Stat(dir); err != nil {
		return 0, err
	}
	return math.MaxInt64, nil
}
