"""Audits of one column: worst neighbours, exact laws, draws."""
