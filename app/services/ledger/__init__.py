"""Accounts and ledger: read, verified, watched, exported, and accepted again by a person."""

from app.services.ledger.accept_head import accept_head
from app.services.ledger.export_ledger import export_ledger
from app.services.ledger.read_ledger import read_head, read_ledger, read_population_ledger
from app.services.ledger.recost_ledger import apply_recost, recost_ledger
from app.services.ledger.recover import recover_on_start
from app.services.ledger.rotate_signing_key import rotate_signing_key
from app.services.ledger.verify_ledger import verify_ledger
from app.services.ledger.watch_ledger import check_ledger_on_start, keep_last_head, watch_ledger

__all__ = [
    "accept_head",
    "apply_recost",
    "check_ledger_on_start",
    "export_ledger",
    "keep_last_head",
    "read_head",
    "read_ledger",
    "read_population_ledger",
    "recost_ledger",
    "recover_on_start",
    "rotate_signing_key",
    "verify_ledger",
    "watch_ledger",
]
