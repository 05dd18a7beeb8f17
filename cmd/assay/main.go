// Command assay is the command line, the Action and, inside of a container,
// the first process of a box. See package doc.go for a tour of the rooms.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "inbox" {
		os.Exit(firstProcess())
	}
	os.Exit(command(context.Background(), os.Args[1:]))
}

// stops turns the first interrupt into a soft stop and the second into a hard
// one.
func stops(ctx context.Context) (hard, soft context.Context, release func()) {
	hard, cancelHard := context.WithCancel(ctx)
	soft, cancelSoft := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range signals {
			if soft.Err() != nil {
				cancelHard()
			}
			cancelSoft()
		}
	}()
	return hard, soft, func() { signal.Stop(signals); close(signals); cancelHard(); cancelSoft() }
}
