"""The questions of the query benchmark: small ones of four kinds, tables of responses, batches; repeated or never the same."""

import json
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from benchmarks.load_client import NextRequest, in_turn, prepare

THETA = {"kind": "parameter", "name": "theta"}
KINDS = ("squared", "absolute", "pinball", "interval")
ROTATION = 1_000
"""How many different questions a rotation repeats: each is worked out once and then answered from memory."""
TABLE_RESPONSES = 100

_numbers = count(1)

MakeBody = Callable[[int], bytes]


def small(kind: str, number: int) -> dict[str, Any]:
    """Another number, another question: for quantiles another level, for all another confidence."""
    share = 0.01 + 0.98 * (number * 0.6180339887 % 1)
    own = {"pinball": {"tau": round(share, 9)}, "interval": {"level": round(share, 9)}}.get(kind, {})
    confidence = 0.5 + 0.49 * (number * 0.7548776662 % 1)
    return {"estimand": THETA, "utility": {"kind": kind, **own}, "confidence": round(confidence, 9)}


def mixed(number: int) -> bytes:
    return json.dumps(small(KINDS[number % len(KINDS)], number)).encode()


def of_kind(kind: str) -> MakeBody:
    return lambda number: json.dumps(small(kind, number)).encode()


def table(responses: int) -> MakeBody:
    """u(θ, r) for every sample and response: the loss |θ − r| shifted by something new each time."""

    def body(number: int) -> bytes:
        shift = number * 0.6180339887 % 1
        spec = {"kind": "expression", "utility": f"-abs(g - r) - {shift:.9f}", "range": [-2, 0]}
        spec["responses"] = {"lower": 0, "upper": 1, "steps": responses}
        return json.dumps({"estimand": THETA, "utility": spec}).encode()

    return body


def batch(size: int) -> MakeBody:
    """Questions never asked before, so many to a request."""

    def body(number: int) -> bytes:
        queries = [small(KINDS[index % len(KINDS)], number * size + index) for index in range(size)]
        return json.dumps({"queries": queries}).encode()

    return body


def rotating(path: str, tokens: Sequence[str], make: MakeBody) -> NextRequest:
    return in_turn(prepare(path, tokens[number % len(tokens)], make(number)) for number in range(ROTATION))


def always_new(path: str, tokens: Sequence[str], make: MakeBody) -> NextRequest:
    """Numbers are never used again within a run, whichever server is asked."""
    return lambda: prepare(path, tokens[0 if len(tokens) == 1 else next(_turn) % len(tokens)], make(next(_numbers)))


_turn = count()
