"""Words of the guarantee card about one column and one parameter."""

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.kind import CardWords


def papers_assumption(model: NaturalModel, unit_rows: int) -> str:
    assumption = f"2·N·τ·L·ρ with ρ = {unit_rows}, the rows a person may own; never charged"
    if model.papers_trials is None:
        assumption += "; they state no L for this family: the largest difference of two log-likelihoods is taken"
    return assumption


def records(model: NaturalModel, unit_rows: int) -> int:
    """Every (Σ T, rows) one person can have."""
    return unit_rows + model.statistic.steps * unit_rows * (unit_rows + 1) // 2


def assumes(model: NaturalModel, unit_rows: int) -> str | None:
    """One yes or no of each person has no shape to be wrong about."""
    if model.family == "bernoulli" and unit_rows == 1:
        return None
    return f"rows are independent draws of one {model.family.replace('_', ' ')} law"


def noisy(model: NaturalModel, unit_rows: int) -> str:
    """With several rows a person their number is private, and measured beside the sum."""
    return "one noisy number" if unit_rows == 1 else "two noisy numbers, a sum and the number of rows"


CARD = CardWords(papers_assumption, records, assumes, noisy)
