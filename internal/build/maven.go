package build

import (
	"path"
	"regexp"
	"sort"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

var javaRelease = regexp.MustCompile(`<(?:maven\.compiler\.(?:release|source)|java\.version|release)>\s*(?:1\.)?(\d+)\s*<`)

// proposeMaven covers projects of one module; Gradle and reactors of many
// modules get the typed reason.
func proposeMaven(in Input) (Recipe, error) {
	pom := in.text("pom.xml")
	if strings.Contains(pom, "<modules>") {
		return Recipe{}, &NoRecipe{"pom.xml has modules; write a Dockerfile and pass it with --dockerfile"}
	}
	version := "17"
	if m := javaRelease.FindStringSubmatch(pom); m != nil && newer(m[1], "17") {
		version = m[1]
	}
	names := javaClasses(in.Tests)
	if len(names) == 0 && !in.All {
		return Recipe{}, &NoRecipe{"the change has no Java test class"}
	}
	pick := ""
	if !in.All {
		pick = "-Dtest=" + strings.Join(names, ",") + " "
	}
	return Recipe{
		Dockerfile: dockerfile(
			"FROM maven:3-eclipse-temurin-"+version,
			"WORKDIR /opt/deps",
			"COPY pom.xml .",
			"RUN mvn -B -q -Dmaven.repo.local=/opt/m2 dependency:go-offline dependency:resolve-plugins && chmod -R a+rwX /opt/m2"),
		Context: in.context("pom.xml"),
		Test: []string{"sh", "-c", "mvn -B -q -o -Dmaven.repo.local=/opt/m2 -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false " + pick +
			"test; status=$?; cp target/surefire-reports/TEST-*.xml {report}/ 2>/dev/null; exit $status"},
		Report: assay.Report{Format: "surefire"},
		Units:  names, Requires: []string{"mvn"},
		Why: []string{"Java " + version + " from pom.xml"},
	}, nil
}

func javaClasses(tests []string) []string {
	var out []string
	for _, p := range tests {
		if strings.HasSuffix(p, ".java") {
			out = append(out, strings.TrimSuffix(path.Base(p), ".java"))
		}
	}
	sort.Strings(out)
	return out
}
