"""What a release promises by the law of its own privacy loss, beside what its Rényi curve converts to."""
