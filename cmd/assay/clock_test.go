package main

import (
	"strings"
	"testing"
	"time"
)

// dated is a project whose change adds two tests: of a date that is past in
// half a year, and one that no date changes.
func dated(steady bool) minedProject {
	until := time.Now().AddDate(0, 6, 0).Format("2006, 1, 2")
	test := `
    def test_not_over(self):
        self.assertLess(datetime.date.today(), datetime.date(` + until + `))
        self.assertEqual(cart.total([1, 2]), 3)
`
	if steady {
		test += `
    def test_all_count(self):
        self.assertEqual(cart.total([1, 2, 3]), 6)
`
	}
	m := minedProjects()[0]
	m.change = strings.Replace(m.change, "import unittest\n", "import datetime\nimport unittest\n", 1)
	m.change = m.change[:strings.Index(m.change, "    def test_all_count")] + test[1:]
	return m
}

// Mining case 18: a task that proves itself today only is quarantined; of
// one with other tests too, the dated ones are dropped and listed; and where
// the clock was not shifted, the proof says so.
func TestMining18ShiftedClock(t *testing.T) {
	needDocker(t)
	need(t, "docker", faketime() != "", "no libfaketime (Debian's package faketime)")
	prove := []string{"validate", "mined", "--sandbox", "docker", "--repeats", "1", "--hunks", "0", "--again"}

	t.Run("quarantined", func(t *testing.T) {
		p := dated(false).build(t)
		s := p.must(0, prove...)
		v := p.task("mined/pull-2").Validation
		if v.Status != "quarantined" || v.Reason != "needs_clock" || v.Probes["clock"] != "one year ahead" {
			t.Errorf("%+v\n%s%s", v, s.out, s.err)
		}
		if !strings.Contains(s.out, "quarantined: needs_clock") {
			t.Errorf("%s", s.out)
		}
		// Without the library nobody knows, and the record says it.
		p.env = append(p.env, "ASSAY_FAKETIME="+p.path("none"))
		s = p.must(0, prove...)
		v = p.task("mined/pull-2").Validation
		if v.Status != "valid" || !strings.HasPrefix(v.Probes["clock"], "not made: ") || !strings.Contains(s.out, "clock probe of 1 not made: ") {
			t.Errorf("%+v\n%s", v, s.out)
		}
		// Nor where what is loaded shifts nothing.
		p.write("none", "no library")
		p.must(0, prove...)
		if v = p.task("mined/pull-2").Validation; v.Status != "valid" || !strings.HasPrefix(v.Probes["clock"], "not shifted: ") {
			t.Errorf("%+v", v)
		}
		p.noneLeft("mined")
	})
	t.Run("dropped", func(t *testing.T) {
		p := dated(true).build(t)
		p.must(0, prove...)
		task := p.task("mined/pull-2")
		if v := task.Validation; v.Status != "valid" || strings.Join(v.Flaky, " ") != "test_cart.Cart::test_not_over" {
			t.Errorf("%+v", v)
		}
		if got := strings.Join(task.FailToPass, " "); got != "test_cart.Cart::test_all_count" {
			t.Errorf("FAIL_TO_PASS %s", got)
		}
	})
}
