"""What goes with every table and file: which samples these are, what was promised about them, and where it was charged.

    version        2
    release        its id, and the id of its dataset
    view           `samples`, or `calibrated`
    samples        k: these are the first k draws, or what may be believed given them
    parts          of several models only: k of each part that was read; joint draws are as many as the fewest
    points         how many points the belief has; null in the view `samples`
    parameters     the columns, in order
    values_sha256  of the matrix of doubles, a draw or a point a row, little-endian
    card_sha256    `digest` of the guarantee card
    ledger         the line at which the charge became final: ledger, sequence number, digest

A receipt is a function of the first k samples, of what was measured and of public numbers. It is no signature: whoever
changes a file can change its receipt, but not so that it agrees with the card and the ledger that others hold.
"""

import asyncio
import hmac
from dataclasses import dataclass, field
from typing import Any

from app.errors import IntegrityFailure
from app.ledger.canonical import canonical_json
from app.services.principals import Reader
from app.services.reading.exports.draws import Draws
from app.services.reading.read_card import build_card
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import ENTRY_OVERHEAD_BYTES, PublicRelease, Receipt
from app.storage import datasets, installation, ledger_heads, releases

RECEIPT_VERSION = 2
OFF_LOOP_VALUES = 20_000
_BYTES_PER_NAME = 80
_TAGS = b"tags\0"


@dataclass(frozen=True, slots=True)
class Provenance:
    """What is the same for every receipt of a release."""

    dataset: str
    card_sha256: str
    ledger: dict[str, Any]
    secret: bytes = field(repr=False)


async def receipt_for(runtime: Runtime, reader: Reader, release: PublicRelease, draws: Draws) -> Receipt:
    """Remembered by release, prefix, view and parameters: a file asked for again is not hashed again. Raises TooBusy.

    Only one reader's own requests share a flight, because it stands in that reader's line: nobody waits in another's.
    """
    memo = ("receipt", *release.key, draws.indices)
    known = runtime.warm.receipts.get(memo)
    if known is None:
        flight = (*memo, reader.id)
        known = await runtime.warm.flights.do(flight, lambda: _write(runtime, reader, release, draws))
        size = ENTRY_OVERHEAD_BYTES + _BYTES_PER_NAME * draws.width
        runtime.warm.receipts.put(memo, known, size)
    return known


async def _write(runtime: Runtime, reader: Reader, release: PublicRelease, draws: Draws) -> Receipt:
    provenance = await _provenance(runtime, release.id)
    if draws.size * draws.width < OFF_LOOP_VALUES:
        return _filled(provenance, release, draws)
    with runtime.answers.line(reader.id) as line:
        return await line.in_thread(_filled, provenance, release, draws)


def _filled(provenance: Provenance, release: PublicRelease, draws: Draws) -> Receipt:
    fields = {
        "version": RECEIPT_VERSION,
        "release": release.id,
        "dataset": provenance.dataset,
        "view": release.view,
        "samples": release.evidence,
        **({} if release.parts is None else {"parts": release.parts}),
        "points": release.points,
        "parameters": draws.names,
        "values_sha256": draws.digest(),
        "card_sha256": provenance.card_sha256,
        "ledger": provenance.ledger,
    }
    return Receipt(fields, hmac.digest(provenance.secret, _TAGS + canonical_json(fields).encode(), "sha256"))


async def _provenance(runtime: Runtime, release_id: str) -> Provenance:
    """Raises IntegrityFailure if a published release has no final charge."""
    async with runtime.database.read() as connection:
        release = await releases.get_release(connection, release_id)
        dataset = None if release is None else await datasets.get_dataset(connection, release.dataset_id)
        sequence = await ledger_heads.committed_at(connection, release_id)
        found = {} if sequence is None else await ledger_heads.digests_at(connection, [sequence])
        signed = (await ledger_heads.read_stored(connection)).signed
        secret = await installation.get_secret(connection, installation.CACHE)
    if release is None or dataset is None or sequence is None or sequence not in found:
        raise IntegrityFailure("a published release without its charge")
    card = await asyncio.to_thread(build_card, release, dataset, runtime.settings.epsilon_max)
    line = {"id": None if signed is None else signed.ledger, "sequence": sequence, "digest": found[sequence].hex()}
    return Provenance(dataset.id, str(card["digest"]), line, secret)
