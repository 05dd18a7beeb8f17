"""Merges and expands; see R9 and R10 of the package."""

from typing import Any, Iterable, Mapping

from layers.expand import ConfigError, expand
from layers.merge import Layer, merge


def load(layers: Iterable[Layer], env: Mapping[str, str]) -> Layer:
    """The configuration that the layers and the environment make."""
    return _expand_all(merge(layers), env, "")


def _expand_all(value: Any, env: Mapping[str, str], path: str) -> Any:
    if isinstance(value, dict):
        return {key: _expand_all(inner, env, _below(path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_expand_all(inner, env, _below(path, str(i))) for i, inner in enumerate(value)]
    if isinstance(value, str):
        try:
            return expand(value, env)
        except ConfigError as err:
            raise ConfigError(err.message, err.name, path) from err
    return value


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
