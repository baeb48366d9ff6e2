"""How large an expression may be. All limits are public and do not depend on samples."""

from app.errors import InvalidExpression

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
