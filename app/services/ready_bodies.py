"""Answers that are kept as bytes, with their tag and their compressed form, so that a warm one is only sent."""

import gzip
import hmac

from app.services.warm_memory import ENTRY_OVERHEAD_BYTES, ReadyBody, Receipt

COMPRESS_BYTES_MIN = 1024
"""Shorter answers fit a packet as they are."""
LEVEL = 6
TAG_LENGTH = 32


def ready_body(body: bytes, receipt: Receipt) -> ReadyBody:
    """The tag hashes the bytes under the receipt's secret mark: tags end in the logs of proxies, where bodies do not."""
    etag = hmac.digest(receipt.mark, body, "sha256").hex()[:TAG_LENGTH]
    if len(body) <= COMPRESS_BYTES_MIN:
        return ReadyBody(body, etag)
    gzipped = gzip.compress(body, LEVEL, mtime=0)
    return ReadyBody(body, etag, gzipped if len(gzipped) < len(body) else None)


def size_of(ready: ReadyBody) -> int:
    return len(ready.body) + len(ready.gzipped or b"") + ENTRY_OVERHEAD_BYTES
