package docker

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
)

// The tests of this file are known ways in which environments mislead, each
// named after its row in the survey of mining.

// engine is a Docker engine that has no image and tells an error when it is to
// pull one.
func engine(t *testing.T, says string) *Sandbox {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			_, _ = fmt.Fprintf(w, `{"error": %q}`, says)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, `{"message": "No such image"}`)
	}))
	t.Cleanup(s.Close)
	c, err := client.NewClientWithOpts(client.WithHost("tcp://"+strings.TrimPrefix(s.URL, "http://")), client.WithVersion("1.47"))
	if err != nil {
		t.Fatal(err)
	}
	return &Sandbox{c: c}
}

// TestMining22ARegistrysLimitIsTriedAgain: a limit is a failure of the network
// that another attempt mends; an image that isn't there is one that it doesn't.
func TestMining22ARegistrysLimitIsTriedAgain(t *testing.T) {
	for says, permanent := range map[string]bool{
		"toomanyrequests: You have reached your pull rate limit.":                       false,
		"received unexpected HTTP status: 503 Service Unavailable":                      false,
		"Get \"https://r/v2/\": net/http: TLS handshake timeout":                        false,
		"dial tcp: lookup r on 10.0.0.2:53: read udp 10.0.0.3:4->10.0.0.2: i/o timeout": false,
		"manifest unknown": true,
	} {
		_, err := engine(t, says).Prepare(t.Context(), assay.Environment{Image: "r/x:1"}, nil, nil)
		var infra *assay.InfraError
		if !errors.As(err, &infra) || infra.Kind != assay.InfraNetwork || infra.Permanent != permanent {
			t.Errorf("%s: %+v", says, err)
		}
	}
}

func TestMining22AnIndexThatIsBusyFailsNoBuild(t *testing.T) {
	for line, want := range map[string]bool{
		"npm error 429 Too Many Requests - GET x": true, "  ERROR: HTTP error 429 while getting x": true,
		"requests.exceptions.ReadTimeout: Read timed out.": true, "curl: (6) Could not resolve host: x": true,
		"ERROR: No matching distribution found for x": false, "test_429_is_told ... FAILED": false, "made 1429 requests": false,
	} {
		if got := passed("Step 1", line, "the end"); (got != "") != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// TestMining24CommandsAreAnOrdinaryUsers: a test of permissions fails as it
// does for a person, in the box of an agent, a grader and a proof.
func TestMining24CommandsAreAnOrdinaryUsers(t *testing.T) {
	s, img := sandbox(t, Options{})
	for _, role := range []string{"agent", "grader", "proof"} {
		b := open(t, s, run.BoxSpec{Image: img, Role: role, MemoryWorkspace: role != "agent"})
		out, _ := sh(t, b, `[ "$(id -u)" != 0 ] && [ "$(id -g)" != 0 ] && echo nobody
echo secret >locked; chmod 000 locked; cat locked 2>/dev/null
mkdir closed; chmod 555 closed; touch closed/x 2>/dev/null && echo wrote
cat /etc/shadow 2>/dev/null; chown 0 locked 2>/dev/null && echo gave away; true`)
		if out != "nobody" {
			t.Errorf("%s: %q", role, out)
		}
	}
}

// TestMining25RightsAreRecorded: what a test of ptrace or of namespaces
// depends on stands in the result, as the engine tells it.
func TestMining25RightsAreRecorded(t *testing.T) {
	s, img := sandbox(t, Options{})
	got := strings.Join(open(t, s, run.BoxSpec{Image: img, Role: "agent"}).Facts().Rights, ", ")
	if !strings.HasPrefix(got, "no capabilities, no-new-privileges") {
		t.Errorf("rights %q", got)
	}
	options := []string{"name=seccomp,profile=builtin", "name=apparmor", "odd"}
	if said := strings.Join(confinement(options), ", "); said != "seccomp builtin, apparmor, " {
		t.Errorf("%q", said)
	}
}
