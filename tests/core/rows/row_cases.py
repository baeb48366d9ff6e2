"""Columns with awkward names and levels, rows of them, and random texts of the language: some typed well, some not at all."""

import datetime
import random
from typing import Any

from app.core.schema import Column, parse_columns

HOSTILE = ["it's", '"', "');--", "$key", "\\'", "{}", "NULL", "a b", "ü✓", "%s"]
COLUMNS: dict[str, Column] = parse_columns(
    {
        "age": {"type": "integer", "lower": 0, "upper": 120, "missing": "group"},
        "stay": {"type": "real", "lower": -1e300, "upper": 1e300, "missing": "group"},
        "cured": {"type": "binary", "missing": "group"},
        "arm": {"type": "categorical", "levels": ["drug", "placebo"], "public": True},
        "x'); DROP TABLE t; --": {"type": "categorical", "levels": HOSTILE, "missing": "group"},
        "in": {"type": "binary", "public": True},
        "day": {"type": "date", "missing": "group"},
        "left": {"type": "date", "missing": "group"},
    }
)
NAMES = ["age", "stay", "cured", "arm", "`x'); DROP TABLE t; --`", "`in`", "day", "left"]
_NUMBERS = ["0", "1", "65", "0.5", "1e150", "2", "-3", "7.25"]
_TEXTS = ["'drug'", '"placebo"', "'it''s'", "'\"'", "'2024-02-29'", "'1999-12-31'", "''"]


def rows(source: random.Random, count: int) -> list[dict[str, Any]]:
    days = [
        datetime.date(2024, 2, 29),
        datetime.date(1999, 12, 31),
        datetime.date(1000, 1, 1),
        datetime.date(9999, 12, 31),
    ]
    choices: dict[str, list[Any]] = {
        "age": [None, 0, 17, 65, 120],
        "stay": [None, 0.0, -0.1, 0.1, 1e300, -1e300, 3.5],
        "cured": [None, True, False],
        "arm": ["drug", "placebo"],
        "x'); DROP TABLE t; --": [None, *HOSTILE],
        "in": [True, False],
        "day": [None, *days],
        "left": [None, *days],
    }
    return [{name: source.choice(cells) for name, cells in choices.items()} for _ in range(count)]


def number(source: random.Random, depth: int) -> str:
    if depth == 0:
        return source.choice([*_NUMBERS, "age", "stay", "cured"])
    less = depth - 1
    kinds = [
        lambda: f"({number(source, less)} {source.choice('+-*/')} {number(source, less)})",
        lambda: f"{source.choice(['min', 'max'])}({number(source, less)}, {number(source, less)})",
        lambda: f"{source.choice(['abs', 'floor', '-'])}({number(source, less)})",
        lambda: f"where({condition(source, less)}, {number(source, less)}, {number(source, less)})",
        lambda: f"{source.choice(['year', 'month', 'day', 'weekday'])}({source.choice(['day', 'left'])})",
        lambda: "(left - day)",
        lambda: number(source, 0),
    ]
    return source.choice(kinds)()


def condition(source: random.Random, depth: int) -> str:
    if depth == 0:
        return source.choice(["cured", "`in`", "arm == 'drug'", "`x'); DROP TABLE t; --` in ('it''s', ');--')"])
    less = depth - 1
    kinds = [
        lambda: f"{number(source, less)} {source.choice(['<', '<=', '>', '>=', '==', '!='])} {number(source, less)}",
        lambda: f"({condition(source, less)} {source.choice(['and', 'or'])} {condition(source, less)})",
        lambda: f"not {condition(source, less)}",
        lambda: f"({number(source, less)} {source.choice(['in', 'not in'])} (1, 2, {number(source, less)}))",
        lambda: f"day {source.choice(['<', '==', '>='])} '2024-02-29'",
        lambda: condition(source, 0),
    ]
    return f"({source.choice(kinds)()})"


def scrap(source: random.Random) -> str:
    """Tokens in any order, and now and then a character that is none."""
    pieces = [
        *_NUMBERS,
        *_TEXTS,
        *NAMES,
        *"+-*/()<>,",
        "==",
        "!=",
        "<=",
        "and",
        "or",
        "not",
        "in",
        "min",
        "where",
        "bin",
    ]
    pieces += ["`", "'", '"', ";", "--", "/*", "\x00", "٣", "**", "exp(", "year(", "true", "nothing", "\n", "ü"]
    return " ".join(source.choice(pieces) for _ in range(source.randrange(1, 14)))
