// Package redact takes secrets out of text: exact values that it is given
// (and their usual encodings), and whatever has the shape of a well-known
// credential. It works on whole strings and on streams, with bounded memory.
// It never decides what is a secret from a name or from context alone, and
// it never fails: text without a secret comes out as it went in.
package redact
