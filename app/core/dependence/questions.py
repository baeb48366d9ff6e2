"""A question about correlated people as it is sent, read into what `inference.py` answers."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, TypeAdapter

from app.core.dependence.descriptions import People, Probability, SecretSpec, structure_of
from app.core.dependence.inference import Question
from app.core.dependence.structure import Structure
from app.core.specs import Spec, read_spec
from app.errors import InvalidInput

EXCEPTION_DEFAULT = 1e-3
EXCEPTION_MIN = 1e-15
ACTIONS_MAX = 64
TARGET_MAX = 1e3
_SUMS_TO_ONE = 1e-9


class OddsTarget(Spec):
    """How far log-odds may move."""

    nu: float = Field(gt=0, le=TARGET_MAX, description="Nats: log-odds by at most so much.")


class InferenceSpec(Spec):
    """What people's dependence would let an adversary learn. From public numbers and what is declared here; costs nothing."""

    people: People = Field(description="How people's records depend on each other.")
    secret: SecretSpec | None = Field(default=None, description="The first person's record, even odds, if left out.")
    knowledge: Literal["prior", "any"] = Field(
        default="prior",
        description="`any`: the adversary may know other people's records besides; fewer theorems hold then.",
    )
    exception: float = Field(
        default=EXCEPTION_DEFAULT,
        ge=EXCEPTION_MIN,
        le=0.5,
        description="The probability, over the release, with which odds may rise by more than `probable.nu`.",
    )
    gain: list[list[Probability]] | None = Field(
        default=None,
        min_length=1,
        max_length=ACTIONS_MAX,
        description="What each action gains, from 0 to 1, for each value of the secret.",
    )
    target: OddsTarget | None = Field(default=None, description="What ε, and how many samples, keep odds so close.")


_SPEC: TypeAdapter[InferenceSpec] = TypeAdapter(InferenceSpec)


def read_question(value: object, delta: float) -> Question:
    """Raises InvalidInput."""
    spec = read_spec(_SPEC, value, "", InvalidInput)
    secret = spec.secret or SecretSpec()
    structure = structure_of(spec.people, secret.members, spec.knowledge == "any")
    prior = _prior(secret.prior, structure)
    return Question(
        structure=structure,
        prior=prior,
        exception=spec.exception,
        delta=delta,
        known=spec.knowledge == "any",
        gain=_gain(spec.gain, len(prior)),
        target=None if spec.target is None else spec.target.nu,
    )


def question_within(body: Mapping[str, Any], where: str, delta: float) -> Question:
    """The same of a field of another body: refusals name it."""
    try:
        return read_question(body[where], delta)
    except InvalidInput as error:
        first = error.problems[0]
        field = first.field if first.field == "body" else f"{where}.{first.field}"
        raise InvalidInput(where if first.field == "body" else field, first.expected) from None


def _prior(given: list[float] | None, structure: Structure) -> tuple[float, ...]:
    values = structure.values
    if given is None:
        known = structure.prior if structure.prior is not None else [1 / (values or 2)] * (values or 2)
        return tuple(known)
    if values is not None and len(given) != values:
        raise InvalidInput("secret.prior", f"{values} numbers, one for each value of the secret")
    total = math.fsum(given)
    if abs(total - 1) > _SUMS_TO_ONE or not min(given) > 0:
        raise InvalidInput("secret.prior", "numbers above 0 that add up to 1")
    return tuple(each / total for each in given)


def _gain(given: list[list[float]] | None, values: int) -> tuple[tuple[float, ...], ...] | None:
    if given is None:
        return None
    if any(len(row) != values for row in given):
        raise InvalidInput("gain", f"{values} numbers for each action, one for each value of the secret")
    return tuple(tuple(row) for row in given)
