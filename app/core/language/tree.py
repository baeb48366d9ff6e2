"""The parsed form: nodes in a flat list, arguments before the node that uses them, the root last.

Walking it is a loop, so neither checking nor evaluating can exhaust the interpreter's stack. How large an expression may be
is public and does not depend on samples.
"""

from typing import NamedTuple

from app.errors import InvalidExpression


class Node(NamedTuple):
    """`operation` is that of an operator or function, or "number", "parameter" (of a row, the column of that index) or "text" for
    the leaves.

    `arguments` index earlier nodes; `position` is where in the text to point when this node is refused.
    """

    operation: str
    position: int
    arguments: tuple[int, ...] = ()
    number: float = 0.0
    parameter: int = 0
    text: str = ""


Tree = tuple[Node, ...]


TEXT_LENGTH_MAX = 1_000
DEPTH_MAX = 32
NODES_MAX = 200
OPERATIONS_MAX = 50_000_000
MAGNITUDE_MAX = 1e150


def check_work(field: str, nodes: int, samples: int) -> None:
    """Refuses nodes × samples above the limit; both are public."""
    if nodes * samples > OPERATIONS_MAX:
        allowed = OPERATIONS_MAX // samples
        expected = f"at most {allowed} operations over {samples} samples, not {nodes}"
        raise InvalidExpression(field, expected, 0)
