"""Evaluates arithmetic expressions."""

import re
from typing import List, Union

Number = Union[int, float]

TOKEN = re.compile(r"[ \t\r\n]*(?:([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|([-+*/^()]))")
BLANK = " \t\r\n"


def evaluate(text: str) -> Number:
    """The value of an arithmetic expression.

    R1  Numbers are ints of the digits 0 to 9 (`42`, `007` is 7), or floats:
        digits, then a fraction (`1.5`), an exponent (`2e3`, `2E-3`, `2e+3`), or
        both. A fraction has digits on both sides of its point.
    R2  The operators are + - * / ^ and parentheses. * and / bind tighter than
        + and -; all four are left-associative: `10-3-2` is 5, `8/4/2` is 1.0.
    R3  ^ is power, binds tighter than the other operators and is
        right-associative: `2^3^2` is 512.
    R4  + and - may stand before an operand as signs, also several of them and
        after any operator: `--2` is 2, `2*-3` is -6, `2--3` is 5. A sign binds
        weaker than a ^ on its right: `-2^2` is -4. It may stand in an
        exponent: `2^-1` is 0.5, `2^-2^2` is 2^-(2^2), that is 0.0625.
    R5  + - and * of two ints give an int, of any size, exactly; so does ^ of
        two ints if the exponent isn't negative. A float on either side gives
        a float.
    R6  / always gives a float, and so does ^ with a negative exponent: `4/2`
        is 2.0, `1^-1` is 1.0. ints are never rounded down.
    R7  Division by zero, and zero to a negative power, raise
        ZeroDivisionError.
    R8  Spaces, tabs and line breaks (LF, CR) may stand between tokens, but not
        within a number: `1 2` and `1 .5` are malformed.
    R9  Whatever is malformed raises ValueError: an empty or blank text, an
        operator without its operands, parentheses that are empty or don't
        match, two operands in a row (`2(3)`, `(2)(3)`, `2 3`), a number of
        another form (`1.`, `.5`, `1e`, `1.2.3`, `1_000`, `0x10`), any other
        character, including digits outside ASCII, and any other operator (`//`,
        `**`, `%`).
    R10 A negative number to a power that isn't whole raises ValueError: there
        are no complex results. Nested parentheses and signs work at least 50
        deep, and chains of + - * / with thousands of operands work too.
    """
    return _Parser(_tokens(text)).whole()


def _tokens(text: str) -> List[str]:
    tokens, at = [], 0
    end = len(text.rstrip(BLANK))
    while at < end:
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"unexpected text at {at}: {text[at:at + 10]!r}")
        tokens.append(match.group(1) or match.group(2))
        at = match.end()
    return tokens


class _Parser:
    """One method per level of the grammar; each consumes what it evaluates."""

    def __init__(self, tokens: List[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def whole(self) -> Number:
        value = self.sum()
        if self.peek():
            raise ValueError(f"unexpected {self.peek()!r}")
        return value

    def sum(self) -> Number:
        value = self.product()
        while self.peek() in ("+", "-"):
            if self.take() == "+":
                value = value + self.product()
            else:
                value = value - self.product()
        return value

    def product(self) -> Number:
        value = self.signed()
        while self.peek() in ("*", "/"):
            if self.take() == "*":
                value = value * self.signed()
            else:
                value = value / self.signed()
        return value

    def signed(self) -> Number:
        if self.peek() in ("+", "-"):
            sign = self.take()
            value = self.signed()
            return -value if sign == "-" else value
        return self.power()

    def power(self) -> Number:
        base = self.operand()
        while self.peek() == "^":
            self.take()
            sign = 1
            while self.peek() in ("+", "-"):
                sign = -sign if self.take() == "-" else sign
            base = _power(base, sign * self.operand())
        return base

    def operand(self) -> Number:
        token = self.take()
        if token == "(":
            value = self.sum()
            if self.take() != ")":
                raise ValueError("a parenthesis isn't closed")
            return value
        if not token[:1].isdigit():
            raise ValueError(f"a number is missing before {token!r}")
        if token.isdigit():
            return int(token)
        return float(token)


def _power(base: Number, exponent: Number) -> Number:
    if exponent < 0:
        base = float(base)
    if base < 0 and exponent != int(exponent):
        raise ValueError("a negative number to a power that isn't whole")
    return base ** exponent
