"""Testing a claim of privacy: what samples can refute, and what only exact laws can certify (docs/audits.md).

Numbers follow Part IV of Gilbert's thesis (seed 004), corrected where it slips. Nothing here ever says "verified": samples
refute or do not, and `certified` is said of laws that were written down whole.
"""
