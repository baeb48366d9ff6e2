"""Audits of networks: worst neighbours, exact laws, draws."""
