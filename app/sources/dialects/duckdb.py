"""The embedded engine. Enumerations find a text by hashing, however many there are; IN would become a join."""

from collections.abc import Mapping, Sequence

from app.sources.engine import double, identifier, literal

# Printable, not blank at either end: '7' and '7 ' must not be two people.
PERSON_PATTERN = r"[^\p{C}\p{Z}](?:\P{C}*[^\p{C}\p{Z}])?"


class DuckDialect:
    key = "$key"

    def text(self, text: str) -> str:
        return literal(text)

    def name(self, name: str) -> str:
        return identifier(name)

    def number(self, number: float) -> str:
        return double(number)

    def date(self, iso: str) -> str:
        return f"CAST({literal(iso)} AS DATE)"

    def cast(self, value: str, kind: str) -> str:
        return f"{value}::{kind}"

    def spelling(self, value: str, kind: str) -> str:
        return f"{value}::TINYINT::VARCHAR" if kind == "BOOLEAN" else f"{value}::VARCHAR"

    def stored_text(self, cell: str) -> str:
        return f"{cell}::VARCHAR"

    def bare(self, text: str, blanks: str) -> str:
        return f"trim({text}, {literal(blanks)})"

    def matches(self, text: str, pattern: str) -> str:
        return f"regexp_full_match({text}, {literal(pattern)})"

    def is_person(self, text: str) -> str:
        return self.matches(text, PERSON_PATTERN)

    def read_number(self, text: str) -> str:
        return f"TRY_CAST({text} AS DOUBLE)"

    def read_day(self, text: str) -> str:
        return f"TRY_CAST({text} AS DATE)"

    def day_of(self, moment: str) -> str:
        return f"TRY_CAST({moment} AS DATE)"

    def is_among(self, text: str, texts: Sequence[str]) -> str:
        return f"{_entry(text, texts)} IS NOT NULL"

    def place(self, text: str, texts: Sequence[str]) -> str:
        return f"enum_code({_entry(text, texts)})"

    def renamed(self, text: str, names: Mapping[str, str]) -> str:
        texts, levels = list(names), list(names.values())
        if texts == levels:
            return f"{_entry(text, texts)}::VARCHAR"
        return f"([{', '.join(map(literal, levels))}])[{self.place(text, texts)}::INTEGER + 1]"

    def is_finite(self, number: str) -> str:
        return f"isfinite({number})"

    def is_nan(self, number: str) -> str:
        return f"isnan({number})"

    def is_code(self, number: str, codes: Sequence[float]) -> str:
        return f"list_contains([{', '.join(map(double, codes))}], {number})"

    def times(self, left: str, right: str) -> str:
        return f"({left} * {right})"

    def over(self, left: str, right: str) -> str:
        return f"({left} / {right})"

    def square(self, number: str) -> str:
        return f"{number} * {number}"

    def over_number(self, value: str, divisor: float) -> str:
        return f"{value} / {double(divisor)}"

    def share(self, value: str, whole: str) -> str:
        return f"{value} / {whole}"

    def date_part(self, part: str, day: str) -> str:
        return f"{'isodow' if part == 'weekday' else part}({day})::DOUBLE"

    def days(self, later: str, earlier: str) -> str:
        return f"date_diff('day', {earlier}, {later})::DOUBLE"

    def each_of(self, values: Sequence[str]) -> str:
        return f"unnest([{', '.join(values)}])"

    def digest(self, *parts: str) -> str:
        return f"('0x' || left(sha256(concat({self.key}, {', '.join(parts)})), 32))::UHUGEINT"

    def step(self, columns: Sequence[str], table: str) -> str:
        return f"(SELECT *, {', '.join(columns)} FROM {table})"  # noqa: S608 - declared names only, quoted


DUCK = DuckDialect()


def _entry(text: str, texts: Sequence[str]) -> str:
    return f"TRY_CAST({text} AS ENUM({', '.join(map(literal, texts))}))"
