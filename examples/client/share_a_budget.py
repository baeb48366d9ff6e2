"""Split what is left of a dataset's budget between two questions, and ask for the releases if both come out as wanted.

    POSTERN_URL=… POSTERN_KEY=… python examples/client/share_a_budget.py DATASET

A plan reads no data and costs nothing. The key is the dataset's steward's.
"""

import sys

from postern.client import Client

MODELS = [
    {"model": {"family": "bernoulli", "column": "cured"}, "target": {"half_width": 0.03, "level": 0.9}},
    {"model": {"family": "poisson", "column": "visits"}, "target": {"sd": 0.15}},
]


def main(dataset: str) -> None:
    with Client() as client:
        plan = client.plan_together(MODELS, account=dataset)
        for part in plan.models:
            shown, held = part.precision, part.precision.coverage
            print(f"{part.model['family']}: {part.mechanism['kind']}, ± {shown.half_width:.3g} at {shown.level:.0%}")
            print(f"  {part.why}")
            if held.share is not None:
                print(f"  {held.share:.0%} of {held.releases} simulated intervals held the truth")
        print(plan.advice)
        if plan.reached:
            for part in plan.models:
                release = client.request_release(dataset, part.model, part.mechanism)
                print(f"{release.id} is {release.status}")


if __name__ == "__main__":
    main(sys.argv[1])
