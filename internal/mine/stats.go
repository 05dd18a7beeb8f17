package mine

import "github.com/assaybot/assay/internal/assay"

// splitFiles are the paths of a change with their classes. A submodule has no
// content that could be a part of a task.
func splitFiles(stats []FileStat) []assay.SplitFile {
	if len(stats) == 0 {
		return nil // as it comes back from a file
	}
	out := make([]assay.SplitFile, 0, len(stats))
	for _, f := range stats {
		s := assay.SplitFile{Path: f.Path, Old: f.Old, Class: Classify(f.Path), Status: statusName(f.Status), Added: f.Added, Removed: f.Removed, Binary: f.Binary}
		if f.NewMode == submodule || f.OldMode == submodule {
			s.Class = assay.ClassGenerated
		}
		out = append(out, s)
	}
	return out
}

func statusName(letter string) string {
	switch letter {
	case "A":
		return "added"
	case "D":
		return "deleted"
	case "R":
		return "renamed"
	case "C":
		return "copied"
	}
	return "modified"
}

// letter is statusName's inverse.
func letter(status string) string {
	switch status {
	case "added":
		return "A"
	case "deleted":
		return "D"
	}
	return "M"
}

func paths(files []assay.SplitFile) []string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.Path
	}
	return out
}
