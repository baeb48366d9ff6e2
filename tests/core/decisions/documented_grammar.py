"""The grammar as docs/queries.md prints it, read from there: it derives texts, recognises them and gives them their meaning.

Nothing here knows the engine's parser. Rules are interpreted as they stand: alternatives in order, [ ] and { } as long as they
match. Values are worked out over the tree of rules that matched, with numpy's elementary functions on a few points at once.
"""

import random
import re
from pathlib import Path

import numpy as np

DOCUMENT = (Path(__file__).parents[3] / "docs" / "queries.md").read_text(encoding="utf-8")
RULES_TEXT = re.search(r"```\n(expression :=.*?)```", DOCUMENT, flags=re.DOTALL).group(1)
FUNCTIONS = {"min": np.minimum, "max": np.maximum, "exp": np.exp, "log": np.log, "abs": np.abs}
COMPARE = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
TOKEN = re.compile(
    r"(?P<NUMBER>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))|(?P<NAME>[A-Za-z_]\w*|`[^`]+`)"
    r"|(?P<SYMBOL>\*\*|<=|>=|==|!=|[-+*/<>(),])|(?P<SPACE>[ \t\r\n]+)",
    re.ASCII,
)


class Grammar:
    def __init__(self, text: str) -> None:
        self.rules = {}
        for line in text.strip().splitlines():
            name, body = line.split(":=")
            self._words = re.findall(r'"[^"]+"|\w+|[\[\]{}()|]', body)
            self.rules[name.strip()] = self._alternatives()
            assert not self._words
        self.matchers = {}
        for name, body in self.rules.items():
            self.matchers[name] = self._matcher(body)

    def _alternatives(self):
        found = [self._sequence()]
        while self._words and self._words[0] == "|":
            self._words.pop(0)
            found.append(self._sequence())
        return ("any", found)

    def _sequence(self):
        found = []
        while self._words and self._words[0] not in "|]})":
            word = self._words.pop(0)
            if word in "([{":
                found.append(({"(": "group", "[": "maybe", "{": "many"}[word], self._alternatives()))
                self._words.pop(0)
            else:
                found.append(("word", word))
        return ("all", found)

    def derive(self, rng: random.Random, terminals, part=("word", "expression"), depth: int = 5) -> str:
        kind, body = part
        if kind == "word":
            if body.startswith('"'):
                return body.strip('"')
            return (
                self.derive(rng, terminals, self.rules[body], depth - 1) if body in self.rules else terminals(rng, body)
            )
        if kind == "any":
            # Deep down only what ends: the first two alternatives of an atom, the last of the others.
            choices = body if depth > 0 else body[:2] if len(body) > 2 else body[-1:]
            return self.derive(rng, terminals, choices[int(rng.random() * len(choices))], depth)
        if kind == "all":
            return " ".join(filter(None, (self.derive(rng, terminals, each, depth) for each in body)))
        often = 1 if kind == "group" else 0
        while kind != "group" and depth > 0 and often < (1 if kind == "maybe" else 3) and rng.random() < 0.4:
            often += 1
        return " ".join(self.derive(rng, terminals, body, depth) for _ in range(often))

    def tree(self, text: str):
        """The rules that match the whole text, or None."""
        tokens, position = [], 0
        while position < len(text):
            match = TOKEN.match(text, position)
            if match is None:
                return None
            position = match.end()
            if match.lastgroup != "SPACE":
                tokens.append((match.lastgroup, match.group()))
        tokens.append(("END", ""))
        parts: list = []
        end = self.matchers["expression"](tokens, 0, parts)
        return ("expression", parts) if end == len(tokens) - 1 else None

    def _matcher(self, part):
        """(tokens, place, parts) → the place after what matched, its parts appended; −1 where it does not match."""
        kind, body = part
        if kind == "word":
            return self._word_matcher(body)
        if kind == "any":
            return _first_of([self._matcher(each) for each in body])
        if kind == "all":
            return _one_after_the_other([self._matcher(each) for each in body])
        return (
            self._matcher(body) if kind == "group" else _repeated(self._matcher(body), 1 if kind == "maybe" else 1_000)
        )

    def _word_matcher(self, word):
        literal = word.strip('"')

        def rule(tokens, at, parts):
            inside: list = []
            end = self.matchers[word](tokens, at, inside)
            if end >= 0:
                parts.append((word, inside))
            return end

        def symbol(tokens, at, parts):
            if tokens[at] != ("SYMBOL", literal):
                return -1
            parts.append(literal)
            return at + 1

        def terminal(tokens, at, parts):
            kind, text = tokens[at]
            if kind == "NAME" and text[0] != "`" and tokens[at + 1][1] == "(":
                kind = "FUNCTION"
            if kind != word:
                return -1
            parts.append((word, text))
            return at + 1

        return symbol if literal != word else rule if word in self.rules else terminal


def _first_of(matchers):
    def match(tokens, at, parts):
        for each in matchers:
            if (end := each(tokens, at, parts)) >= 0:
                return end
        return -1

    return matchers[0] if len(matchers) == 1 else match


def _one_after_the_other(matchers):
    def match(tokens, at, parts):
        size = len(parts)
        for each in matchers:
            at = each(tokens, at, parts)
            if at < 0:
                del parts[size:]
                return -1
        return at

    return matchers[0] if len(matchers) == 1 else match


def _repeated(matcher, most):
    def match(tokens, at, parts):
        for _ in range(most):
            end = matcher(tokens, at, parts)
            if end < 0:
                break
            at = end
        return at

    return match


def value_of(tree, names):
    rule, parts = tree
    if rule == "NUMBER":
        return np.float64(parts)
    if rule == "NAME":
        return names[parts.strip("`")]
    if rule == "expression" and len(parts) == 3:
        left, sign, right = parts
        return COMPARE[sign](value_of(left, names), value_of(right, names)).astype(np.float64)
    if rule in ("sum", "product"):
        value = value_of(parts[0], names)
        for sign, right in zip(parts[1::2], parts[2::2], strict=True):
            value = ARITHMETIC[sign](value, value_of(right, names))
        return value
    if rule == "signed" and parts[0] == "-":
        return -value_of(parts[1], names)
    if rule == "signed" and len(parts) == 3:
        return np.power(value_of(parts[0], names), value_of(parts[2], names))
    if rule == "atom" and len(parts) > 1:
        arguments = [value_of(each, names) for each in parts if not isinstance(each, str) and each[0] == "expression"]
        return arguments[0] if parts[0] == "(" else _call(parts[0][1], arguments)
    return value_of(parts[0], names)


def _call(name, arguments):
    if name == "where":
        return np.where(arguments[0] != 0, arguments[1], arguments[2])
    value = arguments[0] if len(arguments) > 1 else FUNCTIONS[name](arguments[0])
    for argument in arguments[1:]:
        value = FUNCTIONS[name](value, argument)
    return value


GRAMMAR = Grammar(RULES_TEXT)
