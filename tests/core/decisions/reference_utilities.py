"""u(g, r) of every utility, written from docs/queries.md one sample and one response at a time, without the engine."""

import math


def pinball(x: float, tau: float) -> float:
    return tau * x if x >= 0 else (tau - 1) * x


def squared(g, r, lower, upper, spec):
    return 1 - ((g - r) / (upper - lower)) ** 2


def absolute(g, r, lower, upper, spec):
    return 1 - abs(g - r) / (upper - lower)


def quantile(g, r, lower, upper, spec):
    tau = spec["tau"]
    return 1 - pinball(g - r, tau) / ((upper - lower) * max(tau, 1 - tau))


def interval(g, r, lower, upper, spec):
    """By the interval score itself, not by its two quantile losses."""
    (a, b), alpha = r, 1 - spec["level"]
    score = (b - a) + 2 / alpha * max(a - g, 0) + 2 / alpha * max(g - b, 0)
    return 1 - score / (2 / alpha * (upper - lower))


def log(g, r, lower, upper, spec):
    return 1 + (g * math.log(r) + (1 - g) * math.log(1 - r)) / math.log(1 / spec["floor"])


def zero_one(g, r, lower, upper, spec):
    return 1.0 if g == r else 0.0


def newsvendor(g, r, lower, upper, spec):
    """A cheap miss below and a dear one above, in units of the declared range."""
    return 1 - (3 * max(g - r, 0) + max(r - g, 0)) / (4 * (upper - lower))


UTILITIES = {
    "squared": squared,
    "absolute": absolute,
    "pinball": quantile,
    "interval": interval,
    "log": log,
    "zero_one": zero_one,
    "expression": newsvendor,
}


def expression_spec(lower: float, upper: float, responses: object) -> dict:
    """The text of `newsvendor`, with a range that interval arithmetic stays inside of."""
    return {
        "kind": "expression",
        "utility": f"1 - (3 * max(g - r, 0) + max(r - g, 0)) / {4 * (upper - lower)!r}",
        "responses": responses,
        "range": [0, 1],
    }


def mean(kind: str, values: list[float], response: object, lower: float, upper: float, spec: dict) -> float:
    return math.fsum(UTILITIES[kind](g, response, lower, upper, spec) for g in values) / len(values)
