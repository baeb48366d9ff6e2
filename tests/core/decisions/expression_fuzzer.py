"""A seeded fuzzer of expressions: derivations of the documented grammar, and mutations of texts that did something new.

What a text did is its `signature`: the refusal without its figures, or the operations of the accepted tree with how they nest.
Texts with a signature not seen before join those that are mutated, so that the fuzzer walks to where behaviour differs.
"""

import random
import re
from collections.abc import Iterator

from app.core.decisions.expressions import Expression
from app.errors import InvalidExpression
from tests.core.decisions.documented_grammar import GRAMMAR

NUMBERS = ["0", "1", "2", "3", "0.5", ".25", "1.", "10", "1e3", "1e-3", "1e150", "1e151", "0e-999", "9007199254740993"]
NUMBERS += ["1e999999999", "1e-999999999", "0.1"]
NAMES = ["theta", "x", "`x`", "`a b=c`"]
CALLS = ["min", "max", "exp", "log", "abs", "where"]
FOREIGN = ["__import__", "__class__", "eval", "exec", "open", "getattr", "lambda", "import", "os.system", "theta.real"]
FOREIGN += ["x.__class__", "0x10", "1_0", "1e", "1e+", "1.2.3", "nan", "inf", "True", "None", "..", "[0]", "{}", "``"]
FOREIGN += list("'\"\\;:=%@#~^&|!$?.²٣−🙂θй\u200b\ufeff\x00\x1f\x7f\ud800`")
JOINTS = ["+", "-", "*", "/", "**", "<", "<=", ">", ">=", "==", "!=", "(", ")", ",", " ", "\n", "\t"]
SEEDS = [
    "where((theta > 0.3) * (x < 1), exp(-x ** 2), log(theta / (1 - theta)))",
    "min(max(x, -1, theta), 2 ** theta, abs(x - `x`), 1e3)",
    "-(-(-x)) ** 2 - --theta ** -1 ** 2",
    "(" * 32 + "theta" + ")" * 32,
    "+".join(["theta"] * 100),
    "__import__('os').system('true')",
]


def terminal(rng: random.Random, kind: str) -> str:
    return rng.choice({"NUMBER": NUMBERS[:12], "NAME": NAMES, "FUNCTION": CALLS}[kind])


def signature(outcome: Expression | InvalidExpression) -> object:
    if isinstance(outcome, InvalidExpression):
        return re.sub(r"[-+.\de\[\]∞]+", "#", outcome.problems[0].expected)
    return frozenset(
        (node.operation, *(outcome.tree[index].operation for index in node.arguments)) for node in outcome.tree
    )


class Fuzzer:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.corpus = list(SEEDS)
        self.seen: set[object] = set()

    def texts(self, count: int) -> Iterator[str]:
        for number in range(count):
            if number % 8 == 0:
                yield GRAMMAR.derive(self.rng, terminal, depth=self.rng.randint(4, 14))
            else:
                yield self._mutated(self.rng.choice(self.corpus))

    def learn(self, text: str, outcome: Expression | InvalidExpression) -> None:
        found = signature(outcome)
        if found not in self.seen:
            self.seen.add(found)
            self.corpus.append(text)

    def _mutated(self, text: str) -> str:
        for _ in range(self.rng.choice((1, 1, 1, 2, 3, 8))):
            text = self._once(text)
        return text

    def _once(self, text: str) -> str:
        rng = self.rng
        start, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        end = min(end, start + rng.choice((0, 1, 1, 2, 5, 40)))
        how = rng.random()
        if how < 0.25:
            return text[:start] + rng.choice(JOINTS) + text[end:]
        if how < 0.45:
            return text[:start] + rng.choice((*NAMES, *NUMBERS, *CALLS)) + text[end:]
        if how < 0.55:
            return text[:start] + rng.choice(FOREIGN) + text[end:]
        if how < 0.65:
            return text[:start] + text[end:]
        if how < 0.75:
            return text[:end] + text[start:end] * rng.choice((1, 1, 2, 50)) + text[end:]
        if how < 0.85:
            other = rng.choice(self.corpus)
            return text[:start] + other[rng.randint(0, len(other)) :]
        if how < 0.95:
            return (
                f"{rng.choice(CALLS)}({text}, {rng.choice(NAMES)})"
                if rng.random() < 0.5
                else f"({text}) * ({rng.choice(NAMES)})"
            )
        return text[:start] + chr(rng.choice((rng.randint(0, 0x250), rng.randint(0, 0x10FFFF)))) + text[start:]
