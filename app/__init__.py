"""Postern: private answers from a Bayesian posterior, served over HTTP."""

import os

# Before numpy is loaded. Matrices here are small, and workers share cores: BLAS threads that spin while they wait cost
# several times the work itself on a busy machine. Whoever wants more sets the variable.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"
