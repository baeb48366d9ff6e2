"""Postern: private answers from a Bayesian posterior, served over HTTP."""

__version__ = "0.1.0"
