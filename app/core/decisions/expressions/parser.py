"""Tokens → tree, by precedence climbing.

    expression := sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
    sum        := product { ("+" | "-") product }
    product    := signed { ("*" | "/") signed }
    signed     := "-" signed | atom [ "**" signed ]
    atom       := NUMBER | NAME | FUNCTION "(" expression { "," expression } ")" | "(" expression ")"

A name before "(" is a function, any other is a parameter, or what the question calls so. In backticks a name may have any
characters: `cured=true|arm=drug`. Depth counts what nests: parentheses, calls, signs
and exponents; a long sum is not deep. Each level costs a handful of interpreter frames, so the limit is
reached long before the interpreter's own.
"""

from collections.abc import Mapping
from itertools import islice

from app.core.decisions.expressions.operations import COMPARISONS, FUNCTIONS, NEGATE
from app.core.decisions.expressions.tokens import Token, read_literal, tokenise
from app.core.decisions.expressions.tree import DEPTH_MAX, NODES_MAX, Node, Tree
from app.core.parameters import NAMES_SHOWN_MAX, listed
from app.errors import InvalidExpression

BINDING = {**dict.fromkeys(COMPARISONS, 1), "+": 2, "-": 2, "*": 3, "/": 3, "**": 4}


def parse(text: str, own: Mapping[str, int], parameters: Mapping[str, int], field: str) -> Tree:
    """Both map names to columns; the question's `own` come first. Raises InvalidExpression with a position."""
    parser = _Parser(tokenise(text, field), own, parameters, field)
    parser.expression(1)
    if parser.token.kind != "end":
        raise parser.refuse("an operator or the end of the expression")
    return tuple(parser.nodes)


class _Parser:
    def __init__(self, tokens: list[Token], own: Mapping[str, int], parameters: Mapping[str, int], field: str) -> None:
        self.tokens = tokens
        self.own = own
        self.parameters = parameters
        self.field = field
        self.index = 0
        self.depth = 0
        self.nodes: list[Node] = []

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def refuse(self, expected: str, position: int | None = None) -> InvalidExpression:
        at = self.token.position if position is None else position
        return InvalidExpression(self.field, expected, at)

    def accept(self, symbol: str) -> bool:
        found = self.token.kind == "symbol" and self.token.text == symbol
        self.index += found
        return found

    def add(self, node: Node) -> int:
        if len(self.nodes) == NODES_MAX:
            raise self.refuse(f"at most {NODES_MAX} numbers, names and operations", node.position)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def expression(self, floor: int) -> int:
        """Operators that bind at least as tightly as `floor`; returns the index of the node."""
        left = self.operand()
        compared = False
        while self.token.kind == "symbol" and BINDING.get(self.token.text, 0) >= floor:
            operator = self.token
            if compared and operator.text in COMPARISONS:
                raise self.refuse("one comparison at a time; join two with * or min")
            compared = operator.text in COMPARISONS
            self.index += 1
            right = self.right_operand(operator)
            left = self.add(Node(operator.text, operator.position, (left, right)))
        return left

    def right_operand(self, operator: Token) -> int:
        if operator.text != "**":
            return self.expression(BINDING[operator.text] + 1)
        self.enter(operator)
        exponent = self.expression(BINDING["**"])
        self.depth -= 1
        return exponent

    def operand(self) -> int:
        token = self.token
        if token.kind == "number":
            self.index += 1
            return self.add(Node("number", token.position, number=read_literal(token, self.field)))
        if token.kind in ("name", "quoted"):
            self.index += 1
            called = token.kind == "name" and self.accept("(")
            return self.call(token) if called else self.parameter(token)
        if self.accept("-"):
            self.enter(token)
            inner = self.expression(BINDING["**"])
            self.depth -= 1
            return self.add(Node(NEGATE, token.position, (inner,)))
        if self.accept("("):
            self.enter(token)
            inner = self.expression(1)
            self.close()
            return inner
        raise self.refuse("a number, a parameter, a function, - or (")

    def enter(self, token: Token) -> None:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise self.refuse(f"at most {DEPTH_MAX} levels of nesting", token.position)

    def close(self) -> None:
        if not self.accept(")"):
            raise self.refuse("an operator or )")
        self.depth -= 1

    def parameter(self, token: Token) -> int:
        name = token.text.strip("`")
        column = self.own.get(name, self.parameters.get(name))
        if column is None:
            if token.kind == "name" and name in FUNCTIONS:
                raise self.refuse(f"( after {name}")
            known = listed([*self.own, *islice(self.parameters, NAMES_SHOWN_MAX + 1)])
            raise self.refuse(f"a parameter of this release: {known}", token.position)
        return self.add(Node("parameter", token.position, parameter=column))

    def call(self, name: Token) -> int:
        operation = FUNCTIONS.get(name.text)
        if operation is None:
            raise self.refuse("one of the functions " + ", ".join(sorted(FUNCTIONS)), name.position)
        self.enter(name)
        arguments = [self.expression(1)]
        while self.accept(","):
            arguments.append(self.expression(1))
        self.close()
        if operation.variadic and len(arguments) >= operation.arity:
            return self.fold(name, arguments)
        if len(arguments) != operation.arity:
            count = f"{'at least ' if operation.variadic else ''}{operation.arity}"
            raise self.refuse(f"{name.text} with {count} argument(s)", name.position)
        return self.add(Node(name.text, name.position, tuple(arguments)))

    def fold(self, name: Token, arguments: list[int]) -> int:
        result = arguments[0]
        for argument in arguments[1:]:
            result = self.add(Node(name.text, name.position, (result, argument)))
        return result
