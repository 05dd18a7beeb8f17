// Package github speaks with GitHub: github.com, an Enterprise Server or a
// data-residency host. Its transport obeys the limits that the server tells,
// repeats what is safe to repeat and nothing else, and explains refusals so
// that a person can act. On it stand Source, which reads merged pull requests
// and open issues for mining, and Client, which writes check runs and
// comments. It never decides what to publish, never repeats a write whose
// fate is unknown, never reads the environment, and never puts a token into an
// error.
package github
