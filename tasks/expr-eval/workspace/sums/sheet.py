"""Cells with formulas."""

from typing import Dict

from sums.evaluator import evaluate


def fill(cells: Dict[str, str]) -> Dict[str, str]:
    """What each cell shows: its value, or #ERR for a malformed formula."""
    shown = {}
    for name, formula in cells.items():
        try:
            shown[name] = str(evaluate(formula))
        except ZeroDivisionError:
            shown[name] = "#DIV/0"
        except ValueError:
            shown[name] = "#ERR"
    return shown
