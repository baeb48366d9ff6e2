"""Rows by groups: which level a cell is of, a statistic once a group, and how many people each public stratum has."""
