// Package history keeps what runs came to on a branch of a git remote, so that
// the next run knows what was measured, how long it took and what it cost:
//
//	README.md                      what the branch is
//	history/2026-12/<run>.jsonl    one run: a head, then one line per trial
//
// A file is written once and never changed: what a later part of the same run
// adds (a failed job that was run again) is a file of its own beside it. So
// writers never meet within a file, and posting a run twice changes nothing.
// The branch's tip is bounded: the oldest runs are dropped from it, and stay in
// git's own history.
//
// It knows neither git nor GitHub: a Branch is given to it. It never rewrites
// or deletes what it can't read, and never takes a branch that couldn't be
// read for an empty one.
package history
