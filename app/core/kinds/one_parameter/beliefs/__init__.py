"""The calibrated posterior p(θ|R) of one parameter: what may be believed after seeing what a mechanism published."""
