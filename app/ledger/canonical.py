"""One text for one JSON value: keys sorted, no spaces, no NaN. What is hashed is this text, never a parse of it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def canonical_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


NEIGHBOURS = "replace one person"


def release_event(
    *,
    model: Mapping[str, Any],
    mechanism: Mapping[str, Any],
    n: int,
    unit_rows: int,
    samples: int,
    held: int = 0,
    columns: Mapping[str, Any] | None = None,
    law: int = 1,
    check: Mapping[str, Any] | None = None,
    population: str | None = None,
    dataset: str | None = None,
    part: str | None = None,
) -> str:
    """What happened, apart from what it costs: enough public facts to recompute the charge later.

    `samples` is the length of the prefix afterwards and `held` before: a charge is the difference of two rounded
    prefix charges, which `samples − held` alone would miss by a unit. `columns` is the dataset's public schema, of
    which the columns the model names are kept; an access leaves it out, its release's reservation has it. `law` is the
    version of the mechanisms that draws; lines from before there were two do not name it. `check` is that of fit,
    where one was paid for. A dataset's line names the `population` whose account is charged too, and that account's line the
    `dataset`: whoever reads one finds the other.
    where one was paid for. An access to one of several models names the `part`, whose model and mechanism these are.
    """
    schema = {} if columns is None else {"columns": columns_named(model, columns)}
    return canonical_json(
        schema
        | ({} if law == 1 else {"law": law})
        | ({} if check is None else {"check": check})
        | ({} if population is None else {"population": population})
        | ({} if dataset is None else {"dataset": dataset})
        | ({} if part is None else {"part": part})
        | {
            "held": held,
            "mechanism": mechanism,
            "model": model,
            "n": n,
            "neighbours": NEIGHBOURS,
            "samples": samples,
            "unit_rows": unit_rows,
        }
    )


_PART = '"part":'


def part_in(event: str) -> str | None:
    """Of an access to one of several models: its part. Ledgers have a million lines, of which few are parsed."""
    if _PART not in event:
        return None
    found = json.loads(event).get("part")
    return found if isinstance(found, str) else None


def event_under(event: str, regime: float | str | None) -> str:
    """The same event, naming the filter it was admitted by where that is not the account's own."""
    return event if regime is None else canonical_json(json.loads(event) | {"filter": regime})


def regime_in(event: Mapping[str, Any]) -> Any:
    return event.get("filter")


def population_in(event: Mapping[str, Any]) -> Any:
    """Of a dataset's charge: whose account was charged with it."""
    return event.get("population")


def without_regime(event: str) -> str:
    facts = json.loads(event)
    facts.pop("filter", None)
    return canonical_json(facts)


def columns_named(model: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns whose names occur anywhere in a model; all of them if none does, or if others may be needed to read these:
    where one is derived, or a condition names some."""
    texts = set(_texts(model))
    named = {name: column for name, column in columns.items() if name in texts}
    derived = any("from" in column for column in named.values())
    return dict(columns) if not named or derived or _has_condition(model) else named


def _has_condition(model: Mapping[str, Any]) -> bool:
    if "where" in (model.get("groups") or {}):
        return True
    parts = model.get("parts") or []
    return any(_has_condition(part["model"]) for part in parts)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield str(name)
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
