package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/assaybot/assay/internal/testkit/github"
)

// Contract is the two schemas, loaded.
type Contract struct {
	rest  *rest
	graph *ast.Schema
}

// Load reads the schemas from a folder with node_modules.
func Load(dir string) (*Contract, error) {
	base := filepath.Join(dir, "node_modules", "@octokit")
	spec, err := os.ReadFile(filepath.Join(base, "openapi", "generated", "api.github.com.json"))
	if err != nil {
		return nil, fmt.Errorf("reading GitHub's OpenAPI description: %w", err)
	}
	r, err := loadREST(spec)
	if err != nil {
		return nil, err
	}
	sdl, err := os.ReadFile(filepath.Join(base, "graphql-schema", "schema.graphql"))
	if err != nil {
		return nil, fmt.Errorf("reading GitHub's GraphQL schema: %w", err)
	}
	g, err := loadGraph(string(sdl))
	if err != nil {
		return nil, fmt.Errorf("parsing GitHub's GraphQL schema: %w", err)
	}
	return &Contract{rest: r, graph: g}, nil
}

// Loader loads the schemas once for all tests of a package.
type Loader struct {
	once     sync.Once
	contract *Contract
	err      error
}

// Attach holds every exchange of a server against the schemas until the test
// ends. Without the environment variable ASSAY_SCHEMAS the test skips, and
// fails when ASSAY_REQUIRE names schemas.
func (l *Loader) Attach(t *testing.T, s *github.Server) *Contract {
	t.Helper()
	dir := os.Getenv("ASSAY_SCHEMAS")
	if dir == "" {
		say := t.Skip
		if slices.Contains(strings.Split(os.Getenv("ASSAY_REQUIRE"), ","), "schemas") {
			say = t.Fatal
		}
		say("ASSAY_SCHEMAS names no folder where npm has installed @octokit/openapi and @octokit/graphql-schema")
	}
	l.once.Do(func() { l.contract, l.err = Load(dir) })
	if l.err != nil {
		t.Fatal(l.err)
	}
	s.Watch(func(e github.Exchange) {
		if err := l.contract.Check(e); err != nil {
			t.Errorf("%s %s against GitHub's schema: %v", e.Method, e.Path, err)
		}
	})
	return l.contract
}

// Check holds one exchange against the schema that it belongs to.
func (c *Contract) Check(e github.Exchange) error {
	if e.GraphQL() {
		return c.checkGraph(e)
	}
	return c.rest.check(e)
}
