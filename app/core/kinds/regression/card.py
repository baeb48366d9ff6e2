"""Words of the guarantee card about a regression."""

from app.core.kinds.kind import CardWords
from app.core.kinds.regression.mechanisms import RegressionModel
from app.core.kinds.regression.model import LinearModel


def papers_assumption(model: RegressionModel, unit_rows: int) -> str:
    if isinstance(model, LinearModel):
        return (
            "2·N·τ·L with the papers' L(w) = n·(1 + 2‖w‖₁ + d·‖w‖₂)/(2σ²) at its largest on the ball, columns scaled, for "
            "exact draws and one row; its factor n is theirs; never charged"
        )
    return (
        "2·N·τ·L for exact draws; the papers state no L for this family: the steepest log-likelihood times the largest "
        "distance of two records is taken; never charged"
    )


def records(model: RegressionModel, unit_rows: int) -> None:
    """More than are worth counting: features are numbers."""
    return


def assumes(model: RegressionModel, unit_rows: int) -> str:
    if isinstance(model, LinearModel):
        return "the response is linear in the features, with independent normal errors of the declared deviation"
    return f"rows are independent draws of one {model.family.replace('_', ' ')} law"


def noisy(model: RegressionModel, unit_rows: int) -> str:
    return "noisy numbers"


CARD = CardWords(papers_assumption, records, assumes, noisy)
