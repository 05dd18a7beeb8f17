package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/assaybot/assay/internal/agent"
	"github.com/assaybot/assay/internal/assay"
)

// canary is a secret that stands nowhere else.
func canary(name string) string {
	sum := sha256.Sum256([]byte(name))
	return name + "cnry" + hex.EncodeToString(sum[:8]) + "Zk9Yw2"
}

// canaryEnv is an environment with a secret wherever one would be.
func canaryEnv() map[string]string {
	return map[string]string{
		"ANTHROPIC_API_KEY": "sk-ant-" + canary("ant"), "OPENAI_API_KEY": "sk-proj-" + canary("oai"), "GEMINI_API_KEY": "AIza" + canary("gem"),
		"GITHUB_TOKEN": "ghs_" + canary("ghs"), "GH_TOKEN": "github_pat_" + canary("pat"),
		"AWS_ACCESS_KEY_ID": "AKIA" + canary("aki"), "AWS_SECRET_ACCESS_KEY": canary("aws"), "HOST_NOTE": canary("host"),
		"https_proxy": "http://me:" + canary("proxy") + "@127.0.0.1:9", "GIT_ASKPASS_URL": "https://u:" + canary("git") + "@example.org/x.git",
	}
}

// canaryHome are files of a home folder with a secret each.
func canaryHome() map[string]string {
	out := map[string]string{}
	for i, name := range []string{".netrc", ".npmrc", ".ssh/id_ed25519", ".docker/config.json", ".config/gh/hosts.yml", ".git-credentials", ".aws/credentials", ".config/assay/config.yml"} {
		out["home/"+name] = "secret: " + canary(fmt.Sprintf("home%d", i)) + "\n"
	}
	return out
}

// canaries are all of them.
func canaries() []string {
	var out []string
	for _, text := range []map[string]string{canaryEnv(), canaryHome()} {
		for _, v := range text {
			at := strings.Index(v, "cnry")
			out = append(out, v[at:at+26])
		}
	}
	slices.Sort(out)
	return out
}

// leaks tells which canaries are in a text, in any of the forms that they can
// take: as they are, encoded, reversed, cut into lines.
func leaks(text []byte) []string {
	joined := bytes.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n\\", r) {
			return -1
		}
		return r
	}, bytes.ReplaceAll(text, []byte(`\n`), nil))
	lower := bytes.ToLower(joined)
	var out []string
	for _, c := range canaries() {
		if holds(joined, c) || holds(joined, backwards(c)) || holds(joined, url.QueryEscape(c)) ||
			holds(lower, hex.EncodeToString([]byte(c))) || inBase64(joined, c) {
			out = append(out, c)
		}
	}
	return out
}

func inBase64(text []byte, c string) bool {
	for shift := range 3 {
		// What stands around changes the first and the last characters.
		e := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), c...))
		if holds(text, e[4:len(e)-4]) || holds(text, strings.NewReplacer("+", "-", "/", "_").Replace(e[4:len(e)-4])) {
			return true
		}
	}
	return false
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// TestLeaksAreFound: the scan knows every form that it claims to know.
func TestLeaksAreFound(t *testing.T) {
	c := canaries()[0]
	for form, text := range map[string]string{
		"plain": c, "base64": base64.StdEncoding.EncodeToString([]byte("user:" + c)), "hex": hex.EncodeToString([]byte(c)),
		"HEX": strings.ToUpper(hex.EncodeToString([]byte(c))), "reversed": backwards(c), "lines": c[:9] + "\n" + c[9:], "json": c[:9] + `\n` + c[9:],
		"URL": base64.URLEncoding.EncodeToString([]byte("x" + c)), "query": url.QueryEscape(c),
	} {
		if got := leaks([]byte("before " + text + " after")); len(got) != 1 || got[0] != c {
			t.Errorf("%s: %v", form, got)
		}
	}
	if got := leaks([]byte("nothing here")); len(got) > 0 {
		t.Errorf("in nothing: %v", got)
	}
}

// gossip is a model that repeats the key that it was given in all it says.
func gossip(t *testing.T) string {
	calls := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Api-Key")
		calls++
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Your-Key", key)
		switch calls % 3 {
		case 0:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"authentication_error","message":"no such key: %s"}}`, key)
		case 1:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":1}}}\n\n")
			half := len(key) / 2
			_, _ = fmt.Fprintf(w, "data: {\"type\":\"content_block_delta\",\"text\":\"%s", key[:half])
			_ = http.NewResponseController(w).Flush()
			_, _ = fmt.Fprintf(w, "%s\"}\n\ndata: {\"type\":\"message_stop\"}\n\n", key[half:])
		default:
			_, _ = fmt.Fprintf(w, `{"type":"message","model":"m","content":[{"type":"text","text":"%s %s"}],"usage":{"input_tokens":1,"output_tokens":1}}`,
				key, base64.StdEncoding.EncodeToString([]byte(key)))
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestNoSecretLeaves: secrets stand wherever they do on a real machine, an
// agent looks for them everywhere, and nothing that the run wrote, printed or
// showed the engine holds one. A local box can't keep its processes from the
// user's files, which its result says; so the agent looks there in a container
// only.
func TestNoSecretLeaves(t *testing.T) {
	need(t, "python", hasProgram("python3"), "needs python3")
	sandboxes(t, func(t *testing.T, sandbox string) {
		t.Run("none", func(t *testing.T) {
			out := seek(t, sandbox, nil)
			for _, l := range out.leaks {
				t.Error(l)
			}
			if sandbox == "local" && !strings.Contains(out.result.Sandbox.Note, "trusted agents only") {
				t.Errorf("the result says of its sandbox: %q", out.result.Sandbox.Note)
			}
		})
		t.Run("planted", func(t *testing.T) {
			if out := seek(t, sandbox, []string{"HOST_NOTE"}); !strings.Contains(strings.Join(out.leaks, "\n"), canary("host")[4:]) {
				t.Errorf("the leak that was planted isn't found: %v", out.leaks)
			}
		})
	})
}

func hasProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

type sought struct {
	leaks  []string
	result assay.Result
}

// seek runs the agent that looks for secrets, prints every kind of report,
// and scans it all. The variables of env are handed to the agent.
func seek(t *testing.T, sandbox string, env []string) sought {
	t.Helper()
	p := newPerson(t)
	for name, value := range canaryEnv() {
		p.env = append(p.env, name+"="+value)
	}
	p.env = append(p.env, "ANTHROPIC_BASE_URL="+gossip(t), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	for name, text := range canaryHome() {
		p.write(name, text)
	}
	if err := unpack("testdata/hostile/suite.txtar", p.path("hostile")); err != nil {
		t.Fatal(err)
	}
	// In the place of Claude Code, so that there is a way to the model.
	const version = "0.0.0-seek"
	program := filepath.Join("cache", "kits", agent.KitName(agent.ClaudeCode, version), "bin", "claude")
	p.write(program, "#!/usr/bin/env python3\n"+read(t, "testdata/hostile/seek.py"))
	if err := os.Chmod(p.path(program), 0o755); err != nil {
		t.Fatal(err)
	}
	p.writeJSON("seek.json", assay.Request{
		Tasks: "hostile", Task: []string{"shell"}, Out: "out", Sandbox: sandbox, Models: []string{"claude-sonnet-4-5"}, KeepWorkspace: true,
		Agents: []assay.AgentSpec{{Name: agent.ClaudeCode, Version: version, Label: "seeker", Env: env}},
	})
	shown := inspecting(t, sandbox)
	var s sought
	s.scan("the run", p.plainly(t, "run", "--config", "seek.json"))
	s.scan("the engine", shown())
	for _, format := range []string{"terminal", "markdown", "json", "csv", "junit"} {
		s.scan("the report as "+format, p.plainly(t, "report", "out", "--format", format))
	}
	for _, dir := range []string{"out", "cache"} {
		s.files(t, p.path(dir))
	}
	for _, r := range p.results("out") {
		s.result = r
	}
	r := s.result
	if said := read(t, filepath.Join(p.attempt("out", r), "transcript.jsonl")); r.Outcome == assay.Passed || r.Model.Calls < 6 || !strings.Contains(said, "looked everywhere") {
		t.Fatalf("the agent didn't do its work: %s %s (%d calls)\n%s\n%s", r.Outcome, r.Detail, r.Model.Calls, said, r.Agent.Stderr)
	}
	p.noneLeft("out")
	return s
}

// plainly types a command as an ordinary user, since nothing can be kept from
// processes of root, and returns all that it said.
func (p *person) plainly(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := p.command(args...)
	if os.Geteuid() == 0 && !slices.Contains(args, "report") && strings.Contains(t.Name(), "/local/") {
		const nobody = 65534
		for _, dir := range []string{programDir, filepath.Dir(p.dir)} {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(p.dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

func (s *sought) scan(where string, text []byte) {
	for _, c := range leaks(text) {
		s.leaks = append(s.leaks, where+" holds "+c)
	}
}

// files scans what lies below a folder, names too.
func (s *sought) files(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		s.scan(name, []byte(read(t, name)+"\n"+filepath.Base(name)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// inspecting looks at the engine's containers of ours while a run goes on;
// the returned function ends that and gives all that the engine told of them,
// with its volumes and images.
func inspecting(t *testing.T, sandbox string) func() []byte {
	t.Helper()
	if sandbox != "docker" {
		return func() []byte { return nil }
	}
	c, ctx := engineClient(t), t.Context()
	messages, done, stop := bytes.Buffer{}, make(chan struct{}), make(chan struct{})
	keep := func(v any, err error) {
		if data, e := json.Marshal(v); err == nil && e == nil {
			messages.Write(data)
		}
	}
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			list, err := c.ContainerList(ctx, container.ListOptions{All: true})
			keep(list, err)
			for _, x := range list {
				keep(c.ContainerInspect(ctx, x.ID))
				keep(c.ImageInspect(ctx, x.ImageID))
				for _, m := range x.Mounts {
					keep(c.VolumeInspect(ctx, m.Name))
				}
			}
		}
	}()
	return func() []byte {
		close(stop)
		<-done
		return messages.Bytes()
	}
}

func holds(text []byte, s string) bool { return bytes.Contains(text, []byte(s)) }
