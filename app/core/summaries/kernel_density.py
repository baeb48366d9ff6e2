"""A smooth curve through a sample: a Gaussian kernel estimate that loses nothing over the public bounds.

Each sample's kernel is reflected at both bounds. With cells of width w that is a convolution of the counts, mirrored
at their ends, with a Gaussian: a product after a Fourier transform of period 2·(upper − lower). Its cost does not grow
with the number of samples beyond counting them, and the curve integrates to one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.parameters import Parameter
from app.core.summaries.histogram import histogram

CELLS_PER_POINT = 64
"""Samples are counted in this many cells a point before smoothing. No kernel is narrower than the distance of points, so a
sample moves by at most 1/128 of it."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class KernelDensity:
    """`y[i]` is the mean density over the i-th of equal cells, `x[i]` its middle: Σ y·cell = 1."""

    x: Array
    y: Array
    bandwidth: float


def kernel_density(parameter: Parameter, values: Array, points: int) -> KernelDensity:
    width = parameter.upper - parameter.lower
    bandwidth = min(max(bandwidth_of(values), width / points), width)
    fine = histogram(parameter, values, points * CELLS_PER_POINT).counts / len(values)
    smooth = _smoothed(fine, bandwidth / width)
    y = smooth.reshape(points, CELLS_PER_POINT).sum(axis=1) * (points / width)
    x = parameter.lower + width * ((np.arange(points) + 0.5) / points)
    return KernelDensity(x, y, bandwidth)


def bandwidth_of(values: Array) -> float:
    """0.9·min(sd, IQR/1.34)·k^(−1/5) (Silverman 1986, eq. 3.31), but never finer than the samples themselves.

    Samples of a grid pile up on its points; a kernel narrower than their distance would draw the grid instead of the
    posterior. At h = distance the ripple left is 2·exp(−2π²) < 10⁻⁸ of the curve. The distance is the median gap of
    neighbouring different values in the middle half of the sample.
    """
    size = len(values)
    if size < 2:
        return 0.0
    ordered = np.sort(values)
    low, high = ordered[size // 4], ordered[(3 * size) // 4]
    scale = float(ordered[-1] - ordered[0])
    if not scale > 0:
        return 0.0
    spread = scale * float(np.std((ordered - ordered[0]) / scale))
    middle = float(high - low) / 1.34
    rule: float = 0.9 * (min(spread, middle) if middle > 0 else spread) * float(size) ** -0.2
    gaps = np.diff(np.unique(ordered[(ordered >= low) & (ordered <= high)]))
    return max(rule, float(np.median(gaps)) if len(gaps) else 0.0)


def _smoothed(share: Array, bandwidth: float) -> Array:
    """Convolution with a reflected Gaussian of sd `bandwidth`, in units of the whole range.

    The mirrored shares have period 2, so frequency j turns by π·j over the range and is damped by exp(−(π·j·h)²/2).
    """
    mirrored = np.concatenate([share, share[::-1]])
    waves = np.fft.rfft(mirrored)
    damping = np.exp(-0.5 * (np.pi * np.arange(len(waves)) * bandwidth) ** 2)
    smooth: Array = np.fft.irfft(waves * damping, len(mirrored))[: len(share)]
    return np.maximum(smooth, 0.0)
