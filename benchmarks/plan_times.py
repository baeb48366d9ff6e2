"""CPU time of the cost behind a plan for new parameters: one draw, every family, defaults, one row a person.

Run from the repository:  python3 -m benchmarks.plan_times
Nothing is cached and imports are warm. The bar is 500 ms to 10⁷ people and 2 s at 10⁸; the largest of both is printed last.
"""

import sys
import time

from app.core.kinds import parse_model
from app.core.kinds.one_parameter.families import FAMILIES
from app.core.privacy.drawn_cost import drawn_cost
from app.core.privacy.posterior_cost import posterior_draw_cost
from app.core.schema import parse_columns
from benchmarks.cost_table import PEOPLE, ROWS

REPEATS = 3


def milliseconds(family: str, people: int) -> float:
    """The smallest of a few runs, from a model that has not been seen to its cost."""
    column, known = ROWS[family]
    found = []
    for _ in range(REPEATS):
        model = parse_model({"family": family, "column": "x", **known}, parse_columns({"x": column}))
        drawn_cost.cache_clear()
        posterior_draw_cost.cache_clear()
        started = time.process_time()
        drawn_cost(model, people, 1, 1.0)
        found.append(time.process_time() - started)
    return 1e3 * min(found)


def main() -> None:
    if set(ROWS) != set(FAMILIES):
        sys.exit(f"no row for {', '.join(sorted(set(FAMILIES) ^ set(ROWS)))}")
    milliseconds("bernoulli", 100)
    print("| family |" + "".join(f" {people:,} |" for people in PEOPLE))
    print("|---|" + "---|" * len(PEOPLE))
    times = {family: [milliseconds(family, people) for people in PEOPLE] for family in ROWS}
    for family, row in times.items():
        print(f"| `{family}` |" + "".join(f" {value:.0f} |" for value in row))
    print(f"slowest: {max(max(row[:-1]) for row in times.values()):.0f} ms to {PEOPLE[-2]:,} people,", file=sys.stderr)
    print(f"{max(row[-1] for row in times.values()):.0f} ms at {PEOPLE[-1]:,}", file=sys.stderr)


if __name__ == "__main__":
    main()
