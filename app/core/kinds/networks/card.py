"""Words of the guarantee card about a network."""

import math

from app.core.kinds.kind import CardWords
from app.core.kinds.networks.model import NetworkModel

RECORDS_MAX = 10**15


def papers_assumption(model: NetworkModel, unit_rows: int) -> str:
    return "2·N·τ·ln(1/ω) as the papers quote it for a network: it covers a change of one attribute only"


def records(model: NetworkModel, unit_rows: int) -> int | None:
    """Every combination of levels, in every number of rows; None if there are too many. None of them may meet a condition."""
    one, least = math.prod(len(node.levels) for node in model.network.nodes), 1 if model.within is None else 0
    values = sum(one**k for k in range(least, unit_rows + 1)) if one**unit_rows < RECORDS_MAX else RECORDS_MAX
    return values if values < RECORDS_MAX else None


def assumes(model: NetworkModel, unit_rows: int) -> str:
    return "rows are independent, and a variable depends on those before it through its parents alone"


def noisy(model: NetworkModel, unit_rows: int) -> str:
    return "noisy numbers"


CARD = CardWords(papers_assumption, records, assumes, noisy)
