"""A background pass that survives the process: put down every so many lines, taken up by whoever starts next."""

import asyncio
import contextlib

from app.ledger.pass_state import decode_pass, encode_pass
from app.ledger.verification import Verifier
from app.services.runtime.runtime import Runtime
from app.storage.ledger_heads import digests_at, read_stored

PUT_DOWN = 20_000
"""Lines before a pass is first put down: a few seconds of work, most of a minute at the background's pace."""
GROWTH = 1.25
"""The state grows with the lines, so the distance does too: all that is written stays a few times the last."""
KEPT_S = 6 * 3600.0
"""What was verified longer ago is verified again. Counted from the pass's first line, however often it was taken up since."""


class HalfPass:
    """Its file is a convenience: without it, or with one that is not believed, the pass begins at the first line."""

    def __init__(self, runtime: Runtime, lines: int) -> None:
        self._runtime, self._next = runtime, lines
        self._ledger: str | None = None
        self._begun_us = runtime.clock()

    async def taken_up(self) -> Verifier | None:
        """Where the last one stopped, if this installation signed it lately and the line it reached is still there."""
        runtime = self._runtime
        async with runtime.database.read() as connection:
            signed = (await read_stored(connection)).signed
        if signed is None:
            return None
        self._ledger = signed.ledger
        found = await asyncio.to_thread(runtime.witnesses.disk.half_pass, signed.ledger)
        if found is None or not runtime.notary.keys.trusted.vouches_for_pass(*found):
            return None
        if not 0 <= runtime.clock() - found[0].at_us <= KEPT_S * 1e6:
            return None
        verifier = await asyncio.to_thread(decode_pass, found[1])
        if verifier is None:
            return None
        head = verifier.result().head
        async with runtime.database.read() as connection:
            there = await digests_at(connection, [head.sequence])
        if there.get(head.sequence) != head.digest:
            return None
        self._next = max(self._next, int(head.sequence * GROWTH))
        self._begun_us = found[0].at_us
        return verifier

    async def put_down(self, verifier: Verifier) -> None:
        sequence = verifier.result().head.sequence
        if self._ledger is None or sequence < self._next:
            return
        self._next = max(sequence + 1, int(sequence * GROWTH))
        with contextlib.suppress(OSError):
            await asyncio.to_thread(self._keep, self._ledger, verifier)

    async def forget(self) -> None:
        if self._ledger is not None:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(self._runtime.witnesses.disk.drop_half_pass, self._ledger)

    def _keep(self, ledger: str, verifier: Verifier) -> None:
        body = encode_pass(verifier)
        signed = self._runtime.notary.keys.signing.sign_pass(ledger, body, self._begun_us)
        self._runtime.witnesses.disk.keep_half_pass(signed, body)
