"""The grammar of rows, and the type of everything in it.

    condition  := conjunction { "or" conjunction }
    conjunction := negation { "and" negation }
    negation   := "not" negation | comparison
    comparison := sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum | ["not"] "in" "(" sum { "," sum } ")" ]
    sum        := product { ("+" | "-") product }
    product    := signed { ("*" | "/") signed }
    signed     := "-" signed | NUMBER | TEXT | NAME | FUNCTION "(" condition { "," condition } ")" | "(" condition ")"

A name is a column, or `true` and `false` where no column is called so; in backticks it may have any characters. A text stands
in single or double quotes and is a declared level of the column it is compared with, or a date like '2024-03-31'. A binary
column is a condition by itself and counts as 0 or 1 where a number is needed. One date minus another is a number of days.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from app.core.language.climber import Climber
from app.core.language.tokens import TOKEN_OR_TEXT, Token, tokenise
from app.core.language.tree import Node
from app.core.schema.column import Column, is_date
from app.core.schema.rows.expression import DAYS, TRUTH_AS_NUMBER, RowExpression, RowType, constant

NAMES_SHOWN_MAX = 8
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
WORDS = frozenset({"and", "or", "not", "in"})
_PARTS = ("year", "month", "day", "weekday")
_ARITIES = {"abs": 1, "floor": 1, "where": 3, **dict.fromkeys(_PARTS, 1)}
_FUNCTIONS = frozenset({*_ARITIES, "min", "max", "bin"})
_BINDING = {"or": 1, "and": 2, **dict.fromkeys((*_COMPARISONS, "in", "not"), 4), "+": 5, "-": 5, "*": 6, "/": 6}
_TYPES: dict[str, RowType] = {"binary": "truth", "categorical": "text", "date": "date"}
_TRUTHS = {"true": 1.0, "false": 0.0}
_NOUNS = {
    "number": "a number",
    "truth": "a condition, such as a comparison or a binary column",
    "date": "a date column",
}


class Fact(NamedTuple):
    """What is known of a node: its type, whether its numbers are whole, what texts it can be, whether it divides."""

    type: RowType
    whole: bool = False
    texts: tuple[str, ...] = ()
    divides: bool = False


def parse_row(text: str, columns: Mapping[str, Column], field: str) -> RowExpression:
    """An expression over these columns. Raises InvalidExpression with a position."""
    parser = _RowParser(_tokens(text, field), columns, field)
    tree = parser.read()
    if not parser.used:
        raise parser.refuse("an expression that names a column", 0)
    fact = parser.facts[-1]
    return RowExpression(text, tuple(parser.used), fact.type, fact.whole, fact.texts, tree)


def _tokens(text: str, field: str) -> list[Token]:
    found = tokenise(text, field, TOKEN_OR_TEXT, "a text between quotes, a column")
    return [token._replace(kind="symbol") if token.kind == "name" and token.text in WORDS else token for token in found]


class _RowParser(Climber):
    binding = _BINDING
    comparisons = frozenset({*_COMPARISONS, "in", "not"})
    sign = 7
    one_comparison = "one comparison at a time; join two with and"
    leaves = "a number, a text in quotes, a column, a function, not, - or ("

    def __init__(self, tokens: list[Token], columns: Mapping[str, Column], field: str) -> None:
        super().__init__(tokens, field)
        self.columns = columns
        self.used: dict[str, int] = {}
        self.facts: list[Fact] = []

    def add(self, node: Node) -> int:
        node, fact = self.typed(node)
        place = super().add(node)
        self.facts.append(fact)
        return place

    def other_operand(self) -> int | None:
        token = self.token
        if token.kind == "text":
            self.index += 1
            quote = token.text[0]
            return self.add(Node("text", token.position, text=token.text[1:-1].replace(2 * quote, quote)))
        if self.accept("not"):
            return self.add(Node("not", token.position, (self.nested(token, 3),)))
        return None

    def joined(self, left: int, operator: Token) -> int:
        if operator.text not in ("in", "not"):
            return super().joined(left, operator)
        if operator.text == "not" and not self.accept("in"):
            raise self.refuse("in after not")
        opening = self.token
        if not self.accept("("):
            raise self.refuse("a list in parentheses")
        self.enter(opening)
        listed = [self.expression(5)]
        while self.accept(","):
            listed.append(self.expression(5))
        self.close()
        found = self.add(Node("in", operator.position, (left, *listed)))
        return self.add(Node("not", operator.position, (found,))) if operator.text == "not" else found

    def name(self, token: Token) -> int:
        name = token.text.strip("`")
        if token.kind == "name" and name not in self.columns and name in _TRUTHS:
            return self.add(Node("number", token.position, number=_TRUTHS[name]))
        if name not in self.columns:
            if token.kind == "name" and name in _FUNCTIONS:
                raise self.refuse(f"( after {name}")
            known = sorted(self.columns)
            more = ", …" if len(known) > NAMES_SHOWN_MAX else ""
            shown = ", ".join(known[:NAMES_SHOWN_MAX]) + more
            raise self.refuse(f"a column: {shown}", token.position)
        place = self.used.setdefault(name, len(self.used))
        return self.add(Node("parameter", token.position, parameter=place, text=name))

    def check_function(self, name: Token) -> None:
        if name.text not in _FUNCTIONS:
            raise self.refuse("one of the functions " + ", ".join(sorted(_FUNCTIONS)), name.position)

    def call(self, token: Token, arguments: list[int]) -> int:
        wanted = _ARITIES.get(token.text)
        if wanted is None and len(arguments) < 2:
            raise self.refuse(f"{token.text} with at least 2 arguments", token.position)
        if wanted is not None and len(arguments) != wanted:
            raise self.refuse(f"{token.text} with {wanted} argument(s)", token.position)
        return self.add(Node(token.text, token.position, tuple(arguments)))

    def typed(self, node: Node) -> tuple[Node, Fact]:
        """The node with its arguments as it needs them, and what is known of it."""
        if node.operation == "number":
            return node, Fact("number", whole=node.number.is_integer())
        if node.operation == "text":
            return node, Fact("text", texts=(node.text,))
        if node.operation == "parameter":
            column = self.columns[node.text]
            return node, Fact(_TYPES.get(column.type, "number"), column.type == "integer", column.levels)
        if node.operation in _COMPARISONS or node.operation == "in":
            return self.compared(node), Fact("truth", divides=self.divides(node))
        if node.operation in ("and", "or", "not"):
            self.need("truth", *node.arguments)
            return node, Fact("truth", divides=self.divides(node))
        if node.operation in _PARTS:
            self.need("date", *node.arguments)
            return node, Fact("number", whole=True)
        return self.chosen(node) if node.operation == "where" else self.calculated(node)

    def calculated(self, node: Node) -> tuple[Node, Fact]:
        """Of numbers; one date minus another is a number of days."""
        if node.operation == "-" and all(self.facts[place].type == "date" for place in node.arguments):
            return node._replace(operation=DAYS), Fact("number", whole=True)
        node = node._replace(arguments=tuple(map(self.as_number, node.arguments)))
        if node.operation == "bin":
            return self.binned(node), Fact("bin", divides=self.divides(node))
        if node.operation == "/":
            if self.facts[node.arguments[1]].divides:
                raise self.refuse("a denominator without another division", node.position)
            return node, Fact("number", divides=True)
        whole = node.operation == "floor" or all(self.facts[place].whole for place in node.arguments)
        return node, Fact("number", whole, divides=self.divides(node))

    def binned(self, node: Node) -> Node:
        try:
            cuts = [constant(tuple(self.nodes), place) for place in node.arguments[1:]]
        except ValueError:
            raise self.refuse("numbers as the cuts of bin", node.position) from None
        if any(not below < above for below, above in pairwise(cuts)):
            raise self.refuse("cuts of bin that rise", node.position)
        return node

    def chosen(self, node: Node) -> tuple[Node, Fact]:
        condition, *branches = node.arguments
        self.need("truth", condition)
        if all(self.facts[place].type == "text" for place in branches):
            texts = dict.fromkeys(text for place in branches for text in self.facts[place].texts)
            return node, Fact("text", texts=tuple(texts), divides=self.divides(node))
        branches = [self.as_number(place) for place in branches]
        whole = all(self.facts[place].whole for place in branches)
        return node._replace(arguments=(condition, *branches)), Fact("number", whole, divides=self.divides(node))

    def compared(self, node: Node) -> Node:
        """Numbers with numbers, dates with dates, a column's levels with texts."""
        types = {self.facts[place].type for place in node.arguments}
        if "date" in types:
            for place in node.arguments:
                self.as_date(place)
            return node
        if "text" in types:
            if node.operation not in ("==", "!=", "in"):
                raise self.refuse("== or != between texts", node.position)
            self.check_levels(node)
            return node
        return node._replace(arguments=tuple(map(self.as_number, node.arguments)))

    def check_levels(self, node: Node) -> None:
        literals = [place for place in node.arguments if self.nodes[place].operation == "text"]
        others = [place for place in node.arguments if place not in literals]
        if len(others) != 1 or self.facts[others[0]].type != "text":
            raise self.refuse("a categorical column on one side and texts on the other", node.position)
        levels = self.facts[others[0]].texts
        for place in literals:
            if self.nodes[place].text not in levels:
                shown = ", ".join(map(repr, levels[:NAMES_SHOWN_MAX]))
                more = ", …" if len(levels) > NAMES_SHOWN_MAX else ""
                raise self.refuse(f"one of the levels {shown}{more}", self.nodes[place].position)

    def as_number(self, place: int) -> int:
        if self.facts[place].type == "truth":
            place_of = Climber.add(self, Node(TRUTH_AS_NUMBER, self.nodes[place].position, (place,)))
            self.facts.append(Fact("number", whole=True, divides=self.facts[place].divides))
            return place_of
        self.need("number", place)
        return place

    def as_date(self, place: int) -> None:
        """A text that is compared with a date is one."""
        node = self.nodes[place]
        if node.operation == "text":
            if not is_date(node.text):
                raise self.refuse("a date like '2024-03-31'", node.position)
            self.nodes[place], self.facts[place] = node._replace(operation="date"), Fact("date")
        self.need("date", place)

    def need(self, wanted: RowType, *places: int) -> None:
        for place in places:
            if self.facts[place].type != wanted:
                raise self.refuse(_NOUNS[wanted], self.nodes[place].position)

    def divides(self, node: Node) -> bool:
        return any(self.facts[place].divides for place in node.arguments)
