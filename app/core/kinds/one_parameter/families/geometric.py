"""Geometric: failures before the first success, p(x|θ) = θ(1−θ)ˣ. The negative binomial with r = 1."""

from collections.abc import Mapping
from typing import Any

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.negative_binomial import waiting_time
from app.core.reading import read_object
from app.core.schema import Column


def parse_geometric(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column"}, optional={"prior", "trim"})
    return waiting_time(fields, columns, 1.0)
