"""One column in private groups: the number of rows of each is measured beside its sum."""
