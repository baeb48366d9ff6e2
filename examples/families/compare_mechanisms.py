"""Which mechanism tells more about a parameter at the same price? Plans only: no data, nothing charged.

    python examples/families/compare_mechanisms.py --people 1000 --epsilon 1

For a rate of visits (Poisson) and a mean weight (Normal), for a thousand people and thirty thousand, at three budgets, or for
those named: the spread that calibrated answers will show with `baps` (posterior samples), `laplace` and `gaussian` (one noisy
sum, then free samples) and `map` (one point).
"""

import argparse
from typing import Any

from app.core.kinds import parse_model
from app.core.kinds.one_parameter.comparison import Comparison, alternatives
from app.core.privacy.targets import Target
from app.core.schema import parse_columns

COLUMNS = parse_columns(
    {
        "visits": {"type": "integer", "lower": 0, "upper": 40},
        "weight": {"type": "real", "lower": 40, "upper": 120},
    }
)
MODELS: dict[str, dict[str, Any]] = {
    "rate of visits": {"family": "poisson", "column": "visits", "trim": {"lower": 1, "upper": 20}},
    "mean weight": {"family": "normal_mean", "column": "weight", "sd": 12},
}
PEOPLE = (1_000, 30_000)
EPSILONS = (0.1, 1.0, 5.0)
DELTA = 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=PEOPLE)
    parser.add_argument("--epsilon", type=float, nargs="+", default=EPSILONS)
    asked = parser.parse_args()
    kinds = ("baps", "laplace", "gaussian", "map")
    print(f"{'':16}{'n':>10}{'ε':>6}" + "".join(f"{kind:>10}" for kind in kinds) + "  expected sd; best")
    for title, spec in MODELS.items():
        model = parse_model(spec, COLUMNS)
        for people in asked.people:
            for epsilon in asked.epsilon:
                target = Target(epsilon, DELTA)
                found = alternatives(Comparison(model, people, 1, target))
                errors = {each.mechanism.kind: each.accuracy.calibrated_sd for each in found}
                shown = "".join(f"{errors[kind]:>10.3g}" for kind in kinds)
                print(f"{title:16}{people:>10,}{epsilon:>6g}{shown}  {found[0].mechanism.kind}")


if __name__ == "__main__":
    main()
