"""A trial of two arms, by which everybody knows who is in which: a rate in each, and samples of both."""

import numpy as np

from app.core.decisions import SampleSet
from app.core.kinds import parse_model
from app.core.schema import parse_columns

TRIAL = {
    "cured": {"type": "binary"},
    "arm": {"type": "categorical", "levels": ["drug", "placebo"], "public": True},
}
BY_ARM = parse_model(
    {"family": "bernoulli", "column": "cured", "groups": {"by": ["arm"], "strata": [50, 50]}}, parse_columns(TRIAL)
)


def arm_samples(size: int) -> SampleSet:
    return SampleSet(BY_ARM.parameters, np.linspace([0.2, 0.3], [0.5, 0.4], size))


SEVERAL = parse_model(
    {
        "family": "several",
        "parts": [{"name": name, "model": {"family": "bernoulli", "column": "cured"}} for name in ("cured", "again")],
    },
    parse_columns(TRIAL),
)
"""Two models, which might as well be of different columns."""


def several_samples(size: int) -> SampleSet:
    return SampleSet(SEVERAL.parameters, np.linspace([0.2, 0.3], [0.5, 0.4], size))
