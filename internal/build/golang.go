package build

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// oldestGo is the oldest toolchain that is proposed: older modules build with
// it, and go.mod's own line keeps their language version.
const oldestGo = "1.24"

var (
	goLine        = regexp.MustCompile(`(?m)^go\s+(\d+)\.(\d+)`)
	toolchainLine = regexp.MustCompile(`(?m)^toolchain\s+go(\d+)\.(\d+)`)
)

// warmGo tests a package that imports the whole standard library: what "go
// test" asks of it (vet's facts too, which "go build" doesn't make) is then in
// the cache, and halves the processor time of every run of a small
// repository's tests. An image without it works as well.
const warmGo = "(mkdir /tmp/warm && cd /tmp/warm && go mod init warm && " +
	"{ echo package warm; go list std | grep -vE '(^|/)(internal|vendor)(/|$)' | sed 's/.*/import _ \"&\"/'; } > warm_test.go && " +
	"go test -run=- . || true) && rm -rf /tmp/warm"

func proposeGo(in Input) (Recipe, error) {
	mod := in.text("go.mod")
	version, from := goVersion(mod, in.hintsOf(goTool()))
	units := goPackages(in)
	if len(units) == 0 {
		return Recipe{}, &NoRecipe{"the change has no Go test package in the root module"}
	}
	copied := tree.Tree{}
	for _, p := range in.under("**/go.mod", "**/go.sum", "go.work", "go.work.sum", "vendor/**") {
		copied[p] = in.Files[p]
	}
	lines := []string{
		"FROM golang:" + version,
		"ENV GOTOOLCHAIN=local GOFLAGS=-mod=mod GOPATH=/opt/go GOCACHE=/opt/gocache CGO_ENABLED=0",
		"WORKDIR /opt/deps",
		"COPY . .",
		"RUN go mod download && go build std && mkdir -p /opt/go /opt/gocache && chmod -R a+rwX /opt/go /opt/gocache",
		"RUN " + warmGo + " && chmod -R a+rwX /opt/gocache",
	}
	return Recipe{
		Dockerfile: dockerfile(lines...), Context: copied,
		Env: map[string]string{
			"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOSUMDB": "off",
			"GOPATH": "/opt/go", "GOCACHE": "/opt/gocache", "CGO_ENABLED": "0",
		},
		Test:   []string{"sh", "-c", "go test -json -count=1 " + shellWords(units) + " > {report}"},
		Report: assay.Report{Format: "gotest-json"},
		Units:  units, Requires: []string{"go"},
		Why: []string{fmt.Sprintf("golang:%s from %s", version, from)},
	}, nil
}

// goVersion picks the toolchain: what go.mod asks for, or, where it says
// nothing, the newest that the repository is tested with; but none older than
// oldestGo.
func goVersion(mod string, h hints) (version, from string) {
	for _, re := range []*regexp.Regexp{toolchainLine, goLine} {
		m := re.FindStringSubmatch(mod)
		if m == nil {
			continue
		}
		v := m[1] + "." + m[2]
		if newer(v, oldestGo) {
			return v, strings.TrimSpace(m[0]) + " in go.mod"
		}
		return oldestGo, strings.TrimSpace(m[0]) + " in go.mod, which it can build"
	}
	newest, file := minor(h.pinned, 2), h.file
	for v, f := range h.tested {
		if newer(minor(v, 2), newest) {
			newest, file = minor(v, 2), f
		}
	}
	if newer(newest, oldestGo) {
		return newest, file
	}
	return oldestGo, "the default: go.mod names no version"
}

// newer compares dotted versions by numbers.
func newer(a, b string) bool {
	as, bs := numbers(a), numbers(b)
	for i := 0; i < len(as) && i < len(bs); i++ {
		if as[i] != bs[i] {
			return as[i] > bs[i]
		}
	}
	return len(as) > len(bs)
}

func numbers(v string) []int {
	parts := strings.Split(v, ".")
	out := make([]int, 0, len(parts))
	for _, part := range parts {
		n := 0
		for _, r := range part {
			if r < '0' || r > '9' {
				break
			}
			n = n*10 + int(r-'0')
		}
		out = append(out, n)
	}
	return out
}

// goPackages are the packages of the tests, in the root module only.
func goPackages(in Input) []string {
	if in.All {
		return []string{"./..."}
	}
	nested := map[string]bool{}
	for _, p := range in.under("**/go.mod") {
		if d := path.Dir(p); d != "." {
			nested[d] = true
		}
	}
	var out []string
	for _, d := range folders(in.Tests, "_test.go") {
		if !inside(d, nested) && !strings.Contains(d, "testdata") {
			out = append(out, "./"+strings.TrimPrefix(d, "./"))
		}
	}
	for i, d := range out {
		if d == "./." {
			out[i] = "."
		}
	}
	return out
}

func inside(d string, roots map[string]bool) bool {
	for ; d != "." && d != "/"; d = path.Dir(d) {
		if roots[d] {
			return true
		}
	}
	return false
}
