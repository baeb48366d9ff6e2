"""Statistics that arrive without rows: sealed where the data lives, to a key of this service, and opened by its worker alone."""
