"""Joint draws, or points of a belief, as a file. Nothing in it depends on more than the reader has a right to."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from app import __version__
from app.core.decisions import CALIBRATED, SAMPLES, View
from app.services.principals import Reader
from app.services.reading.built_files import file_stem
from app.services.reading.exports import FORMATS
from app.services.reading.exports.draws import Draws, choose
from app.services.reading.exports.format import ExportFormat
from app.services.reading.published_release import open_release
from app.services.reading.receipts import receipt_for
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import TAG_LENGTH, PublicRelease, Receipt


@dataclass(frozen=True, slots=True)
class Export:
    """What would be sent, known before it is built. `etag` is strong: it names all that the bytes depend on."""

    release: PublicRelease
    reader: Reader
    format: ExportFormat[Draws]
    draws: Draws = field(repr=False)
    receipt: Receipt = field(repr=False)
    etag: str

    @property
    def values(self) -> int:
        return self.draws.size * self.draws.width

    def write(self, file: BinaryIO) -> None:
        self.format.write(self.draws, self.receipt.fields, file)

    @property
    def filename(self) -> str:
        view = f"-{CALIBRATED}" if self.release.view == CALIBRATED else ""
        return f"{file_stem(self.release)}{view}.{self.format.suffix}"


async def describe_export(
    runtime: Runtime,
    *,
    reader: Reader,
    release_id: str,
    name: str,
    parameters: Sequence[str],
    view: View = SAMPLES,
    part: str | None = None,
) -> Export:
    """Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired, CalibratedUnavailable, InvalidInput, NotAcceptable,
    TooBusy."""
    release = await open_release(runtime, reader, release_id, view, part, [*parameters])
    chosen = FORMATS[name]
    chosen.require()
    draws = choose(release.samples, parameters)
    receipt = await receipt_for(runtime, reader, release.public, draws)
    described = f"postern/{__version__} {chosen.made_with()}"
    etag = hmac.digest(receipt.mark, described.encode(), "sha256").hex()[:TAG_LENGTH]
    return Export(release.public, reader, chosen, draws, receipt, etag)
