package web

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/assaybot/assay/internal/assay"
)

// The limits of a diff on the page: files with more lines than foldLines are
// folded, lines beyond fileLines of a file and allLines of all are left out,
// longer lines than lineBytes are cut.
const (
	foldLines = 400
	fileLines = 3000
	allLines  = 10000
	lineBytes = 600
)

// diffView is a change as the page shows it, source and tests apart. Text
// says why there is none.
type diffView struct {
	Parts []diffPart
	Text  string
}

type diffPart struct {
	Name, Title    string
	Added, Removed int
	Files          []diffFile
}

type diffFile struct {
	Path, Old, Note string
	Class           assay.FileClass
	Added, Removed  int
	Binary, Folded  bool
	Lines           []diffLine
	Left            int // lines left out
}

// diffLine is one line. Kind is add, del, same or hunk; the numbers are 0
// where a side has no such line.
type diffLine struct {
	Kind     string
	Old, New int64
	Text     string
}

// viewDiff takes a git patch apart by the classes of its files.
func viewDiff(patch []byte, err error, classes []assay.SplitFile) diffView {
	if err != nil {
		return diffView{Text: "The diff can't be read: " + err.Error()}
	}
	if len(patch) == 0 {
		return diffView{Text: "There is no diff here: the repository isn't at hand."}
	}
	parsed, _, err := gitdiff.Parse(bytes.NewReader(patch))
	if err != nil {
		return diffView{Text: "The diff can't be taken apart: " + err.Error()}
	}
	class := map[string]assay.FileClass{}
	for _, f := range classes {
		class[f.Path] = f.Class
	}
	parts := []diffPart{{Name: "source", Title: "Fix"}, {Name: "test", Title: "Tests"}, {Name: "rest", Title: "Other files"}}
	room := allLines
	for _, f := range parsed {
		v := viewFile(f, &room)
		v.Class = class[v.Path]
		parts[partOf(v.Class)].add(v)
	}
	return diffView{Parts: withFiles(parts)}
}

// partOf is the index of the part of a class. Files with tests inside stand
// with the source, and so does what has no class.
func partOf(c assay.FileClass) int {
	switch c {
	case assay.ClassTest:
		return 1
	case assay.ClassDocs, assay.ClassConfig, assay.ClassGenerated:
		return 2
	}
	return 0
}

func (p *diffPart) add(f diffFile) {
	p.Files = append(p.Files, f)
	p.Added += f.Added
	p.Removed += f.Removed
}

func withFiles(parts []diffPart) []diffPart {
	var out []diffPart
	for _, p := range parts {
		if len(p.Files) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func viewFile(f *gitdiff.File, room *int) diffFile {
	v := diffFile{Path: f.NewName, Binary: f.IsBinary, Note: noteOf(f)}
	if v.Path == "" {
		v.Path = f.OldName
	}
	if f.OldName != v.Path {
		v.Old = f.OldName
	}
	most := min(fileLines, *room)
	for _, frag := range f.TextFragments {
		v.Added += int(frag.LinesAdded)
		v.Removed += int(frag.LinesDeleted)
		v.fragment(frag, most)
	}
	*room -= len(v.Lines)
	v.Folded = len(v.Lines) > foldLines
	return v
}

func noteOf(f *gitdiff.File) string {
	switch {
	case f.IsNew:
		return "new"
	case f.IsDelete:
		return "deleted"
	case f.IsRename:
		return "renamed"
	case f.OldMode != 0 && f.NewMode != 0 && f.OldMode != f.NewMode:
		return fmt.Sprintf("mode %o to %o", f.OldMode, f.NewMode)
	}
	return ""
}

func (f *diffFile) fragment(frag *gitdiff.TextFragment, most int) {
	header := fmt.Sprintf("@@ -%d,%d +%d,%d @@ %s", frag.OldPosition, frag.OldLines, frag.NewPosition, frag.NewLines, frag.Comment)
	f.put(diffLine{Kind: "hunk", Text: clip(header)}, most)
	from, to := frag.OldPosition, frag.NewPosition
	for _, l := range frag.Lines {
		line := diffLine{Text: clip(l.Line)}
		switch l.Op {
		case gitdiff.OpAdd:
			line.Kind, line.New = "add", to
			to++
		case gitdiff.OpDelete:
			line.Kind, line.Old = "del", from
			from++
		case gitdiff.OpContext:
			line.Kind, line.Old, line.New = "same", from, to
			from++
			to++
		}
		f.put(line, most)
	}
}

func (f *diffFile) put(l diffLine, most int) {
	if len(f.Lines) >= most {
		f.Left++
		return
	}
	f.Lines = append(f.Lines, l)
}

// clip makes a line fit to show.
func clip(s string) string {
	s = strings.TrimRight(s, "\r\n")
	if len(s) > lineBytes {
		end := lineBytes
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + " …"
	}
	return visible(strings.ToValidUTF8(s, "\uFFFD"))
}
