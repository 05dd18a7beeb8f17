// Package gateway stands between an agent's box and a model API. It accepts
// a session's own token, puts the real key in its place, passes requests and
// streamed answers through as they come, counts tokens, prices each call,
// stops a session at its budget and records every call. It never tells the
// real key to anyone but the upstream, never changes what a model said, and
// keeps no body of a request or answer.
package gateway
