"""`what` is asked about a record not yet seen, and the one number that goes with it: fields that kinds of models share."""

from pydantic import Field

from app.core.decisions.estimands.estimand import NumberSpec
from app.core.decisions.strict_fields import Number, Share
from app.core.specs import Maybe
from app.errors import InvalidQuery

NUMBERS = {"probability": "at_most", "quantile": "level"}


class NewRecordSpec(NumberSpec):
    """To be inherited from, by what names its `kind` and what may be asked."""

    what: str
    at_most: Maybe[Number] = Field(default=None, description="With `probability`: of being at most this.")
    level: Maybe[Share] = Field(default=None, description="With `quantile`: of this level.")


def number_of(spec: NewRecordSpec, where: str) -> float:
    """The number that goes with `what`; 0 where none does. Raises InvalidQuery if it is missing or another is given."""
    own = NUMBERS.get(spec.what)
    given = {"at_most": spec.at_most, "level": spec.level}
    for name, number in given.items():
        if name != own and number is not None:
            raise InvalidQuery(f"{where}.{name}", f"no such field where what is {spec.what}")
        if name == own and number is None:
            raise InvalidQuery(f"{where}.{name}", f"this field to be present where what is {spec.what}")
    return (given[own] if own else None) or 0.0
