package web

import (
	"context"
	"crypto/sha1"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/flow"
)

const testToken = "a-token-of-the-tests"

// gate is a server that can be made not to answer.
type gate struct {
	next http.Handler
	shut atomic.Bool
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.shut.Load() {
		panic(http.ErrAbortHandler)
	}
	g.next.ServeHTTP(w, r)
}

// sampleDesk is a desk over n generated candidates, and the file of them.
func sampleDesk(t *testing.T, n int) (*flow.Desk, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "candidates.jsonl")
	all := make([]assay.Candidate, n)
	for i := range all {
		all[i] = sample(i + 1)
	}
	if err := candidates.At(path).Save(all); err != nil {
		t.Fatal(err)
	}
	return openDesk(t, path), path
}

func openDesk(t *testing.T, path string) *flow.Desk {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC) }
	d, err := flow.NewDesk(flow.DeskOptions{Store: path, Who: "ann@example.com", Now: now, Diff: sampleDiff{}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func changeDigest(t *testing.T, path, id string) {
	t.Helper()
	err := candidates.At(path).Update("test", func(all []assay.Candidate) ([]assay.Candidate, error) {
		for i := range all {
			if all[i].ID == id {
				all[i].Digest = "sha256:another-state-of-it"
			}
		}
		return all, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func commit(what string, n int) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Append(nil, what, n)))
}

func sample(n int) assay.Candidate {
	titles := []string{"Parser drops the last row of a table without a final newline", "`merge --ours` keeps files that both sides deleted", "Timeout of zero means “forever” in Client but “never” in Pool", "Crash on an empty configuration file", "Unicode names are cut in the middle of a character"}
	title := titles[n%len(titles)]
	c := assay.Candidate{
		Schema: 1, ID: fmt.Sprintf("pull-%d", n), Repo: "/src/tables", Status: assay.StatusMined, Title: "Fix: " + title, Author: "Kim Lee <kim@example.com>",
		Source:    assay.Source{Kind: "pull", Number: 1000 + n, Commit: commit("fix", n), URL: fmt.Sprintf("https://example.com/tables/pull/%d", 1000+n), Merged: time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)},
		Base:      assay.Base{Commit: commit("base", n), Rule: "parent"},
		MergeKind: "squash", Language: []string{"go", "python"}[n%2], Labels: []string{"bug", "good first issue"}[:1+n%2],
		Links: []assay.Link{{Issue: 900 + n, Evidence: "keyword_body", Text: fmt.Sprintf("Fixes #%d", 900+n)}},
		Files: []assay.SplitFile{
			{Path: "internal/table/parse.go", Class: assay.ClassSource, Status: "modified", Added: 9, Removed: 3},
			{Path: "internal/table/parse_test.go", Class: assay.ClassTest, Status: "modified", Added: 12},
			{Path: "testdata/final.bin", Class: assay.ClassTest, Status: "added", Binary: true},
			{Path: "CHANGELOG.md", Class: assay.ClassDocs, Status: "modified", Added: 1},
		},
		Statement: assay.Statement{Origin: "issue", Number: 900 + n, Title: title, Body: statement(n), Clean: n%3 != 0, Created: time.Date(2026, 1, 20, 8, 0, 0, 0, time.UTC), Hints: "I can reproduce it with **1.4**, not with 1.3."},
		Digest:    fmt.Sprintf("sha256:%d", n),
	}
	if n%2 == 1 {
		c.Doubts = []assay.Confounder{{Kind: "names_solution", Evidence: "the fix is to flush the last row"}, {Kind: "has_image", Evidence: "![screenshot](https://example.com/shot.png)"}}
		c.Strength = &assay.Strength{Hunks: 4, Noticed: 3, Share: .75}
		c.Validation = &assay.Validation{Status: "valid", When: time.Date(2026, 2, 5, 0, 0, 0, 0, time.UTC)}
	}
	return c
}

func statement(n int) string {
	return fmt.Sprintf(`Reading a file **without** a final newline loses its last row, since release 1.%d:

`+"```go\nt, err := table.Parse(strings.NewReader(\"a,b\\n1,2\"))\nfmt.Println(len(t.Rows)) // 0, want 1\n```"+`

### Expected

1. One row.
2. The same as with a newline; see [the format](https://example.com/format) and the [notes](docs/notes.md).

| input | rows | want |
|-------|-----:|-----:|
| `+"`a,b\\n1,2\\n`"+` | 1 | 1 |
| `+"`a,b\\n1,2`"+` | 0 | 1 |

> It worked before the reader was rewritten.

- [x] searched for duplicates

![screenshot](https://images.example.com/shot-%d.png)

<!-- Please don't remove this template -->
<script>alert("from the statement")</script>
`, n, n)
}

// sampleDiff gives every candidate the same patch.
type sampleDiff struct{}

func (sampleDiff) Diff(_ context.Context, c assay.Candidate) ([]byte, error) {
	var long strings.Builder
	for i := range 450 {
		fmt.Fprintf(&long, "+line %d of a long file\n", i)
	}
	return counted(`diff --git a/internal/table/parse.go b/internal/table/parse.go
index 1111111..2222222 100644
--- a/internal/table/parse.go
+++ b/internal/table/parse.go
@@HUNK 40 func Parse(r io.Reader) (*Table, error) {
 	for {
 		line, err := br.ReadString('\n')
-		if err == io.EOF {
-			return t, nil
-		}
+		last := errors.Is(err, io.EOF)
+		if err != nil && !last {
+			return nil, fmt.Errorf("reading a row: %w", err)
+		}
+		if line != "" { // ` + c.ID + ` <script>alert(1)</script>
+			t.add(strings.TrimSuffix(line, "\n"))
+		}
+		if last {
+			return t, nil
+		}
-		t.add(line)
 	}
 }
 
 // Rows is all rows.
 func (t *Table) Rows() []Row { return t.rows }
 
diff --git a/internal/table/parse_test.go b/internal/table/parse_test.go
index 3333333..4444444 100644
--- a/internal/table/parse_test.go
+++ b/internal/table/parse_test.go
@@HUNK 10 func TestParse(t *testing.T) {
 	want(t, "a\n", 1)
 }
 
+func TestParseWithoutFinalNewline(t *testing.T) {
+	want(t, "a,b\n1,2", 1)
+}
+
+// ` + "\u202e" + ` hidden direction
+
diff --git a/testdata/final.bin b/testdata/final.bin
new file mode 100644
index 0000000..5555555
Binary files /dev/null and b/testdata/final.bin differ
diff --git a/CHANGELOG.md b/CHANGELOG.md
new file mode 100644
index 0000000..6666666
--- /dev/null
+++ b/CHANGELOG.md
@@ -0,0 +1,450 @@
` + long.String()), nil
}

// counted writes the counts of lines into the headers of hunks.
func counted(patch string) []byte {
	parts := strings.Split(patch, "@@HUNK ")
	for i, part := range parts[1:] {
		header, body, _ := strings.Cut(part, "\n")
		at, comment, _ := strings.Cut(header, " ")
		hunk, _, _ := strings.Cut(body, "diff --git")
		same, add, del := strings.Count("\n"+hunk, "\n "), strings.Count("\n"+hunk, "\n+"), strings.Count("\n"+hunk, "\n-")
		parts[i+1] = fmt.Sprintf("@@ -%s,%d +%s,%d @@ %s\n%s", at, same+del, at, same+add, comment, body)
	}
	return []byte(strings.Join(parts, ""))
}
