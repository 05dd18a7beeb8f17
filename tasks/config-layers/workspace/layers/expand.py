"""Fills variables into strings; see R5 to R8 of the package."""

import re
from typing import Mapping, Optional

PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


class ConfigError(Exception):
    """A string that can't be expanded."""

    def __init__(self, message: str, name: Optional[str] = None, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.name = name
        self.path = path


def expand(text: str, env: Mapping[str, str]) -> str:
    """The text with its variables filled in."""
    while PLACEHOLDER.search(text):
        text = PLACEHOLDER.sub(lambda match: _value(match.group(1), env), text)
    return text.replace("$$", "$")


def _value(inside: str, env: Mapping[str, str]) -> str:
    parts = inside.split(":")
    name = parts[0]
    if env.get(name):
        return env[name]
    if len(parts) > 1:
        return parts[1]
    raise ConfigError(f"variable {name} is not set", name)
