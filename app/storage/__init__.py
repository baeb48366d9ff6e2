"""SQLite or PostgreSQL through one set of statements, and the cache beside it. The database is the truth."""
