"""Bernoulli: p(x|θ) = θˣ(1−θ)^{1−x}, θ the success probability, on [ω, 1−ω].

T = x, η = log θ − log(1−θ), A = −log(1−θ); even in arcsin √θ, where one record carries information 4.
"""

from collections.abc import Mapping
from typing import Any

from app.core.grids.bernoulli import TRIM_DEFAULT, bernoulli_model
from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import read_column
from app.core.reading import read_object
from app.core.schema import Column


def parse_bernoulli(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column"}, optional={"prior", "trim"})
    column = read_column(fields, columns, ("binary",))
    return bernoulli_model(column.name, fields.get("prior"), fields.get("trim", TRIM_DEFAULT))
