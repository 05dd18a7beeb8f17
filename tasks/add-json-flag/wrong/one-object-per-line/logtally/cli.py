"""The command line of logtally."""

import argparse
import json
import sys
from typing import Any, Dict, List, Optional, Tuple

from logtally.core import Summary, summarize_file


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="logtally", description="Count the entries of log files by level."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="log files to read")
    parser.add_argument("--level", help="show the count of this level only")
    parser.add_argument("--json", action="store_true", help="print a JSON array, one object per file")
    return parser


def chosen(summary: Summary, level: Optional[str]) -> List[Tuple[str, int]]:
    """The levels that a report shows, with their counts."""
    if level is not None:
        return [(level, summary.levels[level])]
    return summary.ranked()


def as_object(summary: Summary, level: Optional[str]) -> Dict[str, Any]:
    """The JSON object of one file."""
    return {
        "path": summary.path,
        "lines": summary.lines,
        "levels": dict(chosen(summary, level)),
        "first": summary.first.isoformat() if summary.first else None,
        "last": summary.last.isoformat() if summary.last else None,
    }


def render(summary: Summary, level: Optional[str]) -> str:
    """The text report of one file."""
    out = [f"{summary.path}: {summary.lines} lines"]
    if summary.first is not None and summary.last is not None:
        out.append(f"  from {summary.first} to {summary.last}")
    out.extend(f"  {name:<8}{count:>6}" for name, count in chosen(summary, level))
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
        if options.json:
            print(json.dumps(as_object(summary, options.level), ensure_ascii=False))
        else:
            print(render(summary, options.level))
    return status
