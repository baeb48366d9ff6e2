"""Text → tokens. ASCII only: digits and minus signs of other scripts are refused where they stand."""

import math
import re
from typing import NamedTuple

from app.core.language.tree import MAGNITUDE_MAX, TEXT_LENGTH_MAX
from app.errors import InvalidExpression

# No possessive quantifiers: CPython before 3.11.5 lets `1e` pass through them as a number. Without them a failed number is
# taken back one character at a time, each in one step, because the look-ahead refuses to end before any character that
# the part given up could have been: linear, and never a shorter number than the text holds.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_.])"
QUOTED = r"`[^`]+`"
SYMBOL = r"\*\*|<=|>=|==|!=|[-+*/<>(),]"
SPACES = " \t\r\n"
TOKEN = re.compile(
    rf"(?:(?P<number>{NUMBER})|(?P<name>{NAME.pattern})|(?P<quoted>{QUOTED})|(?P<symbol>{SYMBOL}))[{SPACES}]*"
)
STARTS_NUMBER = frozenset("0123456789.")
# A quote inside a text is written twice.
LITERAL = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
TOKEN_OR_TEXT = re.compile(rf"(?:{TOKEN.pattern.removesuffix(f'[{SPACES}]*')}|(?P<text>{LITERAL}))[{SPACES}]*")


class Token(NamedTuple):
    """`kind` is a group of the pattern or "end", which closes every list; `position` is a 0-based offset into the text."""

    kind: str
    text: str
    position: int


def tokenise(text: str, field: str, pattern: re.Pattern[str] = TOKEN, names: str = "a parameter") -> list[Token]:
    """`names` is what a name stands for, for refusals."""
    if len(text) > TEXT_LENGTH_MAX:
        raise InvalidExpression(field, f"at most {TEXT_LENGTH_MAX} characters", TEXT_LENGTH_MAX)
    tokens = []
    position = len(text) - len(text.lstrip(SPACES))
    while position < len(text):
        match = pattern.match(text, position)
        if match is None or match.lastgroup is None:
            raise InvalidExpression(field, _expected(text[position], names), position)
        tokens.append(Token(match.lastgroup, match[match.lastgroup], position))
        position = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens


def _expected(character: str, names: str) -> str:
    if character in STARTS_NUMBER:
        return "a decimal number such as 2, 0.5 or 1e-3"
    return f"a number, {names}, a function or an operator"


def read_literal(token: Token, field: str) -> float:
    """The double nearest the literal; one too large, or so small that it would turn into 0, is refused."""
    value = float(token.text)
    if not math.isfinite(value) or value > MAGNITUDE_MAX:
        raise InvalidExpression(field, f"a number of size at most {MAGNITUDE_MAX:g}", token.position)
    if value == 0 and re.search("[1-9]", re.split("[eE]", token.text)[0]):
        raise InvalidExpression(field, "a number that is 0 or of size at least 5e-324", token.position)
    return value
