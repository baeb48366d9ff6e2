"""One text for one JSON value: keys sorted, no spaces, no NaN. What is hashed is this text, never a parse of it."""

import json
from collections.abc import Mapping
from typing import Any


def canonical_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


NEIGHBOURS = "replace one person"


def release_event(
    *, model: Mapping[str, Any], mechanism: Mapping[str, Any], n: int, unit_rows: int, samples: int, held: int = 0
) -> str:
    """What happened, apart from what it costs: enough public facts to recompute the charge later.

    `samples` is the length of the prefix afterwards and `held` before: a charge is the difference of two rounded
    prefix charges, which `samples − held` alone would miss by a unit.
    """
    return canonical_json(
        {
            "held": held,
            "mechanism": mechanism,
            "model": model,
            "n": n,
            "neighbours": NEIGHBOURS,
            "samples": samples,
            "unit_rows": unit_rows,
        }
    )
