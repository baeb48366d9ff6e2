"""The language of questions, on rows: conditions and numbers made of the columns of one record.

Total and per record: a value follows from the cells of its own row and from nothing else, and where it has none (an input is
missing, a division by zero) it is missing. The operations are those that IEEE 754 and the calendar define to the last digit, so
that every engine gives the same: no exp, log or powers. `grammar.py` reads and types a text, `expression.py` is what it becomes
and its meaning in Python, `filters.py` what a `where` is made of; SQL is written where engines are (`app/sources/row_sql.py`).
"""
