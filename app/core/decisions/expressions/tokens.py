"""Text → tokens. ASCII only: digits and minus signs of other scripts are refused where they stand."""

import math
import re
from dataclasses import dataclass
from typing import Literal

from app.core.decisions.expressions.limits import MAGNITUDE_MAX, TEXT_LENGTH_MAX
from app.errors import InvalidExpression

SPACE = re.compile(r"[ \t\r\n]*+")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
NUMBER = re.compile(r"(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+")
QUOTED = re.compile(r"`[^`]++`")
SYMBOL = re.compile(r"\*\*|<=|>=|==|!=|[-+*/<>(),]")
STARTS_NUMBER = frozenset("0123456789.")
CONTINUES_NUMBER = re.compile(r"[A-Za-z0-9_.]")


@dataclass(frozen=True, slots=True)
class Token:
    """`position` is a 0-based offset into the text; an `end` token closes every list."""

    kind: Literal["number", "name", "quoted", "symbol", "end"]
    text: str
    position: int


def tokenise(text: str, field: str) -> list[Token]:
    if len(text) > TEXT_LENGTH_MAX:
        raise InvalidExpression(field, f"at most {TEXT_LENGTH_MAX} characters", TEXT_LENGTH_MAX)
    tokens = []
    position = _skip_space(text, 0)
    while position < len(text):
        token = _read_token(text, position, field)
        tokens.append(token)
        position = _skip_space(text, position + len(token.text))
    tokens.append(Token("end", "", len(text)))
    return tokens


def read_literal(token: Token, field: str) -> float:
    """The double nearest the literal; one too large, or so small that it would turn into 0, is refused."""
    value = float(token.text)
    if not math.isfinite(value) or value > MAGNITUDE_MAX:
        raise InvalidExpression(field, f"a number of size at most {MAGNITUDE_MAX:g}", token.position)
    if value == 0 and re.search("[1-9]", re.split("[eE]", token.text)[0]):
        raise InvalidExpression(field, "a number that is 0 or of size at least 5e-324", token.position)
    return value


def _skip_space(text: str, position: int) -> int:
    match = SPACE.match(text, position)
    return match.end() if match else position


def _read_token(text: str, position: int, field: str) -> Token:
    if text[position] in STARTS_NUMBER:
        return _read_number(text, position, field)
    if match := NAME.match(text, position):
        return Token("name", match.group(), position)
    if match := QUOTED.match(text, position):
        return Token("quoted", match.group(), position)
    if match := SYMBOL.match(text, position):
        return Token("symbol", match.group(), position)
    raise InvalidExpression(field, "a number, a parameter, a function or an operator", position)


def _read_number(text: str, position: int, field: str) -> Token:
    match = NUMBER.match(text, position)
    if match is None or CONTINUES_NUMBER.match(text, match.end()):
        raise InvalidExpression(field, "a decimal number such as 2, 0.5 or 1e-3", position)
    return Token("number", match.group(), position)
