"""Import and export of networks in the Interchange Format for Bayesian networks (BIF).

    network unknown { }
    variable wet { type discrete [ 2 ] { no, yes }; }
    probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }

Commas and bars only separate, as the format says. `table` lists the node's levels slowest and its last parent fastest;
a configuration in brackets lists the node's levels under it; `default` fills configurations that are not listed. Properties
are skipped. Everything else is refused with its line: names come from outside and are only ever compared.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.exchange.network_json import ImportedNetwork, Table, assemble, is_name
from app.core.kinds.networks.structure import NODE_CELLS_MAX, NODES_MAX, Network
from app.core.schema import LEVELS_MAX
from app.errors import InvalidModel

TEXT_LENGTH_MAX = 4_000_000
WHERE = "model.bif"
NUMBER = re.compile(r"(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,4})?")
MARKS = frozenset("{}()[];")
PLAIN = re.compile(r"[^\s,|{}()\[\];\"/]+(?:/(?![/*])[^\s,|{}()\[\];\"/]*)*")
TOKEN = re.compile(
    r"(?P<skip>[\s,|]+|//[^\n]*|/\*.*?\*/)|(?P<mark>[{}()\[\];])|\"(?P<quoted>[^\"\n]*)\"|(?P<word>"
    + PLAIN.pattern
    + ")",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """`mark` for brackets and semicolons, so that a quoted one stays a name."""

    text: str
    line: int
    mark: bool = False


@dataclass
class _Variable:
    levels: tuple[str, ...]
    parents: tuple[str, ...] = ()
    rows: NDArray[np.float64] | None = field(default=None)


def network_from_bif(text: object, concentration: float = 1.0, where: str = WHERE) -> ImportedNetwork:
    """Raises InvalidModel(where, expected) with the line."""
    if not isinstance(text, str) or len(text) > TEXT_LENGTH_MAX:
        raise InvalidModel(where, f"text of at most {TEXT_LENGTH_MAX} characters")
    reader = _Reader(text, where)
    variables: dict[str, _Variable] = {}
    while (word := reader.next_or_none()) is not None:
        if word.text == "network":
            reader.name("a name for the network")
            reader.skip_block()
        elif word.text == "variable":
            _read_variable(reader, variables)
        elif word.text == "probability":
            _read_probability(reader, variables)
        else:
            raise reader.refusal("network, variable or probability")
    tables = {}
    for name, variable in variables.items():
        if variable.rows is None:
            raise InvalidModel(where, f"a probability block for every variable; {name!r} has none")
        tables[name] = Table(variable.levels, variable.parents, variable.rows)
    return assemble(tables, concentration, where)


class _Reader:
    """Tokens one at a time, with the line of the last one for refusals."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.line = 1
        self._tokens = self._split(text)
        self._ahead: Token | None = None

    def _split(self, text: str) -> Iterator[Token]:
        place, line = 0, 1
        while place < len(text):
            match = TOKEN.match(text, place)
            if match is None:
                self.line = line
                raise self.refusal("words, numbers, brackets, quoted names and closed comments")
            if match["skip"] is None:
                word = match["mark"] or match["word"] or match["quoted"] or ""
                yield Token(word, line, match["mark"] is not None)
            line += match[0].count("\n")
            place = match.end()

    def refusal(self, expected: str) -> InvalidModel:
        return InvalidModel(self.where, f"{expected} (line {self.line})")

    def next_or_none(self) -> Token | None:
        token, self._ahead = self._ahead, None
        if token is None:
            token = next(self._tokens, None)
        if token is not None:
            self.line = token.line
        return token

    def next(self) -> Token:
        token = self.next_or_none()
        if token is None:
            raise self.refusal("a closing bracket before the end")
        return token

    def at(self, mark: str) -> bool:
        """Whether the next token is this mark; takes it if so."""
        token = self.next()
        if token.mark and token.text == mark:
            return True
        self._ahead = token
        return False

    def require(self, *texts: str) -> None:
        for text in texts:
            token = self.next()
            if token.text != text or token.mark != (text in MARKS):
                raise self.refusal(f"{text!r}")

    def name(self, expected: str) -> str:
        token = self.next()
        if token.mark or not is_name(token.text):
            raise self.refusal(expected)
        return token.text

    def names_until(self, mark: str, most: int, expected: str) -> list[str]:
        names: list[str] = []
        while not self.at(mark):
            names.append(self.name(expected))
            if len(names) > most:
                raise self.refusal(f"at most {most} of these: {expected}")
        return names

    def numbers(self, count: int) -> list[float]:
        texts = self.names_until(";", count, "probabilities")
        if len(texts) != count or not all(NUMBER.fullmatch(text) for text in texts):
            raise self.refusal(f"{count} probabilities and a semicolon")
        return [float(text) for text in texts]

    def skip_property(self) -> None:
        while not self.at(";"):
            self.next()

    def skip_block(self) -> None:
        self.require("{")
        while not self.at("}"):
            self.require("property")
            self.skip_property()


def _read_variable(reader: _Reader, variables: dict[str, _Variable]) -> None:
    name = reader.name("the name of a variable")
    if name in variables or len(variables) == NODES_MAX:
        raise reader.refusal(f"every variable once, at most {NODES_MAX}")
    reader.require("{")
    levels: tuple[str, ...] = ()
    while not reader.at("}"):
        word = reader.next().text
        if word == "property":
            reader.skip_property()
        elif word == "type" and not levels:
            reader.require("discrete", "[")
            count = reader.name("the number of levels")
            reader.require("]", "{")
            levels = tuple(reader.names_until("}", LEVELS_MAX, "names of levels"))
            if count != str(len(levels)):
                raise reader.refusal(f"as many levels as declared, {count}")
            reader.require(";")
        else:
            raise reader.refusal("one type, or a property")
    if not levels:
        raise reader.refusal(f"a type for the variable {name!r}")
    variables[name] = _Variable(levels)


def _read_probability(reader: _Reader, variables: dict[str, _Variable]) -> None:
    reader.require("(")
    names = reader.names_until(")", NODES_MAX, "names of variables")
    if not names or any(name not in variables for name in names) or variables[names[0]].rows is not None:
        raise reader.refusal("declared variables, and one probability block for each")
    child, parents = variables[names[0]], [variables[name] for name in names[1:]]
    own = len(child.levels)
    if own * math.prod(len(parent.levels) for parent in parents) > NODE_CELLS_MAX:
        raise reader.refusal(f"at most {NODE_CELLS_MAX} probabilities a variable")
    child.parents, child.rows = tuple(names[1:]), _read_rows(reader, own, [parent.levels for parent in parents])


def _read_rows(reader: _Reader, own: int, levels: list[tuple[str, ...]]) -> NDArray[np.float64]:
    """Not a number marks what was not listed; no number that is read can be one."""
    sizes = tuple(len(known) for known in levels)
    count = math.prod(sizes)
    rows = np.full((count, own), np.nan)
    default: list[float] | None = None
    reader.require("{")
    while not reader.at("}"):
        if reader.at("("):
            given = reader.names_until(")", len(levels), "levels of the parents")
            place = _configuration(reader, given, levels, sizes)
            if not np.isnan(rows[place, 0]):
                raise reader.refusal("every configuration once")
            rows[place] = reader.numbers(own)
            continue
        word = reader.next().text
        if word == "table" and np.isnan(rows).all():
            rows = np.array(reader.numbers(count * own)).reshape(own, count).T
        elif word == "default" and default is None:
            default = reader.numbers(own)
        elif word == "property":
            reader.skip_property()
        else:
            raise reader.refusal("a table, levels of the parents in brackets, one default, or a property")
    if default is not None:
        rows[np.isnan(rows).any(axis=1)] = default
    if np.isnan(rows).any():
        raise reader.refusal("probabilities under every configuration of the parents")
    return rows


def _configuration(reader: _Reader, given: list[str], levels: list[tuple[str, ...]], sizes: tuple[int, ...]) -> int:
    if len(given) != len(levels) or any(level not in known for level, known in zip(given, levels, strict=True)):
        raise reader.refusal("one level of each parent, in their order")
    place = [known.index(level) for level, known in zip(given, levels, strict=True)]
    return int(np.ravel_multi_index(place, sizes)) if place else 0


def network_to_bif(network: Network, probabilities: NDArray[np.float64]) -> str:
    """One sample, one entry a cell; numbers are written so that reading them gives the same doubles up to their sum."""
    lines = ["network unknown {", "}"]
    for node in network.nodes:
        levels = ", ".join(_quoted(level) for level in node.levels)
        lines += [f"variable {_quoted(node.name)} {{", f"  type discrete [ {len(node.levels)} ] {{ {levels} }};", "}"]
    for i, node in enumerate(network.nodes):
        given = f" | {', '.join(map(_quoted, node.parents))}" if node.parents else ""
        lines.append(f"probability ( {_quoted(node.name)}{given} ) {{")
        rows = probabilities[network.cells(i)].reshape(-1, len(node.levels)).tolist()
        parents = [network.nodes[p] for p in network.parents(i)]
        for j, row in enumerate(rows):
            place = np.unravel_index(j, network.shape(i)[:-1]) if parents else ()
            levels = ", ".join(_quoted(parent.levels[k]) for parent, k in zip(parents, place, strict=True))
            lines.append(f"  {f'({levels})' if parents else 'table'} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    """Raises InvalidModel for a name with a quotation mark, which the format cannot hold."""
    if '"' in name:
        raise InvalidModel(WHERE, "names without quotation marks")
    return name if PLAIN.fullmatch(name) else f'"{name}"'
