"""Questions as the specification shows them: unions by `kind`, put together from what is registered.

Estimands hold estimands, and which there are is known only when every kind of model has been registered; until then the
descriptions that hold them are not complete.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import BaseModel, Field, RootModel, create_model

from app.core.decisions.question import QuestionSpec
from app.core.decisions.utilities import UTILITIES
from app.core.specs import Spec


def describe_questions(estimands: Mapping[str, Sequence[type[Spec]]]) -> None:
    """Completes the descriptions. Where kinds of models share a name, each has its own shape for it, and any may be sent."""
    utilities = {name: [kind.spec] for name, kind in UTILITIES.items()}
    unions = {
        "EstimandSpec": _one_of(
            "Estimand", "What is asked about. `kind` decides which other fields there are.", estimands
        ),
        "UtilitySpec": _one_of("Utility", "What makes a response good, by `kind`.", utilities),
    }
    parts: list[type[BaseModel]] = [spec for specs in (*estimands.values(), *utilities.values()) for spec in specs]
    parts += [*unions.values(), QuestionSpec]
    for described in parts:
        described.model_rebuild(_types_namespace=unions)


def _one_of(name: str, about: str, choices: Mapping[str, Sequence[type[Spec]]]) -> type[RootModel[Any]]:
    members = [specs[0] if len(specs) == 1 else _any_of(kind, specs) for kind, specs in choices.items()]
    union: Any = Annotated[reduce(or_, members), Field(discriminator="kind")]
    return create_model(name, __base__=RootModel[union], __doc__=about)


def _any_of(kind: str, specs: Sequence[type[Spec]]) -> type[RootModel[Any]]:
    """A union of its own, because a discriminated one can have one choice for every `kind`."""
    union: Any = reduce(or_, specs)
    about = "Which of these it is, the release's model decides."
    return create_model(f"{kind.title()}Spec", __base__=RootModel[union], __doc__=about)
