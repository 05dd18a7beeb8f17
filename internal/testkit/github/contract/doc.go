// Package contract holds what is said to the fake GitHub, and what it
// answers, against the schemas that GitHub publishes: the OpenAPI description
// and the GraphQL schema. It reads them from a folder where npm has installed
// @octokit/openapi and @octokit/graphql-schema; it never fetches anything.
package contract
