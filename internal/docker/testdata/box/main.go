// Command box is the smallest program that a box can start with.
package main

import (
	"os"

	"github.com/assaybot/assay/internal/inbox"
)

func main() { os.Exit(inbox.Main(os.Stdin, os.Stdout)) }
