"""Networks as blocks of Bernoulli splits: what one observation costs in a block, and draws of every block."""
