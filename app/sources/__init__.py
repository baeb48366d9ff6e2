"""Rows → exact integer statistics. Rows stay inside the engine; only counts and sums come out."""
