package suite

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/schema"
)

// rule says which fields a kind of check must have and may have, besides
// name, kind and clause.
type rule struct{ must, may []string }

func ruleOf(k assay.CheckKind) (rule, bool) {
	switch k {
	case assay.CheckCommand:
		return rule{must: []string{"command"}, may: []string{"timeout_sec"}}, true
	case assay.CheckTests:
		return rule{must: []string{"command", "report"}, may: []string{"timeout_sec", "tests", "must_fail", "shards", "file_sec"}}, true
	case assay.CheckFileUnchanged:
		return rule{must: []string{"paths"}}, true
	case assay.CheckFileContains, assay.CheckFileNotContains:
		return rule{must: []string{"paths"}, may: []string{"text", "pattern"}}, true
	case assay.CheckNoNewFiles, assay.CheckTestsUnmodified:
		return rule{may: []string{"paths"}}, true
	case assay.CheckBenchmark:
		return rule{must: []string{"command"}, may: []string{"timeout_sec", "report", "paths"}}, true
	}
	return rule{}, false
}

// used lists the fields that a check sets, in the order of the type.
func used(k assay.Check) []string {
	var out []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"command", k.Command != nil}, {"timeout_sec", k.TimeoutSec != 0}, {"report", k.Report != nil},
		{"tests", k.Tests != nil}, {"must_fail", k.MustFail != nil},
		{"shards", k.Shards != nil}, {"file_sec", k.FileSec != 0}, {"paths", k.Paths != nil},
		{"text", k.Text != ""}, {"pattern", k.Pattern != ""},
	} {
		if f.set {
			out = append(out, f.name)
		}
	}
	return out
}

func (c *checker) checks() {
	if len(c.task.Checks) == 0 {
		c.faultf("checks", "there is no check; a task needs at least one")
	}
	names := map[string]bool{}
	for i, k := range c.task.Checks {
		at := "checks." + strconv.Itoa(i)
		switch {
		case strings.TrimSpace(k.Name) == "":
			c.faultf(at+".name", "check %d has no name", i+1)
		case names[k.Name]:
			c.faultf(at+".name", "two checks are called %q", k.Name)
		}
		names[k.Name] = true
		c.check(at, k)
	}
}

func (c *checker) check(at string, k assay.Check) {
	r, known := ruleOf(k.Kind)
	if !known {
		return // told by the decoder
	}
	has := used(k)
	for _, f := range r.must {
		if !slices.Contains(has, f) {
			c.faultf(at, "check %q: kind %s needs %s", k.Name, k.Kind, f)
		}
	}
	for _, f := range has {
		if !slices.Contains(r.must, f) && !slices.Contains(r.may, f) {
			c.faultf(at+"."+f, "check %q: kind %s doesn't use %s", k.Name, k.Kind, f)
		}
	}
	if k.TimeoutSec < 0 {
		c.faultf(at+".timeout_sec", "check %q: timeout_sec is negative", k.Name)
	}
	c.shards(at, k)
	c.command(at, k)
	c.report(at, k)
	c.paths(at, k)
	c.content(at, k)
	c.testLists(at, k)
}

// shards checks that a command that is to run in parts says where their words
// go.
func (c *checker) shards(at string, k assay.Check) {
	takes := slices.ContainsFunc(k.Command, func(w string) bool { return strings.Contains(w, "{tests}") })
	switch {
	case k.FileSec < 0:
		c.faultf(at+".file_sec", "check %q: file_sec is negative", k.Name)
	case len(k.Shards) > 0 && !takes:
		c.faultf(at+".command", "check %q: it has shards, but its command has no {tests} for their words", k.Name)
	case len(k.Shards) == 0 && takes:
		c.faultf(at+".command", "check %q: its command uses {tests}, but the check has no shards", k.Name)
	}
}

// verifyRef finds what a command takes from the hidden files.
func verifyRef() *regexp.Regexp {
	return regexp.MustCompile(`\{verify\}(?:/([^\s'"` + "`" + `;:,|&<>(){}$*?\[\]=]*)([*?\[{$])?)?`)
}

func (c *checker) command(at string, k assay.Check) {
	if k.Command == nil {
		return
	}
	at += ".command"
	if len(k.Command) == 0 || strings.TrimSpace(k.Command[0]) == "" {
		c.faultf(at, "check %q: the command is empty", k.Name)
		return
	}
	missing := false
	for i, arg := range k.Command {
		for _, m := range verifyRef().FindAllStringSubmatch(arg, -1) {
			if c.verify == nil {
				missing = true
				continue
			}
			c.hiddenFile(at+"."+strconv.Itoa(i), k.Name, m)
		}
	}
	if missing && !c.there(verifyDir) {
		c.faultf(at, "check %q: the command uses {verify}, but the task has no folder %s", k.Name, verifyDir)
	}
}

// hiddenFile checks one match of verifyRef; a name that a shell would expand
// further is left alone.
func (c *checker) hiddenFile(at, name string, m []string) {
	p := strings.Trim(path.Clean("/"+m[1]), "/")
	if p == "" || m[2] != "" {
		return
	}
	if _, ok := c.verify[p]; ok || len(c.verify.Sub(p)) > 0 {
		return
	}
	c.faultf(at, "check %q: the command names {verify}/%s, but %s holds no such file%s",
		name, p, verifyDir, schema.Hint(p, c.verify.Paths()))
}

func (c *checker) report(at string, k assay.Check) {
	if k.Report == nil {
		return
	}
	if f := k.Report.Format; !slices.Contains(c.formats, f) {
		hint := schema.Hint(f, c.formats)
		if hint == "" {
			hint = "; known are " + strings.Join(c.formats, ", ")
		}
		c.faultf(at+".report.format", "check %q: the report format %q is unknown%s", k.Name, f, hint)
	}
	p := k.Report.Path
	switch {
	case p == "", p == "{report}", strings.HasPrefix(p, "{report}/"):
		p = strings.TrimPrefix(strings.TrimPrefix(p, "{report}"), "/")
	case strings.HasPrefix(p, "{work}/"):
		p = strings.TrimPrefix(p, "{work}/")
	}
	if path.IsAbs(p) || slices.Contains(strings.Split(p, "/"), "..") {
		c.faultf(at+".report.path", "check %q: the report path %q must stay below {report} or the workspace", k.Name, k.Report.Path)
	}
}

func (c *checker) paths(at string, k assay.Check) {
	at += ".paths"
	if k.Paths != nil && len(k.Paths) == 0 && k.Kind != assay.CheckNoNewFiles {
		c.faultf(at, "check %q: paths is empty", k.Name)
	}
	if !c.globs(at, k.Paths) {
		return
	}
	if k.Kind == assay.CheckFileUnchanged || k.Kind == assay.CheckTestsUnmodified {
		c.mustMatch(at, k.Paths)
	}
	if k.Kind == assay.CheckTestsUnmodified && k.Paths == nil && len(c.task.Visible) == 0 {
		c.faultf(strings.TrimSuffix(at, ".paths"), "check %q: it has no paths, and the task no visible_tests, so it guards nothing", k.Name)
	}
}

func (c *checker) content(at string, k assay.Check) {
	if k.Kind == assay.CheckFileContains || k.Kind == assay.CheckFileNotContains {
		if (k.Text == "") == (k.Pattern == "") {
			c.faultf(at, "check %q: kind %s needs one of text and pattern", k.Name, k.Kind)
		}
	}
	if k.Pattern == "" {
		return
	}
	if _, err := regexp.Compile(k.Pattern); err != nil {
		c.faultf(at+".pattern", "check %q: the pattern is no regular expression: %s", k.Name,
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
}

func (c *checker) testLists(at string, k assay.Check) {
	c.unique(at+".tests", k.Tests)
	c.unique(at+".must_fail", k.MustFail)
	c.disjoint(at+".must_fail", k.MustFail, "tests", k.Tests)
}
