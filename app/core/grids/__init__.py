"""Posteriors on public finite grids: exponential families, named priors, tables of integers and draws from them."""
