"""Which blocks a network has, up to shape: blocks of the same shape cost the same."""

from app.core.kinds.networks.blocks.block_grid import BlockShape, block_grid
from app.core.kinds.networks.blocks.block_terms import moves
from app.core.kinds.networks.grouped_totals import ROWS_MAX as GROUPED_ROWS_MAX
from app.core.kinds.networks.grouped_totals import sole_parents
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.several_rows import UNIT_ROWS_PLACED_MAX
from app.core.kinds.networks.splits import deepest
from app.errors import InvalidMechanism

DETAILED_SHAPES_MAX = 48
"""Different blocks whose costs are certified one by one, a tenth of a second each; any more are charged by their range. With
several rows a person each has more moves to certify, and fewer are."""


def block_shapes(model: NetworkModel, rows: int, unit_rows: int, temperature: float) -> list[BlockShape]:
    """The different shapes among all blocks, which are far fewer than the blocks; those of most nodes first.

    Raises InvalidMechanism where a prior is pooled: blocks are drawn, and charged, each by its own prior.
    """
    if model.pooled:
        raise InvalidMechanism(
            "mechanism.kind", "laplace, gaussian or fourier, where a prior is pooled: draws are block by block"
        )
    found: dict[BlockShape, int] = {}
    for i in range(len(model.network.nodes)):
        for shape in node_shapes(model, i, rows, unit_rows, temperature):
            found[shape] = found.get(shape, 0) + 1
    return sorted(found, key=lambda shape: -found[shape])


def detailed_shapes(model: NetworkModel, people: int, unit_rows: int, temperature: float) -> list[BlockShape]:
    """All shapes; of those whose rows are charged by their range alone, as they are for one row a person."""
    counted = unit_rows if unit_rows <= UNIT_ROWS_PLACED_MAX else 1
    return block_shapes(model, people * unit_rows, counted, temperature)


def grouped_shapes(model: NetworkModel, rows: int, unit_rows: int, temperature: float) -> set[BlockShape]:
    """Those of which figures by the total of counts are of use."""
    if unit_rows > 1 or rows > GROUPED_ROWS_MAX:
        return set()
    return {node_shapes(model, i, rows, unit_rows, temperature)[0] for i in sole_parents(model)}


def node_shapes(model: NetworkModel, i: int, rows: int, unit_rows: int, temperature: float) -> list[BlockShape]:
    """Of every split of node i. All rows fall in the first split of a node without parents."""
    full = not model.network.nodes[i].parents
    return [
        BlockShape(*model.split_prior(i, split), model.trim, rows, temperature, full and at == 0, unit_rows)
        for at, split in enumerate(model.node_splits(i))
    ]


def certified_shapes(shapes: list[BlockShape]) -> int:
    """How many of them, from the first on."""
    return max(4, DETAILED_SHAPES_MAX * len(moves(1)) // len(moves(shapes[0].unit_rows)))


def largest_grid(model: NetworkModel, people: int, unit_rows: int, temperature: float) -> int:
    """Points of the largest grid among those that are certified."""
    shapes = detailed_shapes(model, people, unit_rows, temperature)
    return max(block_grid(shape).size for shape in shapes[: certified_shapes(shapes)])


def touched_blocks(model: NetworkModel, unit_rows: int) -> int:
    """At most so many differ between neighbours."""
    return 2 * unit_rows * sum(deepest(model.node_splits(i)) for i in range(len(model.network.nodes)))
