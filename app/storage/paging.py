"""Keyset pages: a cursor is the place of the last item, so pages stay put while rows are added."""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, tuple_

from app.errors import InvalidInput

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a listing; `next_cursor` is None on the last."""

    items: Sequence[T]
    next_cursor: str | None


def encode_cursor(moment: int, identifier: str) -> str:
    return base64.urlsafe_b64encode(f"{moment}:{identifier}".encode()).rstrip(b"=").decode()


def decode_cursor(cursor: str) -> tuple[int, str]:
    """The place a cursor stands for; anything this module did not write is refused."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        moment, identifier = text.split(":", 1)
        place = int(moment), identifier
    except (ValueError, binascii.Error):
        raise InvalidInput("cursor", "a cursor from a previous page") from None
    if not 0 <= place[0] < 2**63 or "\0" in identifier or encode_cursor(*place) != cursor:
        raise InvalidInput("cursor", "a cursor from a previous page")
    return place


def newest_first(
    statement: Select[Any],
    moment: ColumnElement[int],
    identifier: ColumnElement[str],
    cursor: str | None,
    limit: int,
) -> Select[Any]:
    """One row more than the page, so that `page_of` knows whether there is another."""
    if cursor is not None:
        statement = statement.where(tuple_(moment, identifier) < tuple_(*decode_cursor(cursor)))
    return statement.order_by(moment.desc(), identifier.desc()).limit(limit + 1)


def page_of(items: Sequence[T], limit: int, place: Callable[[T], tuple[int, str]]) -> Page[T]:
    kept = tuple(items[:limit])
    more = len(items) > limit and bool(kept)
    return Page(kept, encode_cursor(*place(kept[-1])) if more else None)
