"""Columns that are computed from others when rows are read: what the text of `from` must give for the type of the column."""

from collections.abc import Mapping
from dataclasses import replace

from app.core.schema.column import Column, Fill
from app.core.schema.rows.expression import RowExpression
from app.core.schema.rows.grammar import parse_row
from app.errors import InvalidExpression, InvalidSchema


def derived_column(column: Column, source: str, stored: Mapping[str, Column]) -> Column:
    """The column with its expression over the columns of the file. Raises InvalidSchema with the position in the text."""
    field = f"columns.{column.name}"
    if column.spellings or column.fold_case or column.missing_spellings or column.decimal != "point":
        raise InvalidSchema(field, "no spellings: a derived column has no cells of its own")
    if isinstance(column.outside, Fill):
        raise InvalidSchema(
            f"{field}.outside", "nothing: a derived column has no other texts than its expression gives"
        )
    try:
        expression = parse_row(source, stored, f"{field}.from")
        _check_type(column, expression, f"{field}.from")
    except InvalidExpression as refused:
        position, problem = refused.position, refused.problems[0]
    else:
        _check_public(column, expression, stored)
        return replace(column, derived=expression)
    raise InvalidSchema(problem.field, problem.expected, position=position)


def _check_type(column: Column, expression: RowExpression, field: str) -> None:
    if column.type == "binary" and expression.type != "truth":
        raise InvalidExpression(field, "a condition, such as age >= 65", 0)
    if column.numeric and expression.type != "number":
        raise InvalidExpression(field, "a number", 0)
    if column.type == "integer" and not expression.whole:
        raise InvalidExpression(field, "a whole number, such as floor(…)", 0)
    if column.type == "categorical":
        _check_levels(column, expression, field)


def _check_levels(column: Column, expression: RowExpression, field: str) -> None:
    if expression.type == "bin":
        bins = len(expression.cuts) + 1
        beside = {column.missing.value} if isinstance(column.missing, Fill) else set()
        if len(column.levels) < bins or not set(column.levels[bins:]) <= beside:
            raise InvalidExpression(
                field, f"{bins} levels, one a bin and in their order, then that of missing if any", 0
            )
        return
    if expression.type != "text":
        raise InvalidExpression(field, "bin(…), or where(…) between texts", 0)
    unknown = [text for text in expression.texts if text not in column.levels]
    if unknown:
        raise InvalidExpression(field, f"texts that are declared levels; {unknown[0]!r} is none", 0)


def _check_public(column: Column, expression: RowExpression, stored: Mapping[str, Column]) -> None:
    """What is computed from something private is private."""
    private = [name for name in expression.columns if not stored[name].public]
    if column.public and private:
        raise InvalidSchema(f"columns.{column.name}.public", f"inputs that are all public; {private[0]!r} is not")
