"""Configurations out of layers.

A layer is a dict with string keys. Its values are dicts of the same kind,
lists, strings, numbers, booleans or None. Of several layers the later ones win.

merge(layers) joins layers:

R1  Where two layers both have a dict under a key, the dicts are merged by the
    same rules, at any depth. In every other case the later value replaces the
    earlier one whole; lists are replaced and never joined.
R2  None as the value of a key deletes that key: in the result it is missing. A
    later layer may set it again, and then nothing of the value from before
    the deletion comes back. Deleting a key that isn't there is no fault.
R3  R2 holds at any depth, also within a dict that replaces another value or
    is new under its key, and also in the first layer: no dict of the result
    has None as a value, except dicts within lists. What lists hold is data:
    None in a list stays. A dict that lost all of its keys stays, empty.
R4  No layer is changed, at any depth, and the result shares no dict or list
    with a layer, nor do results with each other.

expand(text, env) fills variables into one string:

R5  ${NAME} is replaced by env["NAME"]. ${NAME:default} is the same, but if
    NAME isn't in env it stands for the default: all text between the first
    colon and the first closing brace, further colons included, maybe none. A
    variable that is set to "" is set. NAME consists of ASCII letters, digits
    and underscores and doesn't begin with a digit.
R6  $$ stands for one $. Text is read from left to right, so $${A} is the text
    ${A}, and $$${A} is a $ followed by the value of A.
R7  What was filled in, be it a value or a default, is never expanded again.
R8  ConfigError is raised for a variable that is neither set nor has a
    default, and for a $ that begins neither $$ nor a well-formed ${...}. Its
    attribute `name` is the variable's name, in the second case None.

load(layers, env) does both:

R9  Layers are merged first and the strings of the result expanded then, each
    exactly once: a value that a later layer replaces or deletes needs no
    variables. Strings in lists are expanded too, at any depth; keys and values
    that are no strings are left as they are.
R10 A ConfigError from load has the place of the string in its attribute
    `path`: the keys from the top, and positions in lists from 0, joined with
    dots, for instance "servers.0.url". From expand it is "".
"""

from layers.expand import ConfigError, expand
from layers.load import load
from layers.merge import merge

__all__ = ["ConfigError", "expand", "load", "merge"]
