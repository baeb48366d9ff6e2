"""A release's cost as it is written into its row, and read back to the last bit."""

from collections.abc import Mapping
from typing import Any

from app.core.mechanisms import ReleaseCost
from app.core.privacy import ZERO_COST, Cost
from app.core.privacy.orders import ORDERS_VERSION
from app.errors import IntegrityFailure


def cost_to_json(cost: ReleaseCost) -> dict[str, Any]:
    if cost.per_sample.slack_delta or cost.once.slack_delta:
        raise IntegrityFailure("a cost with δ-slack has no stored form yet")
    return {
        "orders_version": ORDERS_VERSION,
        "pure": cost.per_sample.pure,
        "curve": list(cost.per_sample.curve),
        "once_pure": cost.once.pure,
        "once_curve": list(cost.once.curve),
        "samples": cost.samples,
        "kl_sup": cost.kl_sup,
        "papers_pure": cost.papers_pure,
        "method": cost.method,
        "grid_points": cost.grid_points,
    }


def cost_from_json(stored: Mapping[str, Any]) -> ReleaseCost:
    if stored["orders_version"] != ORDERS_VERSION:
        raise IntegrityFailure("this release was charged on another list of orders")
    return ReleaseCost(
        per_sample=Cost(stored["pure"], tuple(stored["curve"])),
        once=Cost(stored["once_pure"], tuple(stored["once_curve"])) if "once_pure" in stored else ZERO_COST,
        samples=stored["samples"],
        kl_sup=stored["kl_sup"],
        papers_pure=stored["papers_pure"],
        method=stored["method"],
        grid_points=stored["grid_points"],
    )
