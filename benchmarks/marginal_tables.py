"""Tables and plot of `bench_marginals.py`, from the errors of every dataset."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.published import table

Cell = Mapping[str, Any]

WAYS = ("together", "one by one", "Private-PGM", "as counts")
HEADS = ("n", "ε", *WAYS, "of Private-PGM", "of as counts", "hold")
TITLES = {
    "clinic": "ten yes/no nodes, the true law",
    "insurance": "eight columns of 20,190 people",
    "marriages": "nine columns of 6,366 people",
}


def mean_of(cell: Cell, way: str) -> float:
    return float(np.mean(cell["errors"][way]))


def share_of(cell: Cell, other: str) -> tuple[float, float]:
    """Our mean error over the other's on the same datasets, and the standard error of that share."""
    ours, theirs = (np.array(cell["errors"][way]) for way in ("together", other))
    share = ours.mean() / theirs.mean()
    off = ours - share * theirs
    return float(share), float(off.std(ddof=1) / math.sqrt(len(off)) / theirs.mean())


def line_of(cell: Cell) -> list[str]:
    line = [cell["table"], f"{cell['people']:,}", f"{cell['epsilon']:g}"]
    line += [f"{mean_of(cell, way):.4f}" if way in cell["errors"] else "–" for way in WAYS]
    for other in ("Private-PGM", "as counts"):
        line.append("{:.3f} ± {:.3f}".format(*share_of(cell, other)) if other in cell["errors"] else "–")
    covers = np.array(cell["errors"]["covers"])
    return [*line, f"{100 * covers.mean():.1f} ± {100 * covers.std(ddof=1) / math.sqrt(len(covers)):.1f} %"]


def tables_of(cells: Sequence[Cell]) -> dict[str, str]:
    names = list(dict.fromkeys(cell["table"] for cell in cells))
    return {name: table(HEADS, [line_of(cell)[1:] for cell in cells if cell["table"] == name]) for name in names}


def plot(figure: Any, cells: Sequence[Cell]) -> None:
    """Our error over Private-PGM's, by people, a line for every ε; bars are two standard errors."""
    names = list(dict.fromkeys(cell["table"] for cell in cells))
    axes = figure.subplots(1, len(names), sharey=True)
    for axis, name in zip(axes, names, strict=True):
        own = [cell for cell in cells if cell["table"] == name]
        for epsilon in dict.fromkeys(cell["epsilon"] for cell in own):
            line = [cell for cell in own if cell["epsilon"] == epsilon]
            shares = [share_of(cell, "Private-PGM") for cell in line]
            people = [cell["people"] for cell in line]
            bars = [2 * error for _, error in shares]
            axis.errorbar(
                people, [share for share, _ in shares], bars, marker="o", ms=3, lw=1, label=f"ε = {epsilon:g}"
            )
        axis.axhline(1, color="grey", lw=0.8, ls="--")
        axis.set_xscale("log")
        axis.set_title(f"{name}: {TITLES[name]}", fontsize=8)
        axis.set_xlabel("people")
    axes[0].set_ylabel("error, over Private-PGM's")
    axes[0].legend(fontsize=7)
