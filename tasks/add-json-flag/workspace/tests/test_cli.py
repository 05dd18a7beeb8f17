import contextlib
import io
import os
import tempfile
import unittest

from logtally.cli import main

LOG = """\
2024-03-01 09:15:00 INFO started
2024-03-01 09:16:30 ERROR disk is full
  while writing /var/spool
2024-03-01 09:17:00 INFO stopped
"""


class CliTest(unittest.TestCase):
    def run_cli(self, *argv):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(list(argv))
        return status, out.getvalue(), err.getvalue()

    def test_text_report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "app.log")
            with open(path, "w", encoding="utf-8") as file:
                file.write(LOG)
            status, out, err = self.run_cli(path)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(
            out,
            f"{path}: 4 lines\n"
            "  from 2024-03-01 09:15:00 to 2024-03-01 09:17:00\n"
            "  INFO         2\n"
            "  ERROR        1\n",
        )

    def test_missing_file(self):
        status, out, err = self.run_cli("/nonexistent/app.log")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("/nonexistent/app.log", err)


if __name__ == "__main__":
    unittest.main()
