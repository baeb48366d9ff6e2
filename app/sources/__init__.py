"""Rows → exact integer statistics. Rows stay inside the engine; only counts come out."""
