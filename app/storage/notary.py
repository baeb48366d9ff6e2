"""Signs the head this process leaves behind, and refuses to continue one that nobody vouches for.

Continuing is the dangerous moment: a forged chain that gets one honest line on top would carry an honest signature
from then on. So before every posting the head it continues is checked, by comparison with the last head found good
(the usual case), else by its signature; and it may not lie behind a head this process has seen.
"""

import secrets
from collections.abc import Callable

from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import LedgerUntrusted
from app.ledger.entry import Head
from app.ledger.signed_head import SignedHead
from app.ledger.trust import TrustFault
from app.storage.ledger_heads import StoredHead
from app.storage.signing_keys import Keys

OPTION = "postern_notary"


class Notary:
    """One a process. `seen` only ever holds heads read from committed snapshots."""

    def __init__(self, keys: Callable[[], Keys]) -> None:
        self._load = keys
        self.keys = keys()
        self.seen: SignedHead | None = None
        self.seen_acts = 0
        self.fault: TrustFault | None = None
        self.fault_acts = 0
        self.fault_accepted = 0
        self.suspicion: TrustFault | None = None
        self.pinned: frozenset[str] = frozenset()
        self._good: SignedHead | None = None

    def require_trust(self) -> None:
        """Raises LedgerUntrusted while a fault stands."""
        if self.fault is not None:
            raise untrusted(self.fault)

    def distrust(self, fault: TrustFault, *, acts: int, accepted: int) -> None:
        """`acts`: how many the database held then; `accepted`: the newest acceptance in force."""
        self.fault, self.fault_acts, self.fault_accepted = fault, acts, accepted

    def suspect(self, fault: TrustFault) -> None:
        """Found in the middle of a transaction, which ends with it. The watch makes it a fault within a second."""
        if self.fault is None:
            self.suspicion = fault

    def trust_again(self) -> None:
        """A head was accepted by hand: what was seen before it no longer counts."""
        self.fault, self.seen, self.suspicion = None, None, None

    def vouches(self, signed: SignedHead) -> bool:
        """True for the head last found good, or one with a valid signature; files are read again for a new key."""
        if signed == self._good:
            return True
        if signed.key_id not in self.keys.trusted:
            self.reload()
        if not self.keys.trusted.vouches(signed):
            return False
        self._good = signed
        return True

    def reload(self) -> None:
        """Another process may have changed the key files."""
        self.keys = self._load()

    def saw(self, signed: SignedHead, acts: int) -> None:
        """A committed head with a good signature, and how many acts there were then. Only forward."""
        if self.seen is None or signed.head.sequence > self.seen.head.sequence:
            self.seen, self.seen_acts = signed, acts

    def check_continues(self, stored: StoredHead) -> None:
        """Raises LedgerUntrusted unless the head may get another line."""
        self.require_trust()
        signed, seen = stored.signed, self.seen
        if signed is None:
            if seen is not None or self.pinned:
                raise untrusted(TrustFault("replaced", "the head lost its signature", 0))
            return
        if not self.vouches(signed):
            name = "replaced" if signed.key_id in self.keys.trusted else "unknown_key"
            raise untrusted(TrustFault(name, "the head has no valid signature", 0))
        if seen is not None and signed.ledger != seen.ledger:
            raise untrusted(TrustFault("replaced", f"this was ledger {seen.ledger}, not {signed.ledger}", 0))
        if seen is not None and signed.head.sequence < seen.head.sequence:
            detail = f"the database went back from line {seen.head.sequence} to {signed.head.sequence}"
            raise untrusted(TrustFault("rolled_back", detail, signed.head.sequence))

    def sign(self, before: StoredHead, head: Head, at_us: int) -> SignedHead:
        """The new head, under the ledger's id; a ledger without lines gets its id here."""
        ledger = new_ledger_id() if before.signed is None else before.signed.ledger
        signed = self.keys.signing.sign_head(ledger, head, at_us)
        self._good = signed
        return signed


def untrusted(fault: TrustFault) -> LedgerUntrusted:
    return LedgerUntrusted(
        f"the ledger cannot be trusted ({fault.name}: {fault.detail}); {fault.advice}",
        fault=fault.name,
        trusted_sequence=fault.trusted,
    )


def notary_of(connection: AsyncConnection) -> Notary | None:
    """The notary of the process that opened this connection's database, if it has one."""
    opened = connection.sync_connection
    found: Notary | None = None if opened is None else opened.get_execution_options().get(OPTION)
    return found


def new_ledger_id() -> str:
    return f"led_{secrets.token_hex(16)}"
