"""What the ledger writes down: one line for every change of an account, in one sequence over all accounts."""

from dataclasses import dataclass
from typing import Literal, get_args

from app.ledger.amounts import Amounts

EntryKind = Literal["open", "reserve", "commit", "void", "access", "cap", "recost"]
ENTRY_KINDS: tuple[EntryKind, ...] = get_args(EntryKind)
CHARGES: tuple[EntryKind, ...] = ("reserve", "access")
VERSION = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A sealed line: never changed, never deleted; an error is corrected by another line.

    `amounts` is signed (a void is the negative of its reservation, a recost of what a release cost too much; open, commit and
    cap move nothing), `totals`
    is the account's sum afterwards, `event` says in canonical JSON what happened, so that the cost can be
    recomputed. `previous` is the digest of the line before, whatever account that one belongs to.
    """

    sequence: int
    account: str
    kind: EntryKind
    release: str | None
    amounts: Amounts
    totals: Amounts
    event: str
    actor: str
    reason: str
    at_us: int
    previous: bytes
    digest: bytes
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Head:
    """The last line of the chain: its sequence and digest."""

    sequence: int
    digest: bytes
