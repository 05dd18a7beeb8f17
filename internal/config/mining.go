package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/schema"
)

// Mining is the part of a run configuration file that mining and building of
// tasks read: what 'assay mine' and 'assay build' take as flags. Zero values
// are not set. Dockerfile is relative to the file's folder and comes back
// joined to it.
type Mining struct {
	Since      string `json:"since,omitempty"`
	Until      string `json:"until,omitempty"`
	Branch     string `json:"branch,omitempty"`
	Base       string `json:"base,omitempty"`
	Dockerfile string `json:"dockerfile,omitempty"`
	Test       string `json:"test,omitempty"`
	Report     string `json:"report,omitempty"`
	// Scope says which existing tests must go on passing (default own);
	// FileSec bounds each file of the whole suite.
	Scope   assay.Scope `json:"scope,omitempty"`
	FileSec int         `json:"file_sec,omitempty"`
}

// LoadMining reads the mining part of the configuration that stands at path.
// All faults of the whole file are told.
func LoadMining(path string, data []byte) (Mining, assay.Problems) {
	_, ps := Load(path, data)
	var f file
	decode := schema.DecodeYAML
	if isJSON(path, data) {
		decode = schema.DecodeJSON
	}
	_ = decode(path, data, &f) // Load told these faults already
	if f.Mine.Dockerfile != "" && !filepath.IsAbs(f.Mine.Dockerfile) {
		f.Mine.Dockerfile = filepath.Join(filepath.Dir(path), f.Mine.Dockerfile)
	}
	return f.Mine, ps
}

// faults finds what no mining can mean. Dates are checked by who reads them.
func (m Mining) faults() []Fault {
	var out []Fault
	if m.Base != "" && !slices.Contains([]string{"parent", "cutoff"}, m.Base) {
		out = append(out, Fault{"mine.base", "mine.base is parent or cutoff, not " + m.Base})
	}
	if m.FileSec < 0 {
		out = append(out, Fault{"mine.file_sec", "mine.file_sec is negative"})
	}
	if strings.HasPrefix(m.Branch, "-") {
		out = append(out, Fault{"mine.branch", "mine.branch is no name of a branch"})
	}
	if (m.Test != "" || m.Report != "") && m.Dockerfile == "" {
		out = append(out, Fault{"mine.test", "mine.test and mine.report go with mine.dockerfile; without one the environment is proposed"})
	}
	return out
}
