"""The query benchmark's figures, tables and plot, from its rounds alone.

A round holds what one round of fresh processes measured, part by part and phase by phase (`query_rounds.py`). Ratios are taken
within a round, against the better of its two copies of the echo application; medians and quartiles are over rounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.published import quartiles, spread, table
from benchmarks.query_questions import KINDS
from benchmarks.query_rounds import BATCHES, LARGE, RESPONSES, SIZES, SMALL, Round

ECHOES = ("echo", "echo again")
VOID_ABOVE = 1.15
PHASES = {
    "rotating": "1,000 questions in rotation",
    "new": "questions never asked before",
    "table rotating": "1,000 tables of 100 responses in rotation",
    "table new": "tables never asked before",
}


@dataclass(frozen=True)
class Target:
    """What a median has to be; `most` says that it is a ceiling."""

    name: str
    value: float
    limit: float
    most: bool = False

    @property
    def met(self) -> bool:
        return self.value <= self.limit if self.most else self.value >= self.limit

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.2f}, {'at most' if self.most else 'at least'} {self.limit}"


@dataclass(frozen=True)
class Rounds:
    rounds: Sequence[Round]

    def values(self, part: str, phase: str, figure: str) -> list[float]:
        return [each[part][phase][figure] for each in self.rounds]

    def echoes(self, figure: str, better: Any, phase: str = "rotating") -> list[float]:
        """Of the better copy in each round."""
        return [better(pair) for pair in zip(*(self.values(echo, phase, figure) for echo in ECHOES), strict=True)]

    def control(self) -> float:
        """How far apart the medians of the two copies are."""
        one, two = (quartiles(self.values(echo, "rotating", "cpu_us"))[1] for echo in ECHOES)
        return max(one, two) / min(one, two)

    def cheaper(self, phase: str) -> list[float]:
        """Processor time of a request: the echo's over ours."""
        return _over(self.echoes("cpu_us", min), self.values("postern", phase, "cpu_us"))

    def faster(self, phase: str) -> list[float]:
        """Requests a second: ours over the echo's."""
        return _over(self.values("postern", phase, "per_s"), self.echoes("per_s", max))

    def grown(self, kind: str) -> list[float]:
        small, large = (self.values("postern", f"{kind} of {size}", "cpu_us") for size in (SMALL, LARGE))
        return _over(large, small)

    def slower(self) -> list[float]:
        return _over(self.values("postern", "latency", "p99_us"), self.echoes("p99_us", min, "latency"))

    def doubled(self, phase: str) -> list[float]:
        return _over(self.values("two workers", phase, "per_s"), self.values("postern", phase, "per_s"))

    def idlest(self, phase: str) -> list[float]:
        """Processor seconds a second of the worker that did less."""
        return [min(each["two workers"][phase]["busy"]) for each in self.rounds]

    def targets(self) -> list[Target]:
        return [
            Target("rotation against echo", _middle(self.cheaper("rotating")), 0.75),
            Target("tables in rotation against echo", _middle(self.cheaper("table rotating")), 0.65),
            *(
                Target(f"{kind} of {LARGE:,} over {SMALL:,}", _middle(self.grown(kind)), 1.25, most=True)
                for kind in KINDS
            ),
            Target("two workers over one, light", _middle(self.doubled("rotating")), 1.4),
            Target("two workers over one, heavy", _middle(self.doubled("table new")), 1.7),
            Target("the idler of two workers, light", _middle(self.idlest("rotating")), 0.5),
            Target("the idler of two workers, heavy", _middle(self.idlest("table new")), 0.5),
            Target("p99 over the echo's", _middle(self.slower()), 2.5, most=True),
        ]

    def tables(self) -> dict[str, str]:
        return {
            "throughput": self._throughput(),
            "samples": self._samples(),
            "workers": self._workers(),
            "latency": self._latency(),
            "growth": self._growth(),
        }

    def _throughput(self) -> str:
        echo = [spread(self.echoes("cpu_us", min), 3), spread(self.echoes("per_s", max), 3)]
        rows: list[list[str]] = [["echo", *echo, "1", "1"]]
        for phase, name in PHASES.items():
            own = [spread(self.values("postern", phase, figure), 3) for figure in ("cpu_us", "per_s")]
            rows.append([name, *own, spread(self.cheaper(phase)), spread(self.faster(phase))])
        return table(["", "CPU µs a request", "requests a second", "ratio by CPU", "ratio by requests"], rows)

    def _samples(self) -> str:
        rows = []
        for kind in KINDS:
            own = [spread(self.values("postern", f"{kind} of {size}", "cpu_us"), 3) for size in (SMALL, LARGE)]
            rows.append([f"`{kind}`", *own, spread(self.grown(kind))])
        return table(["never asked before", f"{SMALL:,} samples", f"{LARGE:,} samples", "ratio"], rows)

    def _workers(self) -> str:
        rows = []
        for phase, name in (("rotating", "light: in rotation"), ("table new", "heavy: new tables")):
            own = [spread(self.values(part, phase, "per_s"), 3) for part in ("postern", "two workers")]
            busy = [[each["two workers"][phase]["busy"][place] for each in self.rounds] for place in (0, 1)]
            rows.append([name, *own, spread(self.doubled(phase)), " and ".join(map(spread, busy))])
        return table(["", "one worker, a second", "two workers, a second", "ratio", "busy, each worker"], rows)

    def _latency(self) -> str:
        rows = []
        for name, part in (("echo", ECHOES[0]), ("echo again", ECHOES[1]), ("Postern", "postern")):
            figures = [spread(self.values(part, "latency", each), 3) for each in ("per_s", "p50_us", "p99_us")]
            rows.append([name, *figures, spread(self.slower()) if part == "postern" else ""])
        return table(["", "requests a second", "p50 µs", "p99 µs", "p99, ratio"], rows)

    def _growth(self) -> str:
        rows = [
            [name, *(spread(self.each(name, each), 3) if each in sizes else "—" for each in SIZES_SHOWN)]
            for name, sizes in GROWTH.items()
        ]
        return table(["CPU µs a question", *(f"{each:,}" for each in SIZES_SHOWN)], rows)

    def each(self, name: str, size: int) -> list[float]:
        """Processor time of a question; a batch has as many as its size."""
        share = size if name == "batch" else 1
        return [value / share for value in self.values("postern", f"{name} {size}", "cpu_us")]


GROWTH = {"samples": SIZES, "responses": RESPONSES, "batch": BATCHES}
SIZES_SHOWN = sorted({size for sizes in GROWTH.values() for size in sizes})


def plot(figure: Any, rounds: Rounds) -> None:
    left, right = figure.subplots(1, 2)
    bars = {"echo": rounds.echoes("cpu_us", min)} | {
        name: rounds.values("postern", phase, "cpu_us") for phase, name in PHASES.items()
    }
    for place, values in enumerate(bars.values()):
        low, middle, high = quartiles(values)
        left.barh(place, middle, xerr=[[middle - low], [high - middle]], color="C0" if place == 0 else "C2", capsize=3)
    left.set(yticks=range(len(bars)), xlabel="CPU µs a request")
    left.set_yticklabels(list(bars))
    left.invert_yaxis()
    for name, sizes in GROWTH.items():
        low, middle, high = np.array([quartiles(rounds.each(name, size)) for size in sizes]).T
        right.errorbar(sizes, middle, yerr=(middle - low, high - middle), fmt="o-", capsize=3, label=name)
    right.set(xscale="log", yscale="log", xlabel="samples, responses, or questions in a batch")
    right.set_ylabel("CPU µs a question")
    right.grid(alpha=0.3)
    right.legend(frameon=False, fontsize=8)


def _over(above: Sequence[float], below: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(above, below, strict=True)]


def _middle(values: Sequence[float]) -> float:
    return quartiles(values)[1]
