"""Use cases, in a package for each noun whose `__init__` shows them. Each owns its transactions: charge first, read second,
return only what is on disk. Packages import downwards only: reading, releases, ledger and plans, datasets, people, runtime.
"""
