"""Which text of a cell means which value, decided from the declaration alone and the same on every engine.

Blanks around a cell never matter. Upper and lower case are folded one character for one, and only characters that occur in a
declared spelling, so that an engine needs a plain translation table and none of its own ideas about letters.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from app.core.schema.column import Column
from app.errors import InvalidSchema

BLANKS = " \t\r\n\u00a0"
MISSING = ("", "na", "nan", "null")
"""In any case, unless declared to be something else."""
TRUE, FALSE = "true", "false"
_TRUTHS = {TRUE: ("true", "yes", "1", "1.0"), FALSE: ("false", "no", "0", "0.0")}


@dataclass(frozen=True, slots=True)
class Spelled:
    """`values`: bare text → level, or `true` and `false`; `folded` if cells are compared in lower case.

    `missing`: lower-case texts that stand for no value, where they stand for none of the values.
    """

    values: dict[str, str]
    folded: bool
    missing: tuple[str, ...]


def bare(text: str) -> str:
    return text.strip(BLANKS)


def lower_case(text: str) -> str:
    """Character by character: `İ` and the like, whose lower case is longer, stay as they are."""
    return "".join(_lower(character) for character in text)


def _lower(character: str) -> str:
    small = character.lower()
    return small if len(small) == 1 else character


def cases(texts: Iterable[str]) -> tuple[str, str]:
    """(upper, lower) in pairs: every capital that must be made small for a cell to be found among lower-case texts."""
    found = {}
    for character in sorted(set("".join(texts))):
        capital = character.upper()
        if len(capital) == 1 and capital != character and _lower(capital) == character:
            found[capital] = character
    return "".join(found), "".join(found.values())


def spelled(column: Column) -> Spelled:
    """Raises InvalidSchema if one text would mean two things."""
    folded = column.type == "binary" or column.fold_case
    values: dict[str, str] = {}
    missing = {lower_case(bare(text)) for text in column.missing_spellings}
    for value, texts in _declared(column):
        for text in texts:
            key = lower_case(bare(text)) if folded else bare(text)
            if values.setdefault(key, value) != value or lower_case(key) in missing:
                raise InvalidSchema(f"columns.{column.name}", f"one meaning for every spelling; {text!r} has two")
    if column.type == "binary":
        for value, texts in _TRUTHS.items():
            for text in texts:
                if text not in missing:
                    values.setdefault(text, value)
    return Spelled(values, folded, tuple(sorted(missing | set(MISSING))))


def _declared(column: Column) -> list[tuple[str, tuple[str, ...]]]:
    """A level is a spelling of itself."""
    further = dict(column.spellings)
    if column.type == "categorical":
        return [(level, (level, *further.get(level, ()))) for level in column.levels]
    return [(value, further.get(value, ())) for value in (TRUE, FALSE)] if column.type == "binary" else []
