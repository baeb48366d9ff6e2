"""Row expressions as SQL over typed values: BOOLEAN, DOUBLE, text and DATE columns, by name.

Every number is a double and every operation one that IEEE 754 or the calendar defines, so that each engine gives what
`RowExpression.value` gives. Nothing in it can fail: sums, products and quotients stop at the limit, and what is missing is
NULL by one condition in front, because engines do not agree on what least, greatest and comparisons make of a NULL or a NaN.
Levels and dates are literals, and columns stand under names that this service chose: no text of a schema is ever SQL.

What engines write differently is a `Dialect`, also how a product or quotient gets to an infinity or to zero.
"""

from collections.abc import Mapping, Sequence

from app.core.language.climber import NEGATE
from app.core.schema import Column, RowExpression, RowFilter
from app.core.schema.rows.expression import DAYS, LIMIT, TRUTH_AS_NUMBER
from app.sources.cell_rules import CellRule
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK

_INFIX = {"==": "=", "!=": "<>", "and": "AND", "or": "OR"}
_LIMITED = frozenset("+-*/")


def filter_sql(rows: RowFilter | RowExpression, rules: Mapping[str, CellRule], dialect: Dialect = DUCK) -> str:
    """A condition on the scan that these rules are of; false, never NULL, where an input is missing."""
    condition = rows.condition if isinstance(rows, RowFilter) else rows
    values = {name: rules[name].term for name in condition.columns}
    return f"coalesce({row_sql(condition, values, dialect)}, false)"


def row_sql(expression: RowExpression, values: Mapping[str, str], dialect: Dialect = DUCK) -> str:
    """SQL of the value of each row, NULL where it is missing. `values` is SQL of the typed value of each column."""
    parts = _parts(expression, values, dialect)
    missing = [f"{values[name]} IS NULL" for name in expression.columns]
    missing += [f"{parts[place]} = 0" for place in expression.denominators]
    return f"CASE WHEN {' OR '.join(missing)} THEN NULL ELSE {parts[-1]} END"


def derived_sql(column: Column, values: Mapping[str, str], dialect: Dialect = DUCK) -> str:
    """Of a derived column; a bin is told by its level."""
    expression = column.derived
    assert expression is not None  # noqa: S101 - asked for derived columns only
    if expression.type != "bin":
        return row_sql(expression, values, dialect)
    *parts, _ = _parts(expression, values, dialect)
    binned = parts[expression.tree[-1].arguments[0]]
    missing = [f"{values[name]} IS NULL" for name in expression.columns]
    missing += [f"{parts[place]} = 0" for place in expression.denominators]
    steps = " ".join(
        f"WHEN {binned} < {dialect.number(cut)} THEN {dialect.text(level)}"
        for cut, level in zip(expression.cuts, column.levels, strict=False)
    )
    last = dialect.text(column.levels[len(expression.cuts)])
    return f"CASE WHEN {' OR '.join(missing)} THEN NULL {steps} ELSE {last} END"


def _parts(expression: RowExpression, values: Mapping[str, str], dialect: Dialect) -> list[str]:
    """SQL of every node, its arguments before it."""
    found: list[str] = []
    for node in expression.tree:
        arguments = [found[place] for place in node.arguments]
        if node.operation == "number":
            found.append(dialect.number(node.number))
        elif node.operation == "text":
            found.append(dialect.text(node.text))
        elif node.operation == "date":
            found.append(dialect.date(node.text))
        elif node.operation == "parameter":
            found.append(values[expression.columns[node.parameter]])
        else:
            found.append(_operation(node.operation, arguments, dialect))
    return found


def _operation(operation: str, arguments: Sequence[str], dialect: Dialect) -> str:
    if operation == "in":
        first, *others = arguments
        return f"({' OR '.join(f'{first} = {other}' for other in others)})"
    if operation == "bin":
        binned, *cuts = arguments
        return " + ".join(f"CASE WHEN {binned} >= {cut} THEN 1 ELSE 0 END" for cut in cuts)
    if operation in ("min", "max"):
        return f"{'least' if operation == 'min' else 'greatest'}({', '.join(arguments)})"
    if operation in ("abs", "floor"):
        return f"{operation}({arguments[0]})"
    if operation in ("year", "month", "day", "weekday"):
        return dialect.date_part(operation, arguments[0])
    if operation == DAYS:
        return dialect.days(*arguments)
    if operation == "where":
        condition, then, otherwise = arguments
        return f"CASE WHEN {condition} THEN {then} ELSE {otherwise} END"
    if operation == TRUTH_AS_NUMBER:
        return f"CASE WHEN {arguments[0]} THEN {dialect.number(1.0)} ELSE {dialect.number(0.0)} END"
    if operation in ("not", NEGATE):
        return f"({'NOT' if operation == 'not' else '-'} {arguments[0]})"
    left, right = arguments
    return _joined(operation, left, right, dialect)


def _joined(operation: str, left: str, right: str, dialect: Dialect) -> str:
    if operation == "/":
        right = f"CASE WHEN {right} = 0 THEN {dialect.number(1.0)} ELSE {right} END"
    written = {"*": dialect.times, "/": dialect.over}.get(operation)
    joined = written(left, right) if written else f"({left} {_INFIX.get(operation, operation)} {right})"
    if operation not in _LIMITED:
        return joined
    return f"least(greatest({joined}, {dialect.number(-LIMIT)}), {dialect.number(LIMIT)})"
