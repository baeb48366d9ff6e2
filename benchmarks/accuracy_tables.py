"""The accuracy benchmark's tables and plot, from its rounds alone.

A round is one row: what was asked of whom (`part`, people, seed, number of questions), who answered, which kind of questions the
errors are of, and four errors: mean absolute and root mean square, against the frequency in the data and against the law the
data were drawn from. Ratios are of rounds with the same data and questions; medians and quartiles are over seeds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.published import quartiles, significant, spread, table

OURS = "postern"
EXACT = "no privacy"
WHOLE = "whole table"
ERRORS = ("mae_data", "rmse_data", "mae_truth", "rmse_truth")
HEADLINE = "mae_data"
KINDS = ("conjunctions", "conditional")


class Round(NamedTuple):
    part: str
    people: int
    seed: int
    questions: int
    side: str
    kind: str
    mae_data: float
    rmse_data: float
    mae_truth: float
    rmse_truth: float


@dataclass(frozen=True)
class Rounds:
    """Noisy counts have a side for every noise and way of answering: the best of them, by median, is theirs."""

    rows: Sequence[Round]

    def values(self, part: str, people: int, questions: int, side: str, error: str, kind: str = "all") -> list[float]:
        key = (part, people, questions, side, kind)
        return [getattr(row, error) for row in self.rows if (*row[:2], *row[3:6]) == key]

    def sides(self, part: str, people: int, questions: int) -> list[str]:
        key = (part, people, questions)
        return list(dict.fromkeys(row.side for row in self.rows if (*row[:2], row.questions) == key))

    def best(self, part: str, people: int, questions: int, prefix: str = "noise", error: str = HEADLINE) -> str:
        sides = [side for side in self.sides(part, people, questions) if side.startswith(prefix)]
        return min(sides, key=lambda side: quartiles(self.values(part, people, questions, side, error))[1])

    def ratios(
        self, part: str, people: int, questions: int, error: str = HEADLINE, kind: str = "all", prefix: str = "noise"
    ) -> list[float]:
        """Their error over ours, seed by seed; their side chosen by this error over all kinds."""
        theirs = self.best(part, people, questions, prefix, error)
        pairs = (self.values(part, people, questions, side, error, kind) for side in (theirs, OURS))
        return [theirs / ours for theirs, ours in zip(*pairs, strict=True)]


def tables_of(rounds: Rounds, setting: dict[str, Any]) -> dict[str, str]:
    n, asked = setting["people"], setting["questions"]
    return {
        "headline": _errors_table(rounds, "inside", n, asked),
        "rms": _rms_table(rounds, n, asked),
        "kinds": _kinds_table(rounds, n, asked[-2:]),
        "outside": _errors_table(rounds, "outside", n, asked),
        "people": _people_table(rounds, sorted([*setting["more_people"], n]), asked[-2:]),
        "driven": _driven_table(rounds, n, asked[-2:]),
        "mechanisms": _mechanisms_table(rounds, n, asked[-1], setting["plan"]),
        "composition": _composition_table(setting["composition"]),
    }


def _times(values: Sequence[float]) -> str:
    return f"{spread(values)} ×"


def _errors_table(rounds: Rounds, part: str, n: int, asked: Iterable[int]) -> str:
    rows = []
    for k in asked:
        theirs = rounds.best(part, n, k)
        own, other = (rounds.values(part, n, k, side, HEADLINE) for side in (OURS, theirs))
        whole = rounds.values(part, n, k, rounds.best(part, n, k, WHOLE), HEADLINE)
        ratios = [_times(rounds.ratios(part, n, k, error)) for error in (HEADLINE, "mae_truth")]
        rows.append([f"{k:,}", spread(own), spread(other), theirs.removeprefix("noise: "), *ratios, spread(whole)])
    heads = [
        "questions",
        "Postern",
        "noise on each",
        "best noise",
        "ratio",
        "ratio, against the law",
        "noisy table once",
    ]
    return table(heads, rows)


def _rms_table(rounds: Rounds, n: int, asked: Iterable[int]) -> str:
    rows = []
    for k in asked:
        theirs = rounds.best("inside", n, k, error="rmse_data")
        own, other = (rounds.values("inside", n, k, side, "rmse_data") for side in (OURS, theirs))
        ratios = [_times(rounds.ratios("inside", n, k, error)) for error in ("rmse_data", "rmse_truth")]
        rows.append([f"{k:,}", spread(own), spread(other), *ratios])
    return table(["questions", "Postern", "noise on each", "ratio", "ratio, against the law"], rows)


def _kinds_table(rounds: Rounds, n: int, asked: Iterable[int]) -> str:
    rows = []
    for k in asked:
        theirs = rounds.best("inside", n, k)
        for kind in KINDS:
            own, other = (rounds.values("inside", n, k, side, HEADLINE, kind) for side in (OURS, theirs))
            rows.append([f"{k:,}", kind, spread(own), spread(other), _times(rounds.ratios("inside", n, k, kind=kind))])
    return table(["questions", "kind", "Postern", "noise on each", "ratio"], rows)


def _people_table(rounds: Rounds, sizes: Iterable[int], asked: Sequence[int]) -> str:
    rows = []
    for n in sizes:
        own = rounds.values("inside", n, asked[-1], OURS, HEADLINE)
        bare = rounds.values("inside", n, asked[-1], EXACT, HEADLINE)
        ratios = [_times(rounds.ratios("inside", n, k, error)) for error in (HEADLINE, "mae_truth") for k in asked]
        rows.append([f"{n:,}", spread(own), spread(bare), *ratios])
    names = [f"ratio at {k:,}{law}" for law in ("", ", against the law") for k in asked]
    return table(["people", "Postern", "without any privacy", *names], rows)


def _driven_table(rounds: Rounds, n: int, asked: Iterable[int]) -> str:
    rows = []
    for k in asked:
        theirs = rounds.best("driven", n, k)
        own, other = (rounds.values("driven", n, k, side, HEADLINE) for side in (OURS, theirs))
        rows.append([f"{k:,}", spread(own), spread(other), _times(rounds.ratios("driven", n, k))])
    return table(["questions", "Postern", "noise on each", "ratio"], rows)


def _mechanisms_table(rounds: Rounds, n: int, asked: int, plan: Sequence[dict[str, Any]]) -> str:
    rows = []
    for each in plan:
        values = rounds.values("mechanisms", n, asked, each["name"], HEADLINE)
        rows.append([f"`{each['name']}`", f"{each['charged']:.3f}", significant(each["expected_kl"]), spread(values)])
    return table(["mechanism", "ε charged", "expected KL of the plan", f"error, {asked:,} questions"], rows)


def _composition_table(composition: Sequence[dict[str, Any]]) -> str:
    names = [name for name in composition[0] if name != "questions"]
    rows = [
        [f"{row['questions']:,}", *(significant(row[name], 3) if name in row else "—" for name in names)]
        for row in composition
    ]
    return table(["questions", *names], rows)


def plot(figure: Any, rounds: Rounds, setting: dict[str, Any]) -> None:
    panels = figure.subplots(1, 3, sharey=True)
    titles = ("against the data", "against the law of the data", "people outside the model, against the data")
    for panel, part, error, title in zip(
        panels, ("inside", "inside", "outside"), (HEADLINE, "mae_truth", HEADLINE), titles, strict=True
    ):
        for prefix, label, style in (
            ("noise", "noise on each answer, best at each k", "s-"),
            (WHOLE, "noisy table of all 1,024 cells, once", "^:"),
            (OURS, "Postern, one release", "o-"),
            (EXACT, "the network without privacy", "k--"),
        ):
            _line(panel, rounds, (part, setting["people"], error), setting["questions"], prefix, label, style)
        panel.set(xscale="log", yscale="log", ylim=(1e-5, 0.3), xlabel="adaptive questions", title=title)
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="mean absolute error of a probability")
    panels[1].legend(frameon=False, fontsize=8, loc="lower right")


def _line(
    panel: Any, rounds: Rounds, what: tuple[str, int, str], asked: Sequence[int], prefix: str, label: str, style: str
) -> None:
    part, n, error = what
    found = [
        quartiles(rounds.values(part, n, k, rounds.best(part, n, k, prefix, error), error)) for k in asked
    ]  # fmt: skip
    low, middle, high = zip(*found, strict=True)
    bars = [m - a for m, a in zip(middle, low, strict=True)], [b - m for m, b in zip(middle, high, strict=True)]
    panel.errorbar(asked, middle, yerr=bars, fmt=style, label=label, capsize=2, markersize=4, linewidth=1.2)
