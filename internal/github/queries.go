package github

import (
	"fmt"
	"strings"
)

// The first pages of what hangs on a pull request or an issue. They are small
// since they multiply: what is longer is asked for by its own query.
const (
	fields = `
fragment Who on Actor { __typename login }
fragment Labels on LabelConnection { totalCount pageInfo { hasNextPage endCursor } nodes { name } }
fragment Comments on IssueCommentConnection { totalCount pageInfo { hasNextPage endCursor } nodes { author { ...Who } createdAt lastEditedAt body } }
fragment Edits on UserContentEditConnection { totalCount pageInfo { hasNextPage endCursor } nodes { editedAt deletedAt diff } }
`
	issueFields = `
fragment IssueFields on Issue {
  id number title body state url createdAt updatedAt closedAt lastEditedAt
  repository { nameWithOwner }
  author { ...Who }
  labels(first: 20) { ...Labels }
  comments(first: 30) { ...Comments }
  userContentEdits(first: 10) { ...Edits }
}
`
	pullFields = `
fragment Reviews on PullRequestReviewConnection { totalCount pageInfo { hasNextPage endCursor } nodes { author { ...Who } state submittedAt } }
fragment Closes on IssueConnection { totalCount pageInfo { hasNextPage endCursor } nodes { ...IssueFields } }
fragment PullFields on PullRequest {
  id number title body url baseRefName headRefName createdAt updatedAt mergedAt lastEditedAt
  mergeCommit { oid }
  author { ...Who }
  labels(first: 20) { ...Labels }
  comments(first: 30) { ...Comments }
  userContentEdits(first: 10) { ...Edits }
  reviews(first: 30) { ...Reviews }
  commits(first: 1) { totalCount nodes { commit { authoredDate } } }
  closingIssuesReferences(first: 5) { ...Closes }
}
`
	pullsQuery = `query Pulls($owner: String!, $name: String!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    nameWithOwner
    defaultBranchRef { name }
    page: pullRequests(states: MERGED, first: $first, after: $after, orderBy: {field: UPDATED_AT, direction: DESC}) {
      totalCount pageInfo { hasNextPage endCursor } nodes { ...PullFields }
    }
  }
}
` + fields + issueFields + pullFields

	issuesQuery = `query Issues($owner: String!, $name: String!, $first: Int!, $after: String, $since: DateTime) {
  repository(owner: $owner, name: $name) {
    nameWithOwner
    defaultBranchRef { name }
    page: issues(states: OPEN, first: $first, after: $after, filterBy: {since: $since}, orderBy: {field: UPDATED_AT, direction: DESC}) {
      totalCount pageInfo { hasNextPage endCursor } nodes { ...IssueFields }
    }
  }
}
` + fields + issueFields
)

// moreQuery asks for the next pages of several lists at once.
func moreQuery(jobs []more, size int) operation {
	vars := map[string]any{}
	var params, body strings.Builder
	for n, j := range jobs {
		fmt.Fprintf(&params, ", $i%d: ID!, $c%d: String!", n, n)
		fmt.Fprintf(&body, "  n%d: node(id: $i%d) { ... on %s { page: %s(first: %d, after: $c%d) { ...%s } } }\n", n, n, j.kind, j.list, size, n, j.fragment)
		vars[fmt.Sprintf("i%d", n)], vars[fmt.Sprintf("c%d", n)] = j.id, j.cursor
	}
	return operation{vars: vars, text: "query More(" + params.String()[2:] + ") {\n" + body.String() + "}\n" + needed(body.String())}
}

// needed are the fragments that a query spreads, and those that these spread:
// GraphQL refuses fragments that nobody uses.
func needed(text string) string {
	all := strings.Split(fields+issueFields+pullFields, "\nfragment ")[1:]
	out := ""
	for grown := true; grown; {
		grown = false
		for _, f := range all {
			name, _, _ := strings.Cut(f, " ")
			whole := "fragment " + strings.TrimSpace(f) + "\n"
			if strings.Contains(text+out, "..."+name+" ") && !strings.Contains(out, whole) {
				out, grown = out+whole, true
			}
		}
	}
	return out
}
