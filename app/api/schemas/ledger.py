"""Ledger entries, the head of the chain and its verification."""

from typing import Any

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Answer, Count, PageOf, Time

_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
ENTRY: JsonDict = {
    "sequence": 7,
    "account": "dataset:ds_4kq2mz7w5x3ahgnd",
    "kind": "reserve",
    "release": "rel_p5n6t2dy4hgakq2m",
    "epsilon_pure_nano": 588900000000,
    "renyi_nano": 410000000,
    "actor": "an_2b6jm7v3c5qkz4wx",
    "reason": "release",
    "event": {"mechanism": "baps", "samples": 100},
    "at": "2026-03-01T09:30:00.000000Z",
    "previous": "0" * 64,
    "digest": _DIGEST,
}


class LedgerEntry(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [ENTRY]})

    sequence: Count
    account: str
    kind: str
    release: str | None
    epsilon_pure_nano: int | None = Field(description="Pure ε in 10⁻⁹ nats; null if unbounded.")
    renyi_nano: int = Field(description="Rényi cost at the account's order, in 10⁻⁹ nats.")
    actor: str
    reason: str
    event: dict[str, Any]
    at: Time = Field(validation_alias="at_us")
    previous: str
    digest: str


class LedgerPage(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [ENTRY], "next_cursor": None}]})

    items: list[LedgerEntry]


HEAD: JsonDict = {
    "sequence": 7,
    "digest": _DIGEST,
    "at": "2026-03-01T09:30:00.000000Z",
    "ledger": "led_1f0c8a54d6f94c0b8f3d7a2e5b6c9d10",
    "algorithm": "ed25519",
    "key_id": "5f1d3a0c9b7e2468",
    "public_key": "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29",
    "signature": "0" * 128,
}


class LedgerHead(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [HEAD]})

    sequence: Count
    digest: str
    at: Time | None = Field(validation_alias="at_us", description="When it was signed.")
    ledger: str | None = Field(description="The ledger's own id: heads of two installations never mix.")
    algorithm: str | None
    key_id: str | None
    public_key: str | None = Field(description="Hexadecimal; null if this service does not trust the key.")
    signature: str | None = Field(description="Hexadecimal, over the statement in docs/ledger.md; null if unsigned.")


class LedgerFault(Answer):
    name: str = Field(description="edited, deleted, inserted, reordered, truncated, replaced, rolled_back, …")
    sequence: int | None
    detail: str
    advice: str


class Verification(Answer):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "ok": True,
                    "entries": 7,
                    "head": _DIGEST,
                    "first_bad_sequence": None,
                    "reason": None,
                    "signature": "valid",
                    "key_id": "5f1d3a0c9b7e2468",
                    "faults": [],
                }
            ]
        }
    )

    ok: bool
    entries: Count
    head: str
    first_bad_sequence: int | None
    reason: str | None = Field(description="The name of the first fault.")
    signature: str = Field(description="valid, invalid or none.")
    key_id: str | None
    faults: list[LedgerFault]
