"""Arithmetic expressions as text."""

from sums.evaluator import evaluate

__all__ = ["evaluate"]
