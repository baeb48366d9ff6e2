"""A release's row read back: its cost to the last bit, its model and mechanism parsed again from the dataset's public schema."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from app.core.audits.verdict import Findings
from app.core.kinds import (
    CURRENT_LAW,
    FitCheck,
    ReleaseMechanism,
    ReleaseModel,
    check_parsed,
    drawn_by,
    parse_check,
    parse_mechanism,
    parse_model,
)
from app.core.kinds.fit_check import AnyCheck
from app.core.privacy import ZERO_COST, Cost
from app.core.privacy.cost import ORDERS_VERSION
from app.core.privacy.losses.known import KnownLosses, figures_of
from app.core.privacy.release_cost import ReleaseCost
from app.core.schema import parse_columns
from app.errors import IntegrityFailure
from app.storage.datasets import Dataset
from app.storage.releases import Release


def cost_to_json(cost: ReleaseCost, law: int = CURRENT_LAW) -> dict[str, Any]:
    """What has no finite bound is written as null. `law` is here because no update may touch this column."""
    return {
        "law": law,
        "gaussian": cost.gaussian,
        "orders_version": ORDERS_VERSION,
        "pure": _stored(cost.per_sample.pure),
        "curve": [_stored(value) for value in cost.per_sample.curve],
        "slack_delta": cost.per_sample.slack_delta,
        "once_pure": _stored(cost.once.pure),
        "once_curve": [_stored(value) for value in cost.once.curve],
        "once_slack_delta": cost.once.slack_delta,
        "samples": cost.samples,
        "kl_sup": cost.kl_sup,
        "papers_pure": _stored(cost.papers_pure),
        "method": cost.method,
        "grid_points": cost.grid_points,
        "alone": [list(figure) for figure in figures_of(cost.per_sample)],
        "once_alone": [list(figure) for figure in figures_of(cost.once)],
    } | ({"parts": [cost_to_json(part, law) for part in cost.parts]} if cost.parts else {})


def audit_to_json(found: Findings) -> dict[str, Any]:
    """Of the gate that the release passed before it was charged: from public numbers, and kept with the charge for good."""
    pairs = sum(len(each.pairs) for each in found.certificates)
    return {"verdict": found.verdict, "certificates": [each.name for each in found.certificates], "pairs": pairs} | (
        {} if found.detects is None else {"detects": round(found.detects, 3)}
    )


def cost_from_json(stored: Mapping[str, Any]) -> ReleaseCost:
    if stored["orders_version"] != ORDERS_VERSION:
        raise IntegrityFailure("this release was charged on another list of orders")
    gaussian = bool(stored.get("gaussian", False))
    return ReleaseCost(
        per_sample=_cost(
            stored["pure"], stored["curve"], stored.get("slack_delta", 0.0), gaussian, stored.get("alone")
        ),
        once=_cost(
            stored["once_pure"],
            stored["once_curve"],
            stored.get("once_slack_delta", 0.0),
            gaussian,
            stored.get("once_alone"),
        )
        if "once_pure" in stored
        else ZERO_COST,
        samples=stored["samples"],
        kl_sup=stored["kl_sup"],
        papers_pure=_read(stored["papers_pure"]),
        method=stored["method"],
        grid_points=stored["grid_points"],
        parts=tuple(cost_from_json(part) for part in stored.get("parts", ())),
    )


def _cost(
    pure: float | None,
    curve: Sequence[float | None],
    slack_delta: float,
    gaussian: bool,
    alone: Sequence[Sequence[float]] | None,
) -> Cost:
    """Rows of earlier versions have no figures of their losses alone."""
    nothing = pure == 0 and not any(curve) and not slack_delta
    losses = KnownLosses(tuple((int(draws), delta, epsilon) for draws, delta, epsilon in alone)) if alone else None
    return Cost(_read(pure), tuple(_read(value) for value in curve), slack_delta, gaussian or nothing, losses)


def _stored(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _read(value: float | None) -> float:
    return math.inf if value is None else value


def stored_model(release: Release, dataset: Dataset) -> ReleaseModel:
    return parse_model(release.model, parse_columns(dataset.columns, stored=True))


def stored_law(release: Release) -> int:
    """The law it was charged under; rows from before there were two do not name it."""
    return int(release.cost.get("law", 1))


def stored_mechanism(release: Release, model: ReleaseModel) -> ReleaseMechanism:
    """As it was charged: a release that waited while the service was updated is drawn by the law it waited with."""
    return drawn_by(stored_law(release), parse_mechanism(release.mechanism, model))


def stored_check(release: Release, model: ReleaseModel) -> FitCheck | None:
    """The check of fit that was paid for with a release of one model, or with a part, if any."""
    return parse_check(release.fit_check, model)


def stored_checks(release: Release, model: ReleaseModel) -> AnyCheck | None:
    """All that were paid for with it."""
    return check_parsed(release.fit_check, model)
