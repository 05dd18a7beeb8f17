"""Tables from text."""

from tabular.reader import CSVError, parse

__all__ = ["CSVError", "parse"]
