// Package variants holds the built-in instruction variants, so that they
// travel in the binary: each is a folder as internal/suite reads it. It holds
// files only and decides nothing.
package variants

import (
	"embed"
	"io/fs"
)

//go:embed */variant.json */*.md
var files embed.FS

// FS is the folder of built-in variants, one sub-folder per variant.
func FS() fs.FS { return files }
