"""The command line of logtally."""

import argparse
import sys
from typing import List, Optional

from logtally.core import Summary, summarize_file


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="logtally", description="Count the entries of log files by level."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="log files to read")
    parser.add_argument("--level", help="show the count of this level only")
    return parser


def render(summary: Summary, level: Optional[str]) -> str:
    """The text report of one file."""
    out = [f"{summary.path}: {summary.lines} lines"]
    if summary.first is not None and summary.last is not None:
        out.append(f"  from {summary.first} to {summary.last}")
    rows = summary.ranked()
    if level is not None:
        rows = [(level, summary.levels[level])]
    out.extend(f"  {name:<8}{count:>6}" for name, count in rows)
    return "\n".join(out)


def main(argv: List[str]) -> int:
    """Run the command; the return value is the exit status."""
    options = build_parser().parse_args(argv)
    status = 0
    for path in options.files:
        try:
            summary = summarize_file(path)
        except OSError as err:
            print(f"logtally: {path}: {err.strerror}", file=sys.stderr)
            status = 1
            continue
        print(render(summary, options.level))
    return status
