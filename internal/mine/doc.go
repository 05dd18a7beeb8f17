// Package mine decides what of a repository's history can become a task: what
// each file of a change is, which issues a change closes, what the problem's
// text was before the fix began, and which changes are noise. It works on
// values that others fetched: it never talks to git, to GitHub or to a disk, and
// calls no model.
package mine
