"""Posteriors given noisy moments, one file a model."""
