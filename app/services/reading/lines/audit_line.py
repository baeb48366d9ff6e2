"""The card's line about the gate that a release passed before it was charged. Releases of earlier versions have none."""

from collections.abc import Mapping
from typing import Any

_NO_PROOF = "It says nothing of other installations, and nothing of what anyone does with the rows elsewhere."


def audit_line(cost: Mapping[str, Any]) -> list[dict[str, Any]]:
    """From what was kept with the charge."""
    audit = cost.get("audit")
    if not isinstance(audit, Mapping):
        return []
    if audit["verdict"] == "certified":
        text = (
            "Before a row was read, exact laws of made-up neighbours were held against this charge, order by order: tables "
            "and the draw, or the numbers that noise is added to and its law, at the worst neighbours that were found. None "
            f"costs more than is charged. {_NO_PROOF}"
        )
        return [
            _line(dict(audit), "exact", f"{audit['pairs']} pairs of made-up neighbours; the code as it ran then", text)
        ]
    kappa = audit.get("detects")
    found = (
        ""
        if kappa is None
        else f"; one too low by {kappa:g} or more would have been found with probability .99, of randomised response"
    )
    text = (
        "No law of this sampler can be written down whole. Before a row was read, its draws on made-up neighbours were held "
        f"against this charge, and could not refute it{found}. That is no proof."
    )
    return [_line(dict(audit), "measured", "draws on one pair of made-up neighbours, at level 10⁻⁶", text)]


def _line(value: dict[str, Any], basis: str, assumption: str, text: str) -> dict[str, Any]:
    return {"name": "audit", "value": value, "basis": basis, "assumption": assumption, "text": text}
