"""Prints the table of docs/privacy.md: ε of a release against n, for every family at its defaults.

    python benchmarks/cost_table.py

Markdown on standard output; the slowest row's time on standard error. Public numbers only: nothing is sampled.
"""

import sys
import time
from typing import Any

from app.core.kinds import parse_model
from app.core.kinds.one_parameter.families import FAMILIES
from app.core.kinds.one_parameter.mechanisms import Baps
from app.core.schema import parse_columns

SAMPLES = 10
DELTA = 1e-6
PEOPLE = tuple(10**k for k in range(3, 9))
COUNT = {"type": "integer", "lower": 0, "upper": 20}
SIZE = {"type": "real", "lower": 0, "upper": 60}
SCALE = {"type": "real", "lower": 0, "upper": 100}
ROWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bernoulli": ({"type": "binary"}, {}),
    "binomial": ({"type": "integer", "lower": 0, "upper": 10}, {"trials": 10}),
    "geometric": (COUNT, {}),
    "negative_binomial": (COUNT, {"successes": 3}),
    "poisson": (COUNT, {}),
    "exponential": (SIZE, {}),
    "gamma": (SIZE, {"shape": 2}),
    "weibull": (SIZE, {"shape": 1.5}),
    "pareto": ({"type": "real", "lower": 1, "upper": 100}, {"scale": 1}),
    "laplace": (SCALE, {"location": 50}),
    "normal_precision": (SCALE, {"mean": 50}),
    "normal_mean": (SCALE, {"sd": 10}),
}


def described(column: dict[str, Any], known: dict[str, Any]) -> str:
    bounds = "0 or 1" if column["type"] == "binary" else f"{column['type']} {column['lower']}–{column['upper']}"
    return ", ".join([bounds, *(f"{name} {value}" for name, value in known.items())])


def main() -> None:
    if set(ROWS) != set(FAMILIES):
        sys.exit(f"no row for {', '.join(sorted(set(FAMILIES) ^ set(ROWS)))}")
    print("| family | column, known | range of the parameter |" + "".join(f" {people:,} |" for people in PEOPLE))
    print("|---|---|---|" + "---|" * len(PEOPLE))
    slowest = 0.0
    for family, (column, known) in ROWS.items():
        model = parse_model({"family": family, "column": "x", **known}, parse_columns({"x": column}))
        cells = []
        for people in PEOPLE:
            started = time.perf_counter()
            cost = Baps(SAMPLES).cost(model, people, 1)
            slowest = max(slowest, time.perf_counter() - started)
            cells.append(f" {cost.total.epsilon(DELTA):.3g} |")
        trimmed = f"{model.parameter.lower:.3g} … {model.parameter.upper:.3g}"
        print(f"| `{family}` | {described(column, known)} | {model.parameter.name} {trimmed} |" + "".join(cells))
    print(f"slowest: {slowest * 1e3:.0f} ms", file=sys.stderr)


if __name__ == "__main__":
    main()
