"""Joins layers; see R1 to R4 of the package."""

from typing import Any, Dict, Iterable

Layer = Dict[str, Any]


def merge(layers: Iterable[Layer]) -> Layer:
    """One dict out of many, later ones win."""
    result: Layer = {}
    for layer in layers:
        result = _merge_two(result, layer)
    return result


def _merge_two(under: Layer, over: Layer) -> Layer:
    merged = dict(under)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and key in merged:
            for inner, inner_value in value.items():
                merged[key][inner] = inner_value
        else:
            merged[key] = value
    return merged
