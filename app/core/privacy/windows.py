"""Posterior tables for many statistics at once, on the few grid points that carry them.

For records (t, m) the posterior is exp(τ(ηt − Am) + η·s − A·r) times a rest, with s, r ≥ 0 the prior's own records. The
first factor is log-concave in η (A is convex, τm + r > 0), so once it falls at both edges of a window it keeps falling
outside, and everything outside weighs at most K·exp(max rest)·factor(edge). That bound is returned and added by the
callers: a window too small shows as a large bound, never as a small cost.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import PublicGrid

Array = NDArray[np.float64]
Index = NDArray[np.int64]

UNIT_ROUNDOFF = 2.0**-53
WINDOW_FIRST = 32
_OUTSIDE_MAX = 1e-15


@dataclass(frozen=True, slots=True)
class Windows:
    """`columns[i]` are the grid points of row i, `log_p[i]` their log-probabilities given the window."""

    columns: Index
    log_p: Array


def posterior_windows(grid: PublicGrid, t: Array, m: Array, width: int) -> Windows:
    """Tables for the statistics (t[i], m[i]), m > 0, on the `width` points around each posterior's peak."""
    width = min(width, grid.size)
    power = grid.temperature
    peak = np.searchsorted(grid.mean, (power * t + grid.prior_sum) / (power * m + grid.prior_rows))
    first = np.clip(peak - width // 2, 0, grid.size - width)
    columns = first[:, None] + np.arange(width)
    anchor = np.clip(peak, 0, grid.size - 1)
    # Differences from the anchor first: the products then stay small and lose little.
    moved_eta = grid.eta[columns] - grid.eta[anchor][:, None]
    moved_partition = grid.partition[columns] - grid.partition[anchor][:, None]
    likelihood = grid.temperature * (moved_eta * t[:, None] - moved_partition * m[:, None])
    log_w = grid.log_prior[columns] + likelihood
    top = log_w.max(axis=1, keepdims=True)
    log_z = top + np.log(np.exp(log_w - top).sum(axis=1, keepdims=True))
    return Windows(columns, log_w - log_z)


def means_peaking_at(grid: PublicGrid, means: Array, rows: float) -> Array:
    """Mean statistics a row whose posteriors, prior included, peak at the given means."""
    weight = grid.temperature * rows
    return (means * (weight + grid.prior_rows) - grid.prior_sum) / weight


def window_width(grid: PublicGrid, t: Array, m: Array) -> int:
    """A window outside which the tables at some of the statistics (t, m) keep no weight that matters."""
    few = slice(None, None, max(1, len(t) // 512))
    width = WINDOW_FIRST
    while width < grid.size:
        windows = posterior_windows(grid, t[few], m[few], width)
        if outside_weight(grid, windows, np.zeros_like(windows.log_p)).max() < _OUTSIDE_MAX:
            break
        width += width // 2
    return width


def points_per_sd(grid: PublicGrid, rows: float) -> float:
    """How many grid points a posterior's sd covers, near the middle of a few dozen posteriors."""
    t = rows * means_peaking_at(grid, grid.mean[:: max(1, grid.size // 32)], rows)
    same = np.full(len(t), rows)
    windows = posterior_windows(grid, t, same, window_width(grid, t, same))
    p = np.exp(windows.log_p)
    place = windows.columns - (p * windows.columns).sum(axis=1, keepdims=True)
    return float(np.median(np.sqrt((p * place**2).sum(axis=1))))


def outside_weight(grid: PublicGrid, windows: Windows, tilt: Array) -> Array:
    """A bound on Σ_{outside} p·e^{tilt} relative to the window's mass; `tilt` belongs to the window's points.

    `tilt` is the change of log-likelihood when (t, m) moves to (t + δt, m + δm) with m + δm > 0, less its mean; the
    moved factor is log-concave as well, so the edge bounds what lies beyond it. Infinite where it still rises.
    """
    moved = (windows.log_p + tilt)[:, None, :]
    return beyond_edges(grid, windows.columns, moved, np.zeros((len(moved), 1)))[:, 0]


def beyond_edges(grid: PublicGrid, columns: Index, log_w: Array, log_z: Array) -> Array:
    """The same for several tables to a window: `log_w[i, j]` of mass e^{log_z[i, j]} on the points `columns[i]`."""
    bound = np.zeros(log_z.shape)
    top = grid.prior_rest.max()
    last = columns.shape[1] - 1
    for edge, inner, open_side in (
        (0, min(1, last), columns[:, 0] > 0),
        (last, max(last - 1, 0), columns[:, -1] < grid.size - 1),
    ):
        at_edge, at_inner = (log_w[:, :, i] - grid.prior_rest[columns[:, i]][:, None] for i in (edge, inner))
        with np.errstate(over="ignore"):
            beyond = grid.size * np.exp(top + at_edge - log_z)
        bound += np.where(open_side[:, None], np.where(at_edge > at_inner, np.inf, beyond), 0.0)
    return bound


def rounding_factor(grid: PublicGrid, t_max: float, m_max: float) -> float:
    """How far rounding of the log-weights can move a ratio of sums: exp(4·e), e the largest error of a log-weight."""
    size = t_max * np.abs(grid.eta).max() + m_max * np.abs(grid.partition).max() + np.abs(grid.log_prior).max()
    return float(np.exp(4 * 8 * UNIT_ROUNDOFF * (size + 64.0)))
