"""Joins layers; see R1 to R4 of the package."""

import copy
from typing import Any, Dict, Iterable

Layer = Dict[str, Any]


def merge(layers: Iterable[Layer]) -> Layer:
    """One dict out of many, later ones win."""
    result: Layer = {}
    for layer in layers:
        _lay_over(result, layer)
    return result


def _lay_over(result: Layer, layer: Layer) -> None:
    """Merge layer into result, a dict that is ours alone."""
    for key, value in layer.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            if not isinstance(result.get(key), dict):
                result[key] = {}
            _lay_over(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
