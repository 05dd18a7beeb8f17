package variants_test

import (
	"os"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/suite"
	"github.com/assaybot/assay/variants"
	"github.com/google/go-cmp/cmp"
)

const (
	full   = "deprecated-global-full"
	coding = "deprecated-coding-rules-only"
)

func open(t *testing.T) map[string]suite.VariantEntry {
	t.Helper()
	all, ps := suite.OpenVariants(variants.FS(), "variants")
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	out := map[string]suite.VariantEntry{}
	for _, v := range all {
		out[v.Variant.Name] = v
	}
	return out
}

// section is the part of a text from a heading to the next one of its level,
// without the blank line between them.
func section(text, heading string) string {
	_, rest, _ := strings.Cut(text, heading+"\n")
	body, _, _ := strings.Cut(rest, "\n# ")
	return heading + "\n" + strings.TrimRight(body, "\n") + "\n"
}

func TestBuiltInVariants(t *testing.T) {
	all := open(t)
	if len(all) != 3 {
		t.Errorf("%d variants, want 3", len(all))
	}
	if b := all[assay.Baseline]; b.System != "" || b.Overlay != nil {
		t.Errorf("the baseline changes something: %q %v", b.System, b.Overlay.Paths())
	}
	if n := strings.Count(all[full].System, "\n"); n != 87 || !strings.HasSuffix(all[full].System, "\n") {
		t.Errorf("%s has %d lines, want 87", full, n)
	}
	for _, heading := range []string{"# ATTRIBUTION", "# FORMATTING", "# EPISTEMIC CARE", "# CODING"} {
		if !strings.Contains(all[full].System, "\n"+heading+"\n") {
			t.Errorf("%s has no section %s", full, heading)
		}
	}
	if d := cmp.Diff(section(all[full].System, "# CODING"), all[coding].System); d != "" {
		t.Errorf("%s isn't the CODING section of %s (-section +file):\n%s", coding, full, d)
	}
}

func TestEveryVariantIsEmbedded(t *testing.T) {
	disk, ps := suite.OpenVariants(os.DirFS("."), "variants")
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	all := open(t)
	for _, v := range disk {
		if got := all[v.Variant.Name]; got.Digest != v.Digest {
			t.Errorf("variant %s isn't the same in the binary as on disk", v.Variant.Name)
		}
	}
}
