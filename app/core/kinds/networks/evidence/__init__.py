"""Questions to a network by variable elimination, over all samples at once."""
