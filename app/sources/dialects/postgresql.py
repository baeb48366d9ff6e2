"""PostgreSQL 16 and newer, in UTF-8, with names, dates and quotes read as `tables/postgresql_session.py` sets it.

Its arithmetic is IEEE 754 but for one thing: a product or quotient that overflows to an infinity, or underflows to zero, is an
error, which would stop a release because of one row. Such operands are found beforehand, by comparisons that can do neither.
Where operands are expressions they are named once, in a subquery that the planner may not flatten (OFFSET 0), as it would
copy them wherever they are used.
"""

import json
import math
from collections.abc import Mapping, Sequence

TYPES = {
    "VARCHAR": "text",
    "DOUBLE": "float8",
    "BIGINT": "int8",
    "INTEGER": "int4",
    "TINYINT": "int4",
    "USMALLINT": "int4",
    "BOOLEAN": "bool",
    "DATE": "date",
}
_FEW = 8
"""As many texts are compared one by one; more are looked up in an object of keys in order."""
_INFINITY = "CAST('Infinity' AS float8)"
_BEYOND = 1e307
"""More than any limit that products and quotients are cut to (`rows/expression.py:LIMIT`), and less than the largest double."""
_LIFT = 2.0**1000
_LIFTED_ZERO = 2.0**-75
_NEVER_MATTERS = 2.0**-540
"""The product of two smaller ones is zero."""
_SQUARE_ZERO = float.fromhex("0x1.6a09e667f3bccp-538")
_SQUARE_FINITE = float.fromhex("0x1.fffffffffffffp+511")
_SHARE_ZERO = 1e-300
# Categories C and Z of Unicode as far as they occur in texts; the pattern has no names for them.
_UNPRINTABLE = (
    r"\u0001-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\ue000-\uf8ff\ufeff\ufff9-\uffff"
)
_BLANK = r"\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


class PostgresDialect:
    key = "current_setting('postern.choice_key')"

    def text(self, text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    def name(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def number(self, number: float) -> str:
        return f"CAST('{number!r}' AS float8)"

    def date(self, iso: str) -> str:
        return f"CAST({self.text(iso)} AS date)"

    def cast(self, value: str, kind: str) -> str:
        return f"CAST({value} AS {TYPES[kind]})"

    def spelling(self, value: str, kind: str) -> str:
        if kind == "BOOLEAN":
            return f'CAST(CAST({value} AS int4) AS text) COLLATE "C"'
        text = f"CAST({value} AS text)"
        if kind not in ("DOUBLE", "FLOAT"):
            return f'{text} COLLATE "C"'
        # exponents from 10¹⁵ on (10⁶ of single doubles), which others begin at 10¹⁶; and no point in whole numbers
        written = f"CAST(CAST({text} AS numeric) AS text)"
        return (
            f"CASE WHEN {text} ~ 'e\\+(0[0-9]|1[0-5])$' THEN {written} || CASE WHEN {written} ~ '[.]' THEN '' ELSE '.0' END "
            f"WHEN {text} ~ 'e\\+' THEN coalesce({_shortest(value, text)}, {text}) "
            f"WHEN {text} ~ '[.eNI]' THEN {text} ELSE {text} || '.0' END COLLATE \"C\""
        )

    def stored_text(self, cell: str) -> str:
        return f'CAST({cell} AS text) COLLATE "C"'

    def bare(self, text: str, blanks: str) -> str:
        return f"btrim({text}, {self.text(blanks)})"

    def matches(self, text: str, pattern: str) -> str:
        return f"{text} ~ {self.text(f'^(?:{pattern})$')}"

    def is_person(self, text: str) -> str:
        pattern = f"^$|^[{_BLANK}]|[{_BLANK}]$|[{_UNPRINTABLE}]"
        return f"{text} !~ {self.text(pattern)}"

    def read_number(self, text: str) -> str:
        """Texts beyond the doubles are infinite or zero, which the engine would refuse to read."""
        exact = f"CASE WHEN pg_input_is_valid({text}, 'numeric') THEN CAST({text} AS numeric) END"
        large = f"coalesce(abs({exact}) > 1, {text} !~ '[eE]-')"
        beyond = f"CASE WHEN {large} THEN CASE WHEN {text} ~ '^-' THEN - {_INFINITY} ELSE {_INFINITY} END ELSE 0 END"
        return f"CASE WHEN pg_input_is_valid({text}, 'float8') THEN CAST({text} AS float8) ELSE {beyond} END"

    def read_day(self, text: str) -> str:
        return f"CASE WHEN pg_input_is_valid({text}, 'date') THEN CAST({text} AS date) END"

    def day_of(self, moment: str) -> str:
        return f"CAST({moment} AS date)"

    def is_among(self, text: str, texts: Sequence[str]) -> str:
        return f"coalesce({text} = ANY (ARRAY[{', '.join(map(self.text, texts))}]), false)"

    def place(self, text: str, texts: Sequence[str]) -> str:
        found = self._found(text, {each: str(place) for place, each in enumerate(texts)})
        return f"CAST({found} AS int4)"

    def renamed(self, text: str, names: Mapping[str, str]) -> str:
        return f'{self._found(text, names)} COLLATE "C"'

    def _found(self, text: str, names: Mapping[str, str]) -> str:
        if len(names) <= _FEW:
            cases = " ".join(f"WHEN {self.text(each)} THEN {self.text(name)}" for each, name in names.items())
            return f"(CASE {text} {cases} END)"
        return f"(CAST({self.text(json.dumps(names, ensure_ascii=False))} AS jsonb) ->> {text})"

    def is_finite(self, number: str) -> str:
        return f"(abs({number}) < {_INFINITY})"  # what is no number sorts above every number

    def is_nan(self, number: str) -> str:
        return f"({number} = 'NaN')"

    def is_code(self, number: str, codes: Sequence[float]) -> str:
        return f"({number} IN ({', '.join(map(self.number, codes))}))"

    def times(self, left: str, right: str) -> str:
        small, large = "least(abs(a), abs(b))", "greatest(abs(a), abs(b))"
        lifted = f"({small} * {self.number(_LIFT)}) * {large}"
        return self._named(
            f"WHEN {small} > 1 AND abs(a) > {self.number(_BEYOND)} / abs(b) THEN sign(a) * sign(b) * {_INFINITY} "
            f"WHEN {large} < {self.number(_NEVER_MATTERS)} THEN 0 "
            f"WHEN {large} < 1 AND {lifted} <= {self.number(_LIFTED_ZERO)} THEN 0 ELSE a * b",
            left,
            right,
        )

    def over(self, left: str, right: str) -> str:
        lifted = f"(abs(a) * {self.number(_LIFT)}) / abs(b)"
        return self._named(
            f"WHEN abs(b) < 1 AND abs(a) > {self.number(_BEYOND)} * abs(b) THEN sign(a) * sign(b) * {_INFINITY} "
            f"WHEN abs(b) > 1 AND abs(a) < 1 AND {lifted} <= {self.number(_LIFTED_ZERO)} THEN 0 ELSE a / b",
            left,
            right,
        )

    def _named(self, cases: str, left: str, right: str) -> str:
        return f"(SELECT CASE {cases} END FROM (SELECT {left} AS a, {right} AS b OFFSET 0) AS operands)"  # noqa: S608

    def square(self, number: str) -> str:
        zero, finite = self.number(_SQUARE_ZERO), self.number(_SQUARE_FINITE)
        return (
            f"CASE WHEN abs({number}) <= {zero} THEN 0 WHEN abs({number}) > {finite} THEN {_INFINITY} "
            f"ELSE {number} * {number} END"
        )

    def over_number(self, value: str, divisor: float) -> str:
        zero, infinite = _ends_of_quotients(divisor)
        return (
            f"CASE WHEN abs({value}) <= {self.number(zero)} THEN 0 "
            f"WHEN abs({value}) >= {self.number(infinite)} THEN sign({value}) * {_INFINITY} "
            f"ELSE {value} / {self.number(divisor)} END"
        )

    def share(self, value: str, whole: str) -> str:
        return f"CASE WHEN abs({value}) < {self.number(_SHARE_ZERO)} THEN 0 ELSE {value} / {whole} END"

    def date_part(self, part: str, day: str) -> str:
        return f"CAST(extract({'isodow' if part == 'weekday' else part} FROM {day}) AS float8)"

    def days(self, later: str, earlier: str) -> str:
        return f"CAST({later} - {earlier} AS float8)"

    def each_of(self, values: Sequence[str]) -> str:
        return f"unnest(ARRAY[{', '.join(values)}])"

    def digest(self, *parts: str) -> str:
        said = " || ".join([self.key, *parts])
        return f"left(encode(sha256(convert_to({said}, 'UTF8')), 'hex'), 32) COLLATE \"C\""

    def step(self, columns: Sequence[str], table: str) -> str:
        return f"(SELECT *, {', '.join(columns)} FROM {table} OFFSET 0)"  # noqa: S608 - declared names only, quoted


POSTGRES = PostgresDialect()


def _shortest(value: str, text: str) -> str:
    """The fewest digits that read back as the same double. The engine leaves out a decimal half way to the next double, though
    it reads it as this one: of 10²³ it writes 9.999999999999999e+22. Only from 2⁵³ on are there such decimals this short."""
    rounded = f"round(CAST(split_part({text}, 'e', 1) AS numeric), digits)"
    power = f"CAST(split_part({text}, 'e+', 2) AS int4)"
    written = (
        f"CASE WHEN abs({rounded}) = 10 THEN CAST(sign({rounded}) AS text) || 'e+' || ({power} + 1) "
        f"ELSE CAST(trim_scale({rounded}) AS text) || 'e+' || {power} END"
    )
    tried = f"SELECT digits, {written} AS said FROM generate_series(0, 16) AS digits OFFSET 0"  # noqa: S608 - a number
    return f"(SELECT said FROM ({tried}) AS tried WHERE CAST(said AS float8) = {value} ORDER BY digits LIMIT 1)"  # noqa: S608


def _ends_of_quotients(divisor: float) -> tuple[float, float]:
    """(largest number whose quotient is zero, smallest whose quotient is infinite), of numbers above zero."""
    zero = divisor * 2.0**-1074 / 2 if divisor > 1 else 0.0
    while zero > 0 and zero / divisor != 0:
        zero = math.nextafter(zero, 0.0)
    while math.nextafter(zero, 1.0) / divisor == 0:
        zero = math.nextafter(zero, 1.0)
    infinite = math.inf
    if divisor < 1:
        infinite = 1.7976931348623157e308 * divisor
        while infinite / divisor == math.inf:
            infinite = math.nextafter(infinite, 0.0)
        while infinite / divisor != math.inf:
            infinite = math.nextafter(infinite, math.inf)
    return zero, infinite
