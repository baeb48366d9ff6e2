"""The grammar of questions: arithmetic of parameters.

    expression := sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
    sum        := product { ("+" | "-") product }
    product    := signed { ("*" | "/") signed }
    signed     := "-" signed | atom [ "**" signed ]
    atom       := NUMBER | NAME | FUNCTION "(" expression { "," expression } ")" | "(" expression ")"

A name is a parameter, or what the question calls so. In backticks it may have any characters: `cured=true|arm=drug`.
Exponents nest, too.
"""

from collections.abc import Mapping
from itertools import islice

from app.core.decisions.expressions.operations import COMPARISONS, FUNCTIONS
from app.core.language.climber import Climber
from app.core.language.tokens import Token, tokenise
from app.core.language.tree import Node, Tree
from app.core.parameters import NAMES_SHOWN_MAX, listed

BINDING = {**dict.fromkeys(COMPARISONS, 1), "+": 2, "-": 2, "*": 3, "/": 3, "**": 4}


def parse(text: str, own: Mapping[str, int], parameters: Mapping[str, int], field: str) -> Tree:
    """Both map names to columns; the question's `own` come first. Raises InvalidExpression with a position."""
    return _Parser(tokenise(text, field), own, parameters, field).read()


class _Parser(Climber):
    binding = BINDING
    comparisons = COMPARISONS
    sign = BINDING["**"]

    def __init__(self, tokens: list[Token], own: Mapping[str, int], parameters: Mapping[str, int], field: str) -> None:
        super().__init__(tokens, field)
        self.own = own
        self.parameters = parameters

    def joined(self, left: int, operator: Token) -> int:
        if operator.text != "**":
            return super().joined(left, operator)
        exponent = self.nested(operator, BINDING["**"])
        return self.add(Node("**", operator.position, (left, exponent)))

    def name(self, token: Token) -> int:
        name = token.text.strip("`")
        column = self.own.get(name, self.parameters.get(name))
        if column is None:
            if token.kind == "name" and name in FUNCTIONS:
                raise self.refuse(f"( after {name}")
            known = listed([*self.own, *islice(self.parameters, NAMES_SHOWN_MAX + 1)])
            raise self.refuse(f"a parameter of this release: {known}", token.position)
        return self.add(Node("parameter", token.position, parameter=column))

    def check_function(self, name: Token) -> None:
        if name.text not in FUNCTIONS:
            raise self.refuse("one of the functions " + ", ".join(sorted(FUNCTIONS)), name.position)

    def call(self, token: Token, arguments: list[int]) -> int:
        operation = FUNCTIONS[token.text]
        if operation.variadic and len(arguments) >= operation.arity:
            return self.fold(token, arguments)
        if len(arguments) != operation.arity:
            count = f"{'at least ' if operation.variadic else ''}{operation.arity}"
            raise self.refuse(f"{token.text} with {count} argument(s)", token.position)
        return self.add(Node(token.text, token.position, tuple(arguments)))

    def fold(self, name: Token, arguments: list[int]) -> int:
        result = arguments[0]
        for argument in arguments[1:]:
            result = self.add(Node(name.text, name.position, (result, argument)))
        return result
