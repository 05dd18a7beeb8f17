package main

import (
	"context"
	"os"

	"github.com/assaybot/assay/internal/inbox"
	"github.com/assaybot/assay/internal/local"
)

func main() {
	if code, ok := local.Init(os.Args); ok {
		os.Exit(code)
	}
	if len(os.Args) == 2 && os.Args[1] == "inbox" {
		os.Exit(inbox.Main(os.Stdin, os.Stdout))
	}
	os.Exit(command(context.Background(), os.Args[1:]))
}
