"""The calibrated posterior p(θ|R) of a network's tables: what may be believed after seeing noisy counts of all of them."""
