"""Bernoulli: p(x|θ) = θˣ(1−θ)^{1−x}, θ the success probability, on [ω, 1−ω].

T = x, η = log θ − log(1−θ), A = −log(1−θ); even in arcsin √θ, where one record carries information 4.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from app.core.grids.bernoulli import bernoulli_model
from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import ProbabilityModel, read_column
from app.core.schema import Column


class BernoulliModel(ProbabilityModel):
    """The probability of yes in a binary column."""

    family: Literal["bernoulli"] = Field(description="The name of the family.")


def build_bernoulli(spec: BernoulliModel, columns: Mapping[str, Column]) -> NaturalModel:
    return bernoulli_model(read_column(spec, columns, ("binary",)).name, spec.prior, spec.trim)
