// Package model is a scripted model server on loopback: it speaks the
// Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini APIs,
// streaming and not, and answers as a script of Go values says. It counts
// what it served, so that a test can hold the accounts of gateway and agent
// against it. It never thinks, never reaches the network and is no part of
// the product; tests and the demo use it.
package model
