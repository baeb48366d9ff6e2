"""A clinic's ten yes/no variables: a network with known probabilities, and two ways to make data of it.

The structure has the shape of small public networks (causes, a hidden-ish middle, symptoms and tests; at most two parents);
names and probabilities are made up. It was written down, with n, budget and rule of questioning, before any error was
computed. All probabilities lie inside the default trim [0.05, 0.95], as a steward's would who knows the field.

`simulated` follows the structure. `mixed_people` does not: three people in ten come from a second population whose odds are
e or 1/e times those of the first, variable by variable. Which one a person belongs to is not recorded, so every pair of
variables depends on each other in a way the network cannot express, and Postern's answers are biased.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds import parse_model
from app.core.kinds.networks.accuracy import simulated_rows
from app.core.kinds.networks.model import NetworkModel
from app.core.schema import parse_columns

Array = NDArray[np.float64]
Records = NDArray[np.int64]
Literal = tuple[int, bool]

TABLES: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = {
    "active": ((), (0.45,)),
    "aged": ((), (0.35,)),
    "smoker": ((), (0.25,)),
    "overweight": (("active",), (0.55, 0.30)),
    "diabetes": (("aged", "overweight"), (0.06, 0.15, 0.14, 0.28)),
    "hypertension": (("aged", "overweight"), (0.15, 0.30, 0.45, 0.65)),
    "heart": (("hypertension", "smoker"), (0.06, 0.14, 0.18, 0.35)),
    "ecg": (("heart",), (0.12, 0.70)),
    "pain": (("heart",), (0.10, 0.60)),
    "admitted": (("diabetes", "pain"), (0.08, 0.40, 0.15, 0.60)),
}
"""Parents, and P(true | parents) with the last parent fastest."""
SECOND_SHARE = 0.3
SECOND_LOG_ODDS = 1.0


def clinic_model() -> NetworkModel:
    """Through the parser of the service, with its default prior (uniform) and trim."""
    columns = parse_columns({name: {"type": "binary"} for name in TABLES})
    nodes = {name: {"parents": list(parents)} for name, (parents, _) in TABLES.items()}
    return parse_model({"family": "network", "nodes": nodes}, columns)


def true_tables(model: NetworkModel, shift: float = 0.0) -> Array:
    """Cells in the network's order; `shift` moves the log-odds of every other variable up and of the rest down."""
    cells = []
    for place, node in enumerate(model.network.nodes):
        yes = np.array(TABLES[node.name][1])
        odds = yes / (1 - yes) * np.exp(shift if place % 2 == 0 else -shift)
        yes = odds / (1 + odds)
        cells.append(np.stack([1 - yes, yes], axis=1).ravel())
    return np.concatenate(cells)


def joint_table(model: NetworkModel, cells: Array) -> Array:
    """(2,) * nodes: the product of every node's table."""
    network = model.network
    joint = np.ones((2,) * len(network.nodes))
    for i in range(len(network.nodes)):
        axes = (*network.parents(i), i)
        order = np.argsort(axes)
        shape = [2 if v in axes else 1 for v in range(len(network.nodes))]
        joint = joint * cells[network.cells(i)].reshape(network.shape(i)).transpose(order).reshape(shape)
    return joint


@dataclass(frozen=True, slots=True)
class People:
    """Rows of level indices, the law they were drawn from, and how many there are of each of the 2^nodes kinds."""

    records: Records
    law: Array
    counts: NDArray[np.int64]

    @property
    def size(self) -> int:
        return len(self.records)


def simulated(model: NetworkModel, people: int, generator: np.random.Generator) -> People:
    tables = true_tables(model)
    return _people(simulated_rows(model, tables, people, generator), joint_table(model, tables))


def mixed_people(model: NetworkModel, people: int, generator: np.random.Generator) -> People:
    first, second = true_tables(model), true_tables(model, SECOND_LOG_ODDS)
    hidden = generator.random(people) < SECOND_SHARE
    records = simulated_rows(model, first, people, generator)
    records[hidden] = simulated_rows(model, second, int(hidden.sum()), generator)
    law = (1 - SECOND_SHARE) * joint_table(model, first) + SECOND_SHARE * joint_table(model, second)
    return _people(records, law)


def _people(records: Records, law: Array) -> People:
    shape = law.shape
    place = np.ravel_multi_index(tuple(records.T), shape)
    return People(records, law, np.bincount(place, minlength=law.size).reshape(shape))


def mass(table: NDArray[np.generic], literals: tuple[Literal, ...]) -> float:
    """What the table holds where every literal (variable, level) is so."""
    chosen: list[int | slice] = [slice(None)] * table.ndim
    for variable, level in literals:
        chosen[variable] = int(level)
    return float(table[tuple(chosen)].sum())
