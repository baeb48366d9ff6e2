"""The parsed form: nodes in a flat list, arguments before the node that uses them, the root last.

Walking it is a loop, so neither checking nor evaluating can exhaust the interpreter's stack.
"""

from typing import NamedTuple


class Node(NamedTuple):
    """`operation` is a key of `OPERATIONS`, or "number" / "parameter" for the leaves.

    `arguments` index earlier nodes; `position` is where in the text to point when this node is refused.
    """

    operation: str
    position: int
    arguments: tuple[int, ...] = ()
    number: float = 0.0
    parameter: int = 0


Tree = tuple[Node, ...]
