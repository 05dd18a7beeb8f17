package suite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/suite"
	"github.com/assaybot/assay/internal/tree"
)

func variants() fstest.MapFS {
	return fstest.MapFS{
		"brief/variant.json":    text("\xef\xbb\xbf{\"schema\": 1, \"name\": \"brief\",\r\n\"append_system_prompt_file\": \"s.md\", \"overlay\": \"files\"}"),
		"brief/s.md":            text("Be brief.\r\nNo jokes.\r\n"),
		"brief/files/CLAUDE.md": text("a\r\n"),
		"brief/files/l":         link("CLAUDE.md"),
		"same/variant.json":     text(`{"schema": 1, "name": "same"}`),
		"broken/variant.json":   text(`{"schema": 1, "name": "x"}`),
	}
}

func TestVariants(t *testing.T) {
	all, ps := suite.OpenVariants(variants(), "variants")
	if got := ps.Error(); got != `variants/broken/variant.json:1: name is "x", but the folder is "broken"; they must be the same` {
		t.Error(got)
	}
	names := make([]string, 0, len(all))
	for _, v := range all {
		names = append(names, v.Variant.Name)
	}
	if d := cmp.Diff([]string{"baseline", "brief", "broken", "same"}, names); d != "" {
		t.Error(d)
	}
	brief := all[1]
	if brief.System != "Be brief.\r\nNo jokes.\r\n" {
		t.Errorf("system prompt %q", brief.System)
	}
	want := tree.Tree{"CLAUDE.md": tree.Text("a\r\n"), "l": {Mode: tree.Link, Data: []byte("CLAUDE.md")}}
	if d := cmp.Diff(want, brief.Overlay); d != "" {
		t.Error(d)
	}
	if all[0].Digest != all[3].Digest || brief.Digest == all[0].Digest {
		t.Error("digests don't follow what the variants do")
	}
}

func TestNoVariantsFolder(t *testing.T) {
	all, ps := suite.OpenVariants(os.DirFS(filepath.Join(t.TempDir(), "no")), "variants")
	if len(ps) > 0 || len(all) != 1 || all[0].Variant.Name != "baseline" || all[0].Digest == "" {
		t.Errorf("%v %v", all, ps)
	}
}

func TestSelectVariants(t *testing.T) {
	all, _ := suite.OpenVariants(variants(), "variants")
	got, ps := suite.SelectVariants(all, []string{"same", "baseline"})
	if len(ps) > 0 || len(got) != 2 || got[0].Variant.Name != "same" {
		t.Errorf("%v %v", got, ps)
	}
	_, ps = suite.SelectVariants(all, []string{"brieff", "broken", "same", "same"})
	want := `there is no variant "brieff"; did you mean "brief"?
variants/broken/variant.json:1: name is "x", but the folder is "broken"; they must be the same
the variant "same" is named twice`
	if d := cmp.Diff(want, ps.Error()); d != "" {
		t.Error(d)
	}
}

// An overlay must not carry anything of elsewhere into a workspace.
func TestOverlayEscapes(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	files := filepath.Join(dir, "v", "files")
	must(t, os.MkdirAll(filepath.Join(files, "d"), 0o750), os.WriteFile(filepath.Join(files, "a"), []byte("a"), 0o600),
		os.WriteFile(filepath.Join(dir, "v", "variant.json"), []byte(`{"schema": 1, "name": "v", "overlay": "files"}`), 0o600),
		os.Symlink(outside, filepath.Join(files, "out")), os.Symlink("../../../x", filepath.Join(files, "d", "up")),
		os.Symlink("../a", filepath.Join(files, "d", "fine")))
	_, ps := suite.OpenVariants(os.DirFS(dir), "variants")
	got := strings.ReplaceAll(ps.Error(), outside, "OUT")
	want := `variants/v/files/d/up: the link to "../../../x" leaves the folder
variants/v/files/out: the link to "OUT" is absolute; it must be relative and stay inside`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}

	must(t, os.Rename(files, filepath.Join(dir, "real")), os.Symlink("../real", files))
	all, ps := suite.OpenVariants(os.DirFS(dir), "variants")
	if !strings.Contains(ps.Error(), `overlay "files" is a link`) || all[len(all)-1].Overlay != nil {
		t.Error(ps)
	}
}
