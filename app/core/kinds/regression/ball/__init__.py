"""Posteriors restricted to a ball: exact draws and how often proposals are accepted."""
