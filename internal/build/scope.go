package build

import (
	"slices"
	"strings"
)

// shardWords is how many files or packages of the whole suite one command
// runs: enough that starting a test program weighs little, few enough that one
// that hangs is soon found.
const shardWords = 25

// whole makes the whole suite's recipe of the one for the change's own tests:
// a command with {tests} in it, and the shards whose words stand for that. A
// test program that takes no names runs everything with one command.
func whole(in Input, own Recipe, propose func(Input) (Recipe, error)) (Recipe, error) {
	every := in
	every.Tests = union(in.Tests, in.Suite)
	every.All = false
	all, err := propose(every)
	if err != nil {
		return own, err
	}
	argv, ok := template(all)
	if !ok {
		every.All = true
		return propose(every)
	}
	all.Test = keepGoing(argv)
	all.Shards = append(all.Shards, own.Units)
	rest := slices.DeleteFunc(slices.Clone(all.Units), func(u string) bool { return slices.Contains(own.Units, u) })
	for part := range slices.Chunk(rest, shardWords) {
		all.Shards = append(all.Shards, part)
	}
	return all, nil
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, p := range b {
		if !slices.Contains(a, p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// template is a recipe's command with {tests} where it names its units.
func template(r Recipe) ([]string, bool) {
	n := len(r.Units)
	if n == 0 {
		return nil, false
	}
	for i := 0; i+n <= len(r.Test); i++ {
		if slices.Equal(r.Test[i:i+n], r.Units) {
			return slices.Concat(r.Test[:i], []string{"{tests}"}, r.Test[i+n:]), true
		}
	}
	for i, w := range r.Test {
		if line := shellWords(r.Units); strings.Contains(w, line) {
			out := slices.Clone(r.Test)
			out[i] = strings.Replace(w, line, "{tests}", 1)
			return out, true
		}
		if strings.HasSuffix(w, "/unittest_junit.py") {
			return append(slices.Clone(r.Test), "{tests}"), true
		}
	}
	return nil, false
}

// keepGoing lets pytest run what it can when one file of many can't be
// imported.
func keepGoing(argv []string) []string {
	if i := slices.Index(argv, "pytest"); i >= 0 {
		return slices.Insert(slices.Clone(argv), i+1, "--continue-on-collection-errors")
	}
	return argv
}
