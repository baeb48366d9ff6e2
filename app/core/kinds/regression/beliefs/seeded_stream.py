"""Random numbers from public names: the same for ever, on every worker. No library's generator may change under a release."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from app.core.numerics.normals import standard_normals

Array = NDArray[np.float64]


class SeededStream:
    """SHAKE-256 of the seed and how often it was asked."""

    def __init__(self, seed: bytes) -> None:
        self._seed, self._asked = hashlib.sha256(seed).digest(), 0

    def bytes(self, count: int) -> bytes:
        self._asked += 1
        return hashlib.shake_256(self._seed + self._asked.to_bytes(8, "little")).digest(count)

    def normals(self, *shape: int) -> Array:
        return standard_normals(shape, self.bytes)

    def uniforms(self, count: int) -> Array:
        """In (0, 1)."""
        words = np.frombuffer(self.bytes(8 * count), dtype="<u8")
        return np.asarray(((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53)
