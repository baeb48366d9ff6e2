"""The rules of privacy accounts and of the hash chain; pure, without clock, randomness or I/O."""
