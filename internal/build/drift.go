package build

import (
	"regexp"
	"strings"
)

// drifts are what package managers say when what a project of an older day
// asks for can't be had, or not be built, any more: a version that was yanked,
// an address that is dead, a toolchain that newer releases leave behind.
var drifts = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`no matching distribution found`, `could not find a version that satisfies`, `failed building wheel`, `failed to build .*wheel`,
	`metadata-generation-failed`, `cython\.compiler\.errors`, `has been yanked`,
	`\bETARGET\b`, `no matching version found`, `\bE404\b`, `ERR_PNPM_NO_MATCHING_VERSION`, `ERR_PNPM_FETCH_404`, `couldn't find package`,
	`failed to select a version`, `requires rustc \d`, `feature .?edition\d+.? is required`, `is yanked`,
	`unknown revision`, `410 gone`, `invalid version: unknown`, `\b404 not found`, `error: 404`, `returned error: 404`,
	`unable to locate package`, `does not have a release file`, `name or service not known`, `\bENOTFOUND\b`,
	`could not find artifact`, `could not resolve dependencies`,
}, "|"))

// Drift finds what tells a failed build apart that once worked: the line of
// its log by which something outside of the repository is no longer what it
// was; "" when none does.
func Drift(log string) string {
	for line := range strings.Lines(log) {
		if drifts.MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
