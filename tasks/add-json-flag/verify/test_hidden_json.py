import contextlib
import io
import json
import os
import tempfile
import unittest

from logtally import core
from logtally.cli import main

APP = """\
2024-03-01 09:15:00 INFO started
2024-03-01 09:16:30 ERROR disk is full
  while writing /var/spool
2024-03-01 09:17:00 INFO stopped
2024-03-01 09:18:00 DEBUG bye
"""
WORK = "2024-04-02 00:00:00 WARN slow\n2024-04-02 23:59:59 WÄRN größer\n"
KEYS = {"path", "lines", "levels", "first", "last"}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.app = self.write("app.log", APP)
        self.work = self.write("büro.log", WORK)
        self.plain = self.write("plain.log", "no entry here\n")
        self.missing = os.path.join(self.folder, "missing.log")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_cli(self, *argv):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(list(argv))
        return status, out.getvalue(), err.getvalue()

    def rows(self, *argv):
        return json.loads(self.run_cli(*argv)[1])


class Shape(Case):
    def test_one_file(self):
        """1: stdout is an array also when there is only one file"""
        rows = self.rows("--json", self.app)
        self.assertIsInstance(rows, list)
        self.assertEqual(len(rows), 1)

    def test_order_of_files(self):
        """1: one object per file in the order of the command line"""
        rows = self.rows("--json", self.work, self.app, self.plain, self.app)
        self.assertEqual([r["path"] for r in rows], [self.work, self.app, self.plain, self.app])

    def test_nothing_else_on_stdout(self):
        """1: the whole of stdout is one JSON array and one newline"""
        status, out, err = self.run_cli("--json", self.app, self.work)
        json.loads(out)
        self.assertTrue(out.startswith("["), out[:40])
        self.assertTrue(out.endswith("]\n"), out[-40:])
        self.assertEqual((status, err), (0, ""))

    def test_flag_after_the_files(self):
        """1: the flag may stand after the files"""
        self.assertEqual(self.rows(self.app, "--json"), self.rows("--json", self.app))


class Objects(Case):
    def test_keys(self):
        """2: each object has exactly the keys of the statement"""
        for row in self.rows("--json", self.app, self.work, self.plain):
            self.assertEqual(set(row), KEYS)

    def test_values(self):
        """2: path and lines are those of the file"""
        row = self.rows("--json", self.app)[0]
        self.assertEqual((row["path"], row["lines"]), (self.app, 5))

    def test_levels(self):
        """2: levels is an object from level to count"""
        row = self.rows("--json", self.app)[0]
        self.assertEqual(row["levels"], {"INFO": 2, "ERROR": 1, "DEBUG": 1})

    def test_order_of_levels(self):
        """2: levels stand in the order of the text report"""
        row = self.rows("--json", self.app)[0]
        self.assertEqual(list(row["levels"]), ["INFO", "DEBUG", "ERROR"])

    def test_times(self):
        """2: times are in ISO 8601 with a T"""
        row = self.rows("--json", self.app)[0]
        self.assertEqual(
            (row["first"], row["last"]), ("2024-03-01T09:15:00", "2024-03-01T09:18:00")
        )

    def test_no_entry(self):
        """2: times are null if the file has no entry"""
        row = self.rows("--json", self.plain)[0]
        self.assertEqual(
            row, {"path": self.plain, "lines": 1, "levels": {}, "first": None, "last": None}
        )


class Level(Case):
    def test_chosen(self):
        """3: with --level, levels holds the chosen level alone"""
        row = self.rows("--json", "--level", "ERROR", self.app)[0]
        self.assertEqual(row["levels"], {"ERROR": 1})
        self.assertEqual((row["lines"], row["last"]), (5, "2024-03-01T09:18:00"))

    def test_absent(self):
        """3: with --level, a level without entries has the count 0"""
        row = self.rows("--level", "FATAL", "--json", self.app)[0]
        self.assertEqual(row["levels"], {"FATAL": 0})


class Characters(Case):
    def test_not_escaped(self):
        """4: characters outside ASCII are printed as they are"""
        out = self.run_cli("--json", self.work)[1]
        self.assertIn("WÄRN", out)
        self.assertIn("büro.log", out)
        self.assertNotIn("\\u", out)


class Errors(Case):
    def test_other_files_still_processed(self):
        """5: an unreadable file is left out, the others are processed, exit 1"""
        status, out, err = self.run_cli("--json", self.missing, self.app)
        self.assertEqual([r["path"] for r in json.loads(out)], [self.app])
        self.assertEqual(status, 1)
        self.assertIn(self.missing, err)

    def test_no_readable_file(self):
        """1: with no readable file the array is empty"""
        status, out, err = self.run_cli("--json", self.missing)
        self.assertEqual((status, json.loads(out)), (1, []))
        self.assertIn(self.missing, err)


class Text(Case):
    def test_unchanged(self):
        """6: without --json the output doesn't change by a byte"""
        status, out, err = self.run_cli(self.app, self.missing, self.plain)
        self.assertEqual(
            out,
            f"{self.app}: 5 lines\n"
            "  from 2024-03-01 09:15:00 to 2024-03-01 09:18:00\n"
            "  INFO         2\n"
            "  DEBUG        1\n"
            "  ERROR        1\n"
            f"{self.plain}: 1 lines\n",
        )
        self.assertEqual(status, 1)
        self.assertEqual(err, f"logtally: {self.missing}: No such file or directory\n")

    def test_level_unchanged(self):
        """6: without --json, --level prints what it did"""
        out = self.run_cli("--level", "FATAL", self.plain)[1]
        self.assertEqual(out, f"{self.plain}: 1 lines\n  FATAL        0\n")


class Core(Case):
    def test_core_untouched(self):
        """core: summaries keep datetime objects and their order"""
        summary = core.summarize_file(self.app)
        self.assertEqual(summary.first.isoformat(), "2024-03-01T09:15:00")
        self.assertEqual(summary.ranked(), [("INFO", 2), ("DEBUG", 1), ("ERROR", 1)])
