package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/assay"
)

// TestNetworkOfATask: an agent's box reaches what its task lists and nothing
// else; what it asked for in vain is in the result, in the trajectory, and
// counts as a search for the answer.
func TestNetworkOfATask(t *testing.T) {
	needDocker(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the word is plover") }))
	defer srv.Close()
	dest := strings.TrimPrefix(srv.URL, "http://")
	p := newPerson(t)
	p.write("net/open/task.json", `{"schema": 1, "id": "open", "prompt": "Fetch the word.",
 "environment": {"image": "python:3.13-slim", "network": {"allow": ["`+dest+`"]}}, "limits": {"timeout_sec": 60},
 "checks": [{"name": "word", "kind": "file_contains", "paths": ["word"], "text": "plover"}]}`)
	p.write("net/shut/task.json", `{"schema": 1, "id": "shut", "prompt": "Fetch the word.",
 "environment": {"image": "python:3.13-slim"}, "limits": {"timeout_sec": 60},
 "checks": [{"name": "word", "kind": "file_contains", "paths": ["word"], "text": "plover"}]}`)
	for _, task := range []string{"open", "shut"} {
		p.write("net/"+task+"/workspace/README", "nothing\n")
		p.write("net/"+task+"/solution/word", "plover\n")
	}
	const fetch = `import os, socket, urllib.request as u
for k in ("no_proxy", "NO_PROXY"): os.environ.pop(k, None)
for url, file in (("http://DEST/", "word"), ("http://169.254.169.254/latest", "meta"), ("https://example.org/", "other")):
    try:
        got = u.urlopen(url, timeout=20).read()
        open(file, "wb").write(got)
    except Exception as e: print(url, e)
try: socket.create_connection(("93.184.216.34", 80), 3); open("direct", "w").close()
except OSError as e: print("direct", e)
`
	p.writeJSON("net.json", assay.Request{Tasks: "net", Out: "out", Sandbox: "docker", Agents: []assay.AgentSpec{
		{Name: "command", Label: "fetcher", Command: []string{"python3", "-c", strings.ReplaceAll(fetch, "DEST", dest)}},
	}})
	p.must(0, "run", "--config", "net.json")
	results := p.results("out")
	for task, want := range map[string]struct {
		outcome assay.Outcome
		refused string
	}{
		"open": {assay.Passed, "169.254.169.254:80 example.org:443"},
		"shut": {assay.Failed, dest + " 169.254.169.254:80 example.org:443"},
	} {
		r := results["fetcher "+task]
		var refused []string
		for _, x := range r.Refused {
			refused = append(refused, x.Destination)
		}
		if r.Outcome != want.outcome || strings.Join(refused, " ") != want.refused {
			t.Errorf("%s: %s (%s), refused %v, want %s and %s\n%s", task, r.Outcome, r.Detail, refused, want.outcome, want.refused, r.Agent.Stderr)
			continue
		}
		for _, f := range r.Patch.Files {
			if f.Path != "word" {
				t.Errorf("%s: it made %s", task, f.Path)
			}
		}
		if said := read(t, p.attempt("out", r)+"/trajectory.json"); !strings.Contains(said, "refused: example.org:443 after ") {
			t.Errorf("%s: the trajectory doesn't tell: %s", task, said)
		}
	}
	if said := p.must(0, "report", "out", "--format", "json").out; !strings.Contains(said, `"searched_for_answer"`) {
		t.Errorf("the report doesn't tell:\n%s", said)
	}
}
