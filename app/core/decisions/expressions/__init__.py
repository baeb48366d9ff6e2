"""A small closed language: arithmetic of parameters, bounded in size, safe on every sample by construction."""

from app.core.decisions.expressions.expression import Expression, compile_expression
from app.core.language.tree import check_work

__all__ = ["Expression", "check_work", "compile_expression"]
