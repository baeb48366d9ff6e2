"""Use cases, one a file. Each owns its transactions: charge first, read second, return only what is on disk."""
