package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
)

// served is one `assay review` at work, and a browser without JavaScript that
// was let in.
type served struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
	client  http.Client
}

func (p *person) review(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{t: t, cmd: p.command(append([]string{"review"}, args...)...)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no address is printed: %v", err)
	}
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil || len(u.Query().Get("token")) < 20 {
		t.Fatalf("no address with a token: %q", line)
	}
	s.address = "http://" + u.Host
	if s.client.Jar, err = cookiejar.New(nil); err != nil {
		t.Fatal(err)
	}
	s.read(s.client.Get(u.String()))
	return s
}

func (s *served) read(res *http.Response, err error) string {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %v\n%s", res.Status, err, body)
	}
	return string(body)
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// decide sends the form of the page that is shown, and is the page after it.
func (s *served) decide(page, decision string) string {
	s.t.Helper()
	form := url.Values{"decision": {decision}}
	for _, m := range hiddenField.FindAllStringSubmatch(page, -1) {
		form.Set(m[1], m[2])
	}
	req, err := http.NewRequest(http.MethodPost, s.address+"/decide", strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", s.address)
	return s.read(s.client.Do(req))
}

// TestReviewSurvivesBeingKilled: what the page counted is there after a kill,
// and Ctrl-C ends the command well.
func TestReviewSurvivesBeingKilled(t *testing.T) {
	p := newPerson(t)
	store := candidates.At(p.path("candidates.jsonl"))
	all := make([]assay.Candidate, 3)
	for i, id := range []string{"one", "two", "three"} {
		all[i] = assay.Candidate{Schema: 1, ID: id, Repo: "gone", Status: assay.StatusMined, Title: "Title of " + id, Digest: id,
			Source: assay.Source{Kind: "pull", Commit: "0123"}, Statement: assay.Statement{Origin: "pull", Title: "Title of " + id}}
	}
	if err := store.Save(all); err != nil {
		t.Fatal(err)
	}
	s := p.review(t, "candidates.jsonl", "--who", "ann")
	page := s.decide(s.read(s.client.Get(s.address+"/")), "accept")
	if !strings.Contains(page, "Title of two") || !strings.Contains(page, "be read") {
		t.Errorf("after the first decision, with no repository at hand:\n%s", page)
	}
	s.decide(page, "skip")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()

	s = p.review(t, ".", "--who", "ann")
	if page := s.read(s.client.Get(s.address + "/")); !strings.Contains(page, "Title of three") || !strings.Contains(page, ">1</span> accepted") {
		t.Errorf("after a kill:\n%s", page)
	}
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C ends it with %v", err)
	}
	log, err := store.Reviews()
	if err != nil || len(log) != 2 || log[0].Decision != assay.Accept || log[1].Decision != assay.Skip || log[0].Who != "ann" {
		t.Errorf("the log holds %+v, %v", log, err)
	}
}
