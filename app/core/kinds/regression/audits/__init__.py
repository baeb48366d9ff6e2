"""Audits of moments: worst neighbours, the law of the noise, draws from the ball."""
