"""What can be asked of each kind of model: what every release can be asked, and what its own folder adds."""

from collections.abc import Sequence

from app.core.decisions.estimands import SHARED_ESTIMANDS, Askable
from app.core.kinds.kind import Kind
from app.core.specs import Spec


def estimands_of(kinds: Sequence[Kind]) -> dict[str, list[type[Spec]]]:
    """Every `kind` of estimand, with its shape; with several where kinds of models use one name for different things."""
    found: dict[str, list[type[Spec]]] = {}
    for estimands in (SHARED_ESTIMANDS, *(kind.estimands for kind in kinds)):
        for name, estimand in estimands.items():
            found.setdefault(name, []).append(estimand.spec)
    return found


def askable_of(own: Kind | None, kinds: Sequence[Kind]) -> Askable:
    """None is for a release of which nothing but the parameters is known."""
    known = {**SHARED_ESTIMANDS, **({} if own is None else own.estimands)}
    others = {name: [kind.name for kind in kinds if name in kind.estimands] for name in estimands_of(kinds)}
    return Askable(known, {name: " or ".join(names) for name, names in others.items() if name not in known})
