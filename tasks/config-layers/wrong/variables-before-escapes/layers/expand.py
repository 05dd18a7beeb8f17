"""Fills variables into strings; see R5 to R8 of the package."""

import re
from typing import Mapping, Optional

PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}")
LONE = re.compile(r"(?<!\$)(?:\$\$)*\$(?!\$)")


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
        name, default = match.groups()
        if name in env:
            return env[name]
        if default is None:
            raise ConfigError(f"variable {name} is not set", name)
        return default

    if LONE.search(PLACEHOLDER.sub("", text)):
        raise ConfigError("a $ that begins no variable")
    return "".join(
        part if n % 3 else part.replace("$$", "$") for n, part in enumerate(_pieces(text, fill))
    )


def _pieces(text, fill):
    at = 0
    for match in PLACEHOLDER.finditer(text):
        yield text[at:match.start()]
        yield fill(match)
        yield ""
        at = match.end()
    yield text[at:]
