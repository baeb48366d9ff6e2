"""Vertices of the convex hull of integer points in the plane, exactly (Andrew's monotone chain)."""

from collections.abc import Iterable

Point = tuple[int, int]


def hull_vertices(points: Iterable[Point]) -> list[Point]:
    """Extreme points only: nothing inside, nothing in the middle of an edge. Works on a line and on one point."""
    ordered = sorted(set(points))
    if len(ordered) <= 2:
        return ordered
    return _chain(ordered)[:-1] + _chain(ordered[::-1])[:-1]


def _chain(ordered: list[Point]) -> list[Point]:
    kept: list[Point] = []
    for point in ordered:
        while len(kept) >= 2 and _turn(kept[-2], kept[-1], point) <= 0:
            kept.pop()
        kept.append(point)
    return kept


def _turn(a: Point, b: Point, c: Point) -> int:
    """Positive for a left turn a → b → c, zero on a line."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
