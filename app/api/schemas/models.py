"""A model and a mechanism, as they are sent and as they are answered: the union of whatever is registered."""

from typing import Annotated

from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.core.kinds import mechanism_specs, model_specs
from app.core.kinds.plan_figures import AUTO, AutoMechanism, PlanAutoMechanism
from app.core.specs import OneOf, Spec

MODEL: JsonDict = {"family": "bernoulli", "column": "cured", "prior": {"alpha": 1, "beta": 1}, "trim": 0.05}
COUNTS: JsonDict = {
    "family": "poisson",
    "column": "visits",
    "prior": {"kind": "gamma", "shape": 2, "rate": 0.5},
    "trim": {"lower": 1, "upper": 20},
}
MECHANISM: JsonDict = {"kind": "baps", "samples": 100, "temperature": 1.0}
LAPLACE_MECHANISM: JsonDict = {"kind": "laplace", "samples": 1000, "epsilon": 0.5}
AUTO_MECHANISM: JsonDict = {"kind": AUTO, "epsilon": 1.0}

Model = TypeAliasType("Model", Annotated[Spec, OneOf("family", model_specs())])
Mechanism = TypeAliasType("Mechanism", Annotated[Spec, OneOf("kind", mechanism_specs())])
"""As a release has it: named, with nothing left open."""
MechanismBody = TypeAliasType(
    "MechanismBody", Annotated[Spec, OneOf("kind", {AUTO: AutoMechanism, **mechanism_specs()})]
)
PlanMechanismBody = TypeAliasType(
    "PlanMechanismBody",
    Annotated[Spec, OneOf("kind", {AUTO: PlanAutoMechanism, **mechanism_specs(in_plans=True)})],
)
