"""Geometric: failures before the first success, p(x|θ) = θ(1−θ)ˣ. The negative binomial with r = 1."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import ProbabilityModel
from app.core.kinds.one_parameter.families.negative_binomial import waiting_time
from app.core.schema import Column


class GeometricModel(ProbabilityModel):
    """The probability of success, from an integer column that counts failures before the first."""

    family: Literal["geometric"] = Field(description="The name of the family.")


def build_geometric(spec: GeometricModel, columns: Mapping[str, Column]) -> NaturalModel:
    return waiting_time(spec, columns, 1.0)
