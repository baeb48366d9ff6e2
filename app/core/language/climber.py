"""Tokens → tree, by precedence climbing: what every grammar of the language shares.

    expression := operand { OPERATOR operand }      operators by how tightly they bind
    operand    := NUMBER | NAME | FUNCTION "(" expression { "," expression } ")" | "-" operand | "(" expression ")"

A name before "(" is a function, any other a name; in backticks a name may have any characters. Depth counts what nests:
parentheses, calls and signs; a long sum is not deep. Each level costs a handful of interpreter frames, so the limit is
reached long before the interpreter's own.
"""

from collections.abc import Collection, Mapping

from app.core.language.tokens import Token, read_literal
from app.core.language.tree import DEPTH_MAX, NODES_MAX, Node
from app.errors import InvalidExpression

NEGATE = "negate"


class Climber:
    """A grammar says which operators there are (`binding`, from 1; a sign binds as `sign` does), which of them compare, what
    a leaf and a call become, and what else may stand where a number can."""

    binding: Mapping[str, int]
    comparisons: Collection[str]
    sign: int
    one_comparison = "one comparison at a time; join two with * or min"
    leaves = "a number, a parameter, a function, - or ("

    def __init__(self, tokens: list[Token], field: str) -> None:
        self.tokens = tokens
        self.field = field
        self.index = 0
        self.depth = 0
        self.nodes: list[Node] = []

    def name(self, token: Token) -> int:
        raise NotImplementedError

    def call(self, token: Token, arguments: list[int]) -> int:
        raise NotImplementedError

    def other_operand(self) -> int | None:
        """What this grammar has beside numbers, names, signs and parentheses."""
        return None

    def read(self) -> tuple[Node, ...]:
        """The whole text. Raises InvalidExpression with a position."""
        self.expression(1)
        if self.token.kind != "end":
            raise self.refuse("an operator or the end of the expression")
        return tuple(self.nodes)

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
        while self.token.kind == "symbol" and self.binding.get(self.token.text, 0) >= floor:
            operator = self.token
            if compared and operator.text in self.comparisons:
                raise self.refuse(self.one_comparison)
            compared = operator.text in self.comparisons
            self.index += 1
            left = self.joined(left, operator)
        return left

    def joined(self, left: int, operator: Token) -> int:
        right = self.expression(self.binding[operator.text] + 1)
        return self.add(Node(operator.text, operator.position, (left, right)))

    def operand(self) -> int:
        token = self.token
        if token.kind == "number":
            self.index += 1
            return self.add(Node("number", token.position, number=read_literal(token, self.field)))
        if token.kind in ("name", "quoted"):
            self.index += 1
            called = token.kind == "name" and self.accept("(")
            return self.call(token, self.arguments(token)) if called else self.name(token)
        if self.accept("-"):
            inner = self.nested(token, self.sign)
            return self.add(Node(NEGATE, token.position, (inner,)))
        if self.accept("("):
            self.enter(token)
            inner = self.expression(1)
            self.close()
            return inner
        found = self.other_operand()
        if found is None:
            raise self.refuse(self.leaves)
        return found

    def nested(self, token: Token, floor: int) -> int:
        """What follows a prefix, one level deeper."""
        self.enter(token)
        inner = self.expression(floor)
        self.depth -= 1
        return inner

    def arguments(self, name: Token) -> list[int]:
        self.check_function(name)
        self.enter(name)
        found = [self.expression(1)]
        while self.accept(","):
            found.append(self.expression(1))
        self.close()
        return found

    def check_function(self, name: Token) -> None:
        raise NotImplementedError

    def enter(self, token: Token) -> None:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise self.refuse(f"at most {DEPTH_MAX} levels of nesting", token.position)

    def close(self) -> None:
        if not self.accept(")"):
            raise self.refuse("an operator or )")
        self.depth -= 1
