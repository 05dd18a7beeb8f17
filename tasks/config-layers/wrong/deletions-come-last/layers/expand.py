"""Fills variables into strings; see R5 to R8 of the package."""

import re
from typing import Mapping, Optional

# A $ with what makes it well-formed, if anything does.
DOLLAR = re.compile(r"\$(?:(\$)|\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\})?")


class ConfigError(Exception):
    """A string that can't be expanded."""

    def __init__(self, message: str, name: Optional[str] = None, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.name = name
        self.path = path


def expand(text: str, env: Mapping[str, str]) -> str:
    """The text with its variables filled in."""

    def fill(match: "re.Match[str]") -> str:
        dollar, name, default = match.groups()
        if dollar:
            return "$"
        if name is None:
            raise ConfigError(f"a $ that begins no variable, at {match.start()}; write $$ for a $")
        if name in env:
            return env[name]
        if default is None:
            raise ConfigError(f"variable {name} is not set", name)
        return default

    return DOLLAR.sub(fill, text)
