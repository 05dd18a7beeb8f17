// Package github is a GitHub that lives in one test: a server on loopback that
// keeps repositories, pull requests, issues with the history of their texts,
// comments, labels, check runs and permissions, and speaks the parts of the
// REST and GraphQL interfaces that assay uses, with their limits. It serves
// both "/" (as api.github.com does) and "/api/v3/" with "/api/graphql" (as an
// Enterprise Server does), follows renames, answers conditional requests and
// fails on demand by a script. It never reaches out of this machine but to
// deliver a webhook to the address that a test gave, and it holds no git data.
package github
