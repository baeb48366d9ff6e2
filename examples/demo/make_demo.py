"""Make the demo data: 4,000 invented records of a clinical trial.

    python examples/demo/make_demo.py

Nobody in it exists. A patient carries a hidden frailty; frailty and placebo make a cure
less likely, cured patients leave earlier, and the longer someone stays the more visits
they have. The seed is fixed and every number is drawn with `random.Random.random()`
alone, whose sequence Python promises never to change, so the file comes out the same byte
for byte on every version and machine.
"""

import json
import math
import random
from pathlib import Path

SEED = 42
PATIENTS = 4_000
FOLDER = Path(__file__).resolve().parent


def dataset_body() -> dict[str, object]:
    """The body of `POST /v1/datasets` that declares these columns."""
    return {
        "name": "trial-42",
        "columns": {
            "cured": {"type": "binary"},
            "arm": {"type": "categorical", "levels": ["drug", "placebo"]},
            "days": {"type": "real", "lower": 0, "upper": 365},
            "visits": {"type": "integer", "lower": 0, "upper": 40},
        },
        "budget": {"epsilon": 3.0, "delta": 1e-6},
        "privacy_unit": None,
        "source": {"kind": "upload", "retain": False},
    }


def patient(source: random.Random) -> str:
    """One line of the file."""
    frailty = source.random()
    arm = "drug" if source.random() < 0.5 else "placebo"
    log_odds = (0.35 if arm == "drug" else -0.75) + 1.2 * (0.5 - frailty)
    cured = source.random() < 1 / (1 + math.exp(-log_odds))
    # Time to cure or to the end of follow-up: exponential, cut at a year.
    mean_days = 70 + 90 * frailty if cured else 260
    days = min(365.0, -mean_days * math.log(1 - source.random()))
    # A visit every fortnight or so, of which some are missed.
    due = 1 + int(days / 12)
    visits = min(40, sum(source.random() < 0.8 for _ in range(due)))
    return f"{int(cured)},{arm},{days:.1f},{visits}\n"


def trial_csv() -> str:
    source = random.Random(SEED)
    return "cured,arm,days,visits\n" + "".join(patient(source) for _ in range(PATIENTS))


def main() -> None:
    (FOLDER / "trial.csv").write_text(trial_csv(), encoding="utf-8", newline="")
    (FOLDER / "trial.json").write_text(json.dumps(dataset_body(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
