# Written by client/write_blocking.py: change awaiting/__init__.py and run `make format`.
"""The blocking client."""
