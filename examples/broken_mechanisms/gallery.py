"""A gallery of broken mechanisms: each takes a dataset and gives one output a run. Reads {"dataset", "runs", "seed"} on standard
input and prints one JSON value a run, as `postern audit --command` wants it; the mechanism is named on the command line.
"""

import json
import math
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

Rows = list[Any]


def laplace(rng: random.Random, scale: float) -> float:
    """As in every textbook, and the reason why it is in a gallery."""
    uniform = rng.random() - 0.5
    return -scale * math.copysign(1.0, uniform) * math.log(max(1e-300, 1 - 2 * abs(uniform)))


def discrete_laplace(rng: random.Random, scale: float) -> int:
    """The difference of two geometric numbers."""
    log_q = -1 / scale
    return int(math.log(1 - rng.random()) / log_q) - int(math.log(1 - rng.random()) / log_q)


def correct(rows: Rows, rng: random.Random) -> Any:
    """Discrete Laplace noise on a count: pure ε = 1."""
    return sum(rows) + discrete_laplace(rng, 1.0)


def float_laplace(rows: Rows, rng: random.Random) -> Any:
    """Near 0 doubles are much finer than near 1: a sum that is not 0 leaves its grain in the result (Mironov 2012)."""
    return sum(rows) + laplace(rng, 1.0)


def threshold_without_noise(rows: Rows, rng: random.Random) -> Any:
    """Above or below, twenty times, each with noise of the whole budget and none on the threshold."""
    return sum(sum(rows) + laplace(rng, 2.0) > len(rows) / 2 for _ in range(20))


def answers_after_the_first(rows: Rows, rng: random.Random) -> Any:
    """Should stop at the first answer above; goes on, and tells how many of ten were."""
    threshold = len(rows) / 2 + laplace(rng, 2.0)
    return [sum(sum(rows) + laplace(rng, 4.0) > threshold for _ in range(40)), round(threshold)]


@lru_cache
def _posterior(ones: int, zeros: int, power: float) -> list[float]:
    points = [0.05 + 0.9 * (i + 0.5) / 40 for i in range(40)]
    logs = [power * (ones * math.log(p) + zeros * math.log(1 - p)) for p in points]
    return [math.exp(value - max(logs)) for value in logs]


def three_starts(rows: Rows, rng: random.Random) -> Any:
    """A draw of a posterior, whose worst neighbours are near neither an end nor the middle."""
    return rng.choices(range(40), _posterior(sum(rows), len(rows) - sum(rows), 1.0))[0]


def rows_of_a_person(rows: Rows, rng: random.Random) -> Any:
    """A person may have three rows; the noise is for one."""
    return sum(sum(person) for person in rows) + discrete_laplace(rng, 1.0)


def temperature_not_charged(rows: Rows, rng: random.Random) -> Any:
    """Charged as a draw at temperature ½."""
    return rng.choices(range(40), _posterior(sum(rows), len(rows) - sum(rows), 1.0))[0]


def charged_once(rows: Rows, rng: random.Random) -> Any:
    """Ten noisy counts for the price of one."""
    return [sum(rows) + discrete_laplace(rng, 1.0) for _ in range(10)]


def unclipped(rows: Rows, rng: random.Random) -> Any:
    """Values are declared to lie between 0 and 1, and nobody looks."""
    return sum(rows) + discrete_laplace(rng, 1.0)


def empty_cells_left_out(rows: Rows, rng: random.Random) -> Any:
    """Only cells that somebody is in get noise; the others show that nobody is."""
    counted = [sum(row == level for row in rows) for level in range(3)]
    return [count + discrete_laplace(rng, 2.0) if count else -10_000 for count in counted]


def one_seed(rows: Rows, rng: random.Random) -> Any:
    """Reproducible, as somebody asked for."""
    return sum(rows) + discrete_laplace(random.Random(len(rows)), 1.0)


def noise_rounded_away(rows: Rows, rng: random.Random) -> Any:
    """Counts are told in tens, and noise of a few is lost in the rounding, but not where a ten begins."""
    return 10 * round((10 * sum(rows) + laplace(rng, 1.0)) / 10)


def report_noisy_max_with_value(rows: Rows, rng: random.Random) -> Any:
    """Which of three is largest is paid for; by how much is not."""
    noisy = [sum(row == level for row in rows) + laplace(rng, 2.0) for level in range(3)]
    best = max(range(3), key=noisy.__getitem__)
    second = sorted(noisy)[1]
    return [best, round(noisy[best]), round(noisy[best] - second), round(sum(noisy))]


@dataclass(frozen=True)
class Exhibit:
    """A mechanism, two neighbours on which its mistake shows, and what it claims: ε, or a divergence of `order`."""

    run: Callable[[Rows, random.Random], Any]
    x: Rows
    y: Rows
    claim: dict[str, Any]
    runs: int = 3_000


PURE = {"kind": "pure", "epsilon": 1.0}
_NONE, _ONE = [0] * 10, [1] + [0] * 9
EXHIBITS: dict[str, Exhibit] = {
    "float_laplace": Exhibit(float_laplace, _NONE, _ONE, PURE, 6_000),
    "threshold_without_noise": Exhibit(threshold_without_noise, [1] * 5 + [0] * 5, [1] * 6 + [0] * 4, PURE),
    "answers_after_the_first": Exhibit(answers_after_the_first, [1] * 5 + [0] * 5, [1] * 6 + [0] * 4, PURE, 5_000),
    "three_starts": Exhibit(
        three_starts, [0] * 19 + [1], [0] * 18 + [1] * 2, {"kind": "renyi", "order": 2.0, "epsilon": 0.02}
    ),
    "rows_of_a_person": Exhibit(rows_of_a_person, [[0, 0, 0], [1]], [[1, 1, 1], [1]], PURE),
    "temperature_not_charged": Exhibit(
        temperature_not_charged, [0] * 10, [0] * 9 + [1], {"kind": "renyi", "order": 2.0, "epsilon": 0.1}
    ),
    "charged_once": Exhibit(charged_once, _NONE, _ONE, PURE),
    "unclipped": Exhibit(unclipped, _NONE, [5] + [0] * 9, PURE),
    "empty_cells_left_out": Exhibit(empty_cells_left_out, [0, 0, 1, 1], [0, 0, 1, 2], PURE),
    "one_seed": Exhibit(one_seed, _NONE, _ONE, PURE),
    "noise_rounded_away": Exhibit(noise_rounded_away, _NONE, _ONE, PURE),
    "report_noisy_max_with_value": Exhibit(
        report_noisy_max_with_value, [0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 2, 2], {"kind": "pure", "epsilon": 0.25}, 10_000
    ),
    "correct": Exhibit(correct, _NONE, _ONE, PURE),
}
"""Neighbours differ in one person's rows; in `empty_cells_left_out` and the noisy maximum one person changes two cells."""


def outputs(name: str, rows: Rows, runs: int, seed: int) -> list[Any]:
    rng = random.Random(seed)
    return [EXHIBITS[name].run(rows, rng) for _ in range(runs)]


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    for value in outputs(sys.argv[1], asked["dataset"], asked["runs"], asked["seed"]):
        print(json.dumps(value))
