package suite_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/suite"
	"github.com/assaybot/assay/internal/tree"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden runs say on the files of every archive in a folder and compares
// with the archive's last file.
func golden(t *testing.T, folder string, say func(t *testing.T, fsys fs.FS) string) {
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			last := len(a.Files) - 1
			got := say(t, mapFS(a.Files[:last]))
			if *update {
				a.Files[last].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(a.Files[last].Data), got); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
		})
	}
}

func mapFS(files []txtar.File) fstest.MapFS {
	m := fstest.MapFS{}
	for _, f := range files {
		m[f.Name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
	}
	return m
}

func lines(ps assay.Problems) string {
	if len(ps) == 0 {
		return ""
	}
	return ps.Error() + "\n"
}

func open(t *testing.T, fsys fs.FS) *suite.Suite {
	t.Helper()
	s, err := suite.Open(fsys, "tasks", suite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTaskMessages(t *testing.T) {
	golden(t, "tasks", func(t *testing.T, fsys fs.FS) string { return lines(open(t, fsys).Problems()) })
}

func TestVariantMessages(t *testing.T) {
	golden(t, "variants", func(_ *testing.T, fsys fs.FS) string {
		_, ps := suite.OpenVariants(fsys, "variants")
		return lines(ps)
	})
}

const small = `{"schema": 1, "id": "ID", "prompt": "p", "environment": {}, "limits": {},
 "checks": [{"name": "c", "kind": "command", "command": ["true"]}]}`

func smallTask(id string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(strings.Replace(small, "ID", id, 1))}
}

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s), Mode: 0o644} }

func link(to string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
}

func only(t *testing.T, fsys fs.FS) suite.Entry {
	t.Helper()
	s := open(t, fsys)
	if len(s.Entries) != 1 {
		t.Fatalf("%d entries", len(s.Entries))
	}
	return s.Entries[0]
}

func TestOpenSaysWhatItLookedFor(t *testing.T) {
	for name, c := range map[string]struct {
		fsys fs.FS
		want string
	}{
		"missing": {os.DirFS(filepath.Join(t.TempDir(), "no")), `there is no folder "tasks"; tasks are looked for as tasks/<id>/task.json`},
		"empty":   {fstest.MapFS{"README.md": text("x")}, `"tasks" holds no task; looked for tasks/*/task.json`},
		"task":    {fstest.MapFS{"task.json": text("{}")}, `"tasks" is a task itself; name the folder that holds it`},
	} {
		_, err := suite.Open(c.fsys, "tasks", suite.Options{})
		if err == nil || err.Error() != c.want || !assay.IsUser(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLinksMustStayInside(t *testing.T) {
	for target, want := range map[string]string{
		"a.txt": "", "../a.txt": "", "./d/../d": "goes up again", "../../a.txt": "leaves the folder",
		"/etc/passwd": "is absolute", "../../workspace2": "leaves the folder", "d/../../../x": "goes up again", "": "is absolute",
	} {
		e := only(t, fstest.MapFS{"a/task.json": smallTask("a"), "a/workspace/a.txt": text(""), "a/workspace/d/l": link(target)})
		got := e.Problems.Error()
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("link to %q: problems %q, want %q", target, got, want)
		}
	}
}

// A folder or file of a task that is itself a link would carry files of
// elsewhere into a box.
func TestLinksInPlaceOfFolders(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	must(t, os.MkdirAll(outside, 0o750), os.WriteFile(filepath.Join(outside, "s"), []byte("secret"), 0o600),
		os.MkdirAll(filepath.Join(dir, "a"), 0o750))
	body := strings.Replace(small, `"prompt": "p"`, `"prompt_file": "prompt.md"`, 1)
	must(t, os.WriteFile(filepath.Join(dir, "a", "task.json"), []byte(strings.Replace(body, "ID", "a", 1)), 0o600),
		os.Symlink(outside, filepath.Join(dir, "a", "workspace")), os.Symlink(outside, filepath.Join(dir, "a", "verify")),
		os.Symlink(filepath.Join(outside, "s"), filepath.Join(dir, "a", "prompt.md")))
	e := only(t, os.DirFS(dir))
	want := `tasks/a/task.json:1: prompt_file "prompt.md" is a link or lies behind one; it must be an ordinary file
tasks/a/verify: it is a link; it must be a folder
tasks/a/workspace: it is a link; it must be a folder`
	if d := cmp.Diff(want, e.Problems.Error()); d != "" {
		t.Error(d)
	}
	if e.Prompt != "" {
		t.Error("the prompt was read through a link")
	}
	if w, err := e.Workspace(); err == nil {
		t.Errorf("the workspace was read through a link: %v", w.Paths())
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestBoundsAreTold(t *testing.T) {
	fsys := fstest.MapFS{"a/task.json": smallTask("a"), "a/workspace/x": text("1234"), "b/task.json": smallTask("b"), "b/workspace/x": text("1")}
	s, err := suite.Open(fsys, "tasks", suite.Options{Bounds: tree.Bounds{Bytes: 3}})
	must(t, err)
	if got := s.Problems().Error(); !strings.Contains(got, "tasks/a/workspace: the folder can't be read") || strings.Contains(got, "tasks/b") {
		t.Error(got)
	}
}

func TestFolders(t *testing.T) {
	e := only(t, fstest.MapFS{"a/task.json": smallTask("a"), "a/workspace/d/x": {Data: []byte("\x00\r\n"), Mode: 0o755},
		"a/verify/v": text("v"), "a/solution/s": text("s"), "environment/default/Dockerfile": text("FROM x")})
	work, err := e.Workspace()
	must(t, err)
	if d := cmp.Diff(tree.Tree{"d/x": {Mode: tree.Exec, Data: []byte("\x00\r\n")}}, work); d != "" {
		t.Error(d)
	}
	verify, err := e.Verify()
	must(t, err)
	solution, err := e.Solution()
	must(t, err)
	env, err := e.Environment()
	must(t, err)
	got := [][]string{verify.Paths(), solution.Paths(), env.Paths(), {e.Task.Environment.Shared}}
	if d := cmp.Diff([][]string{{"v"}, {"s"}, {"Dockerfile"}, {"default"}}, got); d != "" {
		t.Error(d)
	}
}

func TestFoldersThatAreNotThere(t *testing.T) {
	e := only(t, fstest.MapFS{"a/task.json": text(`{"schema": 1, "id": "a", "prompt": "p", "repository": "r", "base": {"commit": "c", "rule": "cutoff"},
 "checks": [{"name": "c", "kind": "command", "command": ["true"]}]}`)})
	if len(e.Problems) > 0 {
		t.Error(e.Problems)
	}
	if _, err := e.Workspace(); !errors.Is(err, suite.ErrRepository) {
		t.Errorf("workspace: %v", err)
	}
	verify, err1 := e.Verify()
	solution, err2 := e.Solution()
	env, err3 := e.Environment()
	if must(t, err1, err2, err3); verify == nil || solution != nil || env != nil {
		t.Errorf("%v %v %v", verify, solution, env)
	}
}

// Mining case 20: a platform is written as engines write it.
func TestMining20PlatformsAreChecked(t *testing.T) {
	for platform, fault := range map[string]bool{"linux/amd64": false, "linux/arm/v7": false, "amd64": true, "Linux/x86_64": true, "windows/amd64": true} {
		e := only(t, fstest.MapFS{"a/workspace/x": text("x"), "a/task.json": text(`{"schema": 1, "id": "a", "prompt": "p", "environment": {"platform": "` + platform + `"},
 "checks": [{"name": "c", "kind": "command", "command": ["true"]}]}`)})
		if got := strings.Contains(fmt.Sprint(e.Problems), "environment.platform"); got != fault {
			t.Errorf("%s: %v", platform, e.Problems)
		}
	}
}

func TestDigest(t *testing.T) {
	files := func(change func(fstest.MapFS)) fs.FS {
		m := fstest.MapFS{"a/task.json": smallTask("a"), "a/workspace/x": text("x"), "a/verify/v": text("v"), "a/solution/s": text("s")}
		change(m)
		return m
	}
	edit := func(old, with string) func(fstest.MapFS) {
		return func(m fstest.MapFS) {
			m["a/task.json"] = text(strings.Replace(string(m["a/task.json"].Data), old, with, 1))
		}
	}
	want := only(t, files(func(fstest.MapFS) {})).Digest
	for name, c := range map[string]struct {
		change func(fstest.MapFS)
		same   bool
	}{
		"spelling":    {edit(`"schema": 1, "id": "a"`, "\"id\":\"a\",\r\n\"schema\":1"), true},
		"validation":  {edit(`"limits"`, `"validation": {"status": "valid"}, "strength": {"hunks": 1, "noticed": 1, "share": 1}, "limits"`), true},
		"prompt file": {func(m fstest.MapFS) { edit(`"prompt": "p"`, `"prompt_file": "q"`)(m); m["a/q"] = text("p") }, true},
		"bystander":   {func(m fstest.MapFS) { m["a/wrong/x"] = text("x") }, true},
		"prompt":      {edit(`"p"`, `"q"`), false},
		"check":       {edit(`"true"`, `"false"`), false},
		"limit":       {edit(`"limits": {}`, `"limits": {"pids": 9}`), false},
		"workspace":   {func(m fstest.MapFS) { m["a/workspace/x"] = text("y") }, false},
		"mode":        {func(m fstest.MapFS) { m["a/workspace/x"].Mode = 0o755 }, false},
		"verify":      {func(m fstest.MapFS) { m["a/verify/w"] = text("") }, false},
		"solution":    {func(m fstest.MapFS) { delete(m, "a/solution/s") }, false},
		"environment": {func(m fstest.MapFS) { m["environment/default/Dockerfile"] = text("FROM y") }, false},
		"broken":      {edit(`"limits"`, `"limts"`), false},
		"unreadable":  {edit(`{`, ``), false},
	} {
		if got := only(t, files(c.change)).Digest; (got == want) != c.same || len(got) != 64 {
			t.Errorf("%s: digest %s, base %s, want same %v", name, got, want, c.same)
		}
	}
}

func TestSuiteDigestFollowsTasks(t *testing.T) {
	a, x := smallTask("a"), text("x")
	one := open(t, fstest.MapFS{"a/task.json": a, "a/workspace/x": x})
	two := open(t, fstest.MapFS{"a/task.json": a, "a/workspace/x": x, "b/task.json": smallTask("b"), "b/workspace/x": x})
	if one.Digest() == two.Digest() || suite.DigestOf(two.Entries[:1]) != one.Digest() {
		t.Error("the digest doesn't follow the tasks")
	}
}

func TestIDIsTheFolder(t *testing.T) {
	e := only(t, fstest.MapFS{"a/task.json": smallTask("b"), "a/workspace/x": text("")})
	if e.Task.ID != "a" || len(e.Problems) != 1 {
		t.Errorf("id %q, problems %v", e.Task.ID, e.Problems)
	}
}

func TestInvalidFolderName(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a\xff"), 0o750); err != nil {
		t.Skipf("this file system takes no such name: %v", err)
	}
	e := only(t, os.DirFS(dir))
	if got := e.Problems.Error(); got != `tasks/"a\xff": the folder's name is not valid UTF-8; rename it` {
		t.Error(got)
	}
}

func tiered() fstest.MapFS {
	m := fstest.MapFS{}
	for id, tier := range map[string]string{"fix-a": "easy", "fix-b": "hard", "add [c]": "easy", "größe": ""} {
		m[id+"/task.json"] = text(strings.Replace(strings.Replace(small, "ID", id, 1), `"prompt"`, `"tier": "`+tier+`", "prompt"`, 1))
		m[id+"/workspace/x"] = text("")
	}
	return m
}

func TestSelect(t *testing.T) {
	s := open(t, tiered())
	for _, c := range []struct {
		globs, tiers []string
		want, fault  string
	}{
		{nil, nil, "add [c],fix-a,fix-b,größe", ""},
		{[]string{"fix-*"}, nil, "fix-a,fix-b", ""},
		{[]string{"fix-b", "*"}, []string{"easy", "hard"}, "add [c],fix-a,fix-b", ""},
		{[]string{"add [c]"}, nil, "add [c]", ""},
		{[]string{"gr*"}, nil, "größe", ""},
		{[]string{"fix-a", "fxi-b"}, nil, "fix-a", `no task of tasks matches "fxi-b"; did you mean "fix-b"?`},
		{[]string{"zzz"}, nil, "", `no task of tasks matches "zzz"; there are add [c], fix-a, fix-b, größe`},
		{[]string{"["}, nil, "", `"[" is no valid pattern of task names`},
		{nil, []string{"esay"}, "", `no task of tasks is in the tier "esay"; did you mean "easy"?`},
		{[]string{"fix-a"}, []string{"hard"}, "", `no task of tasks is in tier hard and matches fix-a`},
	} {
		got, ps := s.Select(c.globs, c.tiers)
		var ids []string
		for _, e := range got {
			ids = append(ids, e.Dir)
		}
		if strings.Join(ids, ",") != c.want || ps.Error() != c.fault {
			t.Errorf("Select(%q, %q) = %q, %q", c.globs, c.tiers, ids, ps.Error())
		}
	}
}

func TestLint(t *testing.T) {
	want := `tasks/add [c]: the name has to be quoted in a shell; letters, digits, '.', '_' and '-' are safe
tasks/add [c]: there is no folder solution, so nothing proves that the task can be solved`
	if got := open(t, tiered()).Lint()[:2].Error(); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// The built-in suite has no fault.
func TestOwnTasks(t *testing.T) {
	const dir = "../../tasks"
	if found, _ := filepath.Glob(dir + "/*/task.json"); len(found) == 0 {
		t.Skip("the repository has no tasks")
	}
	if ps := open(t, os.DirFS(dir)).Problems(); len(ps) > 0 {
		t.Error(ps)
	}
}

func FuzzTask(f *testing.F) {
	files, _ := filepath.Glob("testdata/tasks/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, g := range a.Files {
			if strings.HasSuffix(g.Name, "task.json") {
				f.Add(g.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := fstest.MapFS{"a/task.json": {Data: data}, "a/workspace/x": text("x"), "a/verify/v": text("v"), "environment/e/Dockerfile": text("FROM x")}
		e := only(t, fsys)
		if e.Task.ID != "a" || e.Digest == "" {
			t.Errorf("id %q, digest %q", e.Task.ID, e.Digest)
		}
		if len(e.Problems) == 0 && e.Prompt == "" {
			t.Error("a task without a prompt has no problem")
		}
	})
}
