"""The words every engine must have. Cell rules, row expressions, groups, row choice and sums are written in them.

A word is SQL of SQL. Two engines that pass the contract (`tests/sources/contract`) give the same double for the same cell, the
same text for the same double, and the same bytes to the hash. Where IEEE 754 leaves off, at an overflow to an infinity or an
underflow to zero, a word has to give what IEEE 754 says, not an error: an error would depend on a row.

Types are named as DuckDB names them (`cell_rules.py`), whatever the engine calls them.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol


class Dialect(Protocol):
    key: str
    """SQL of the text by which rows are chosen, bound when the statement is run."""

    def text(self, text: str) -> str:
        """A literal. Levels, spellings and column names that were declared; rows never become SQL."""
        ...

    def name(self, name: str) -> str: ...
    def number(self, number: float) -> str:
        """A literal that reads back as the same double; of what is no number too."""
        ...

    def date(self, iso: str) -> str: ...
    def cast(self, value: str, kind: str) -> str:
        """Of a value that the type can hold: a whole double as BIGINT, a truth as TINYINT, any of them as DOUBLE."""
        ...

    def spelling(self, value: str, kind: str) -> str:
        """One text for each value of a kept type, the same on every engine. Of a double: its shortest digits, with a point or an
        exponent, which begins at 10⁻⁵ and 10¹⁶."""
        ...

    def stored_text(self, cell: str) -> str:
        """The text that a file of text would have held, compared by its bytes."""
        ...

    def bare(self, text: str, blanks: str) -> str: ...
    def matches(self, text: str, pattern: str) -> str:
        """Whether all of the text matches, by a pattern of classes, groups and repetitions that every engine reads alike."""
        ...

    def is_person(self, text: str) -> str:
        """Whether a text is printable, without a blank at either end."""
        ...

    def read_number(self, text: str) -> str:
        """The nearest double of a decimal text."""
        ...

    def read_day(self, text: str) -> str:
        """The day a text like 2024-03-31 names, NULL if there is none."""
        ...

    def day_of(self, moment: str) -> str: ...
    def is_among(self, text: str, texts: Sequence[str]) -> str:
        """False for NULL; as quick for a thousand texts as for one."""
        ...

    def place(self, text: str, texts: Sequence[str]) -> str:
        """The place of a text among others, from 0; NULL if it is none of them."""
        ...

    def renamed(self, text: str, names: Mapping[str, str]) -> str: ...
    def is_finite(self, number: str) -> str: ...
    def is_nan(self, number: str) -> str: ...
    def is_code(self, number: str, codes: Sequence[float]) -> str: ...
    def times(self, left: str, right: str) -> str: ...
    def over(self, left: str, right: str) -> str:
        """A quotient by something that is not zero."""
        ...

    def square(self, number: str) -> str: ...
    def over_number(self, value: str, divisor: float) -> str: ...
    def share(self, value: str, whole: str) -> str:
        """A quotient by something no smaller, which is rounded to 2⁻¹⁷ afterwards: below 10⁻³⁰⁰ it may be zero."""
        ...

    def date_part(self, part: str, day: str) -> str:
        """`year`, `month`, `day`, or `weekday` from 1 for Monday, as a double."""
        ...

    def days(self, later: str, earlier: str) -> str: ...
    def each_of(self, values: Sequence[str]) -> str:
        """In a list of columns: one row for every value."""
        ...

    def digest(self, *parts: str) -> str:
        """Something that sorts like the first 128 bits of SHA-256(key ‖ parts)."""
        ...

    def step(self, columns: Sequence[str], table: str) -> str:
        """A table with further columns, each computed once a row, however often it is used."""
        ...
