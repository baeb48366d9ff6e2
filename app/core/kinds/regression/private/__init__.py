"""Regressions in private groups: noisy moments of every group, and its noisy number of rows beside them."""
