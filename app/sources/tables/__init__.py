"""Rows in a SQL engine elsewhere: a session that shows one snapshot, and the statements of this service in its dialect."""
