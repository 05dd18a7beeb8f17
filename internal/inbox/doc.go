// Package inbox is the first process of a box and the host's side of talking
// to it. Files, commands, their streams and connections to the model all
// travel in frames over one pair of byte streams: the box's standard input
// and output.
//
// In the box it runs as root and process 1 with few capabilities, runs
// commands as an ordinary user, and when a command ends it kills and reaps
// everything else in its process namespace. It never does so outside of a
// box: Main refuses to work unless it is process 1 of a namespace of its own.
//
// The host never trusts the box: frames are bounded, unknown streams are
// ignored, and a broken frame ends the session.
package inbox
