"""The card's line about people who are in several datasets: what holds for all of them together."""

from typing import Any

from app.ledger.account import Account
from app.services.budgets import guarantee_epsilon

UNTRACKED = "The same people in another dataset are not tracked: their losses add up."


def population_line(name: str, account: Account) -> dict[str, Any]:
    """`account` is the population's. Everyone with a right to the release sees its name and budget."""
    holds = guarantee_epsilon(account)
    within = "nothing finite" if holds is None else f"ε = {holds:g}"
    text = (
        f"The people of this dataset are also in others, all of the population {name!r}. Every release of any of these datasets, "
        f"past and future, is charged to one account too: together they are kept within {within} at δ = {account.delta:g}, for "
        "whoever sees all of them."
    )
    return {
        "name": "population",
        "value": {"id": account.id, "name": name, "epsilon": holds, "delta": account.delta},
        "basis": "certified",
        "assumption": "one person's data replaced in every dataset of the population at once; presence and numbers of people "
        "are public; releases chosen one after the other, each after seeing the last",
        "text": text,
    }


def untracked(population: str | None) -> str:
    """What is not promised about the same people elsewhere."""
    if population is None:
        return UNTRACKED
    return f"The same people in a dataset outside the population {population!r} are not tracked: their losses add up."
