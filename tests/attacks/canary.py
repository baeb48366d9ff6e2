"""Rows that would be recognised anywhere, and a search that knows every form they could take."""

import base64
import hashlib
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

PEOPLE, CURED = 200_003, 104_729
GONE, BEYOND = 65_993, 66_889
"""Cells of days without a value, and beyond the bounds. In binary none is the end of a word and zeros after it."""
HOUSE, CELL = b"heron-", b"173.2551"
COLUMNS = {"cured": {"type": "binary"}, "days": {"type": "real", "lower": 0, "upper": 365, "missing": {"value": 7}}}
UNIT = {"column": "person", "max_rows": 1}

_HASHES = ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b", "blake2s")
_DIGITS_TO_TELL = 16


def canary_rows() -> bytes:
    """Every person's id and one cell of every row are patterns; how many were cured is a number found nowhere else."""
    lines = (f"{int(row < CURED)},{_days(row)},{HOUSE.decode()}{row:06d}\n" for row in range(PEOPLE))
    return b"cured,days,person\n" + "".join(lines).encode()


def _days(row: int) -> str:
    return "" if row < GONE else f"{CELL.decode()}{row}" if row < PEOPLE - BEYOND else f"9{CELL.decode()}"


class Search:
    """What must not be found. `hashed` are private bytes of which no unkeyed hash may be found either.

    Five digits stand in a megabyte of hexadecimal digits by chance: they are a number only where no such digit is next to them.
    """

    def __init__(self, hashed: Iterable[bytes] = ()) -> None:
        self._texts = {
            f"{name} as text": (b"%d" % count, re.compile(rb"(?<![0-9A-Fa-f.])%d(?![0-9A-Fa-f])" % count))
            for name, count in _counts().items()
        }
        self._bytes = {"an id": HOUSE, "a cell": CELL, "the mean as text": repr(CURED / PEOPLE)[:12].encode()}
        for name, value in _numbers().items():
            self._bytes |= {f"{name} as {form}": packed for form, packed in _packed(value)}
        self._narrow = {
            f"{name} as {order} 32-bit integer": struct.pack(f"{order}i", value)
            for name, value in _counts().items()
            for order in "<>"
        }
        self._hashes = {
            f"{name} of secret {number}": needle
            for number, secret in enumerate(hashed)
            for name, needle in _digests(secret)
        }

    def in_bytes(self, blob: bytes, *, pages: bool = False) -> list[str]:
        """`pages` are those of a whole database server: millions of 32-bit integers by chance, too many bytes to hash."""
        needles = self._bytes if pages else self._bytes | self._narrow | self._hashes
        found = [name for name, needle in needles.items() if needle in blob]
        # Megabytes are looked through for digits far faster than for a pattern.
        return found + [
            name for name, (digits, pattern) in self._texts.items() if digits in blob and pattern.search(blob)
        ]

    def in_value(self, value: Any) -> list[str]:
        """A value as a database driver gives it."""
        if isinstance(value, bytes | memoryview):
            return self.in_bytes(bytes(value))
        if isinstance(value, int | float):
            return [name for name, number in _numbers().items() if value == number]
        return self.in_bytes(str(value).encode())


def _counts() -> dict[str, int]:
    return {
        "the count": CURED,
        "its complement": PEOPLE - CURED,
        "the missing cells": GONE,
        "the cells beyond": BEYOND,
    }


def _numbers() -> Mapping[str, float]:
    return _counts() | {"the mean": CURED / PEOPLE, "the posterior mean": (CURED + 1) / (PEOPLE + 2)}


def _packed(value: float) -> Iterator[tuple[str, bytes]]:
    for order in "<>":
        yield f"{order} float", struct.pack(f"{order}d", value)
        if isinstance(value, int):
            yield f"{order} 64-bit integer", struct.pack(f"{order}q", value)


def _digests(secret: bytes) -> Iterator[tuple[str, bytes]]:
    """Long enough a beginning of each digest that chance would not give it."""
    for name in _HASHES:
        digest = hashlib.new(name, secret).digest()
        yield f"{name} (raw)", digest[: _DIGITS_TO_TELL // 2]
        yield f"{name} (hex)", digest.hex()[:_DIGITS_TO_TELL].encode()
        yield f"{name} (base64)", base64.b64encode(digest)[:_DIGITS_TO_TELL]
        yield f"{name} (urlsafe base64)", base64.urlsafe_b64encode(digest)[:_DIGITS_TO_TELL]


def statistics_as_bytes() -> list[bytes]:
    """Ways in which someone might write the statistic down before hashing it."""
    counts = [str(CURED), f"{CURED},{PEOPLE}", f"{PEOPLE},{CURED}", f"{CURED}/{PEOPLE}", f"[{CURED},{PEOPLE}]"]
    counts += [f'{{"rows":{PEOPLE},"total":{CURED}}}', f'{{"total":{CURED},"rows":{PEOPLE}}}']
    return [text.encode() for text in counts] + [form for _, form in _packed(CURED)]
