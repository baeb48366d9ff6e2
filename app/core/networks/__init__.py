"""Discrete Bayesian networks: structure, privacy costs of their blocks, and questions by elimination (PRIVACY §4)."""
