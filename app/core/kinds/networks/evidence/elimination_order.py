"""Which variables to sum out, in which order, and how large that gets: decided once a shape, before any sample is touched.

A shape is the graph, how many levels the evidence leaves each variable, and what is asked; it does not say which levels.
The order is greedy, the better of two rules: fewest new edges (min-fill) and smallest table (min-weight), ties to the other
rule and then to the node that comes first. A variable with one level left is a constant and no axis of any table.
"""

import heapq
import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from app.core.kinds.networks.structure import NODES_MAX
from app.errors import InvalidQuery

Graph = tuple[tuple[int, ...], ...]
"""The parents of each node."""

TABLE_ENTRIES_MAX = 2**18
OPERATIONS_MAX = 1_000_000_000
"""Additions and multiplications over all samples: about a second."""
UNSCALED_MAX = 16
"""Tables multiplied before their product is scaled again, so that a long product cannot underflow."""


@dataclass(frozen=True, slots=True)
class Step:
    """Multiply `inputs`; then, unless `variable` is None, sum (or maximise) over it. The result gets the next number.

    Axes are always in the order of elimination, so `variable` is the first axis of every input that has it. `shapes` are the
    inputs' shapes with an axis of length 1 for each variable they lack.
    """

    inputs: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    scope: tuple[int, ...]
    variable: int | None
    rescale: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """`tables` are nodes' conditional tables with their axes, numbered from 0; the last step's result is the answer.

    `width` is the induced width, `entries` the largest table, `work` the operations a sample. Too wide: no steps.
    """

    tables: tuple[tuple[int, tuple[int, ...]], ...]
    steps: tuple[Step, ...]
    width: int
    entries: int
    work: int

    def check_width(self, field: str) -> None:
        if self.entries > TABLE_ENTRIES_MAX:
            raise InvalidQuery(
                field,
                f"evidence or a network that ties fewer variables together: {self.width + 1} of them meet in one table "
                f"of {self.entries} entries or more, {TABLE_ENTRIES_MAX} are allowed",
            )

    def check_work(self, field: str, samples: int) -> None:
        if self.work * samples > OPERATIONS_MAX:
            raise InvalidQuery(
                field,
                f"at most {OPERATIONS_MAX} operations: this question takes {self.work} a sample, and there are {samples}",
            )


def ancestors(graph: Graph, nodes: Collection[int]) -> set[int]:
    """With the nodes themselves. All others are barren: summing them out gives one."""
    found: set[int] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(graph[node])
    return found


@lru_cache(maxsize=1024)
def relevant_nodes(
    graph: Graph, sizes: tuple[int, ...], restricted: tuple[int, ...], targets: tuple[int, ...]
) -> tuple[int, ...]:
    """Nodes whose tables the conditional law of `targets` depends on.

    Among the ancestors of targets and evidence, those with a variable that is connected to a target once variables known
    exactly are taken out: the others are d-separated from the targets and contribute one factor to all their levels.
    """
    near: dict[int, list[int]] = {}
    scopes = {}
    for node in sorted(ancestors(graph, (*restricted, *targets))):
        scopes[node] = [v for v in (node, *graph[node]) if sizes[v] > 1]
        for v in scopes[node]:
            near.setdefault(v, []).append(node)
    reached = set(targets)
    waiting = list(targets)
    while waiting:
        for node in near.pop(waiting.pop(), ()):
            fresh = [v for v in scopes[node] if v not in reached]
            reached.update(fresh)
            waiting.extend(fresh)
    return tuple(node for node, scope in scopes.items() if not reached.isdisjoint(scope))


@lru_cache(maxsize=1024)
def plan_elimination(graph: Graph, sizes: tuple[int, ...], nodes: tuple[int, ...], target: int | None = None) -> Plan:
    """Sums the product of the nodes' tables over every variable but `target`. Never fails: see `Plan.check_width`."""
    scopes = {node: [v for v in (node, *graph[node]) if sizes[v] > 1] for node in nodes}
    order, width, entries = _best_order(scopes, sizes, target)
    if entries > TABLE_ENTRIES_MAX:
        return Plan((), (), width, entries, 0)
    place = {v: i for i, v in enumerate(order)}
    tables = tuple((node, tuple(sorted(scope, key=place.__getitem__))) for node, scope in scopes.items())
    steps = _Steps(sizes, [scope for _, scope in tables])
    for variable in order:
        if variable != target:
            steps.eliminate(variable, place)
    steps.finish(target)
    gathered = sum(_entries(scope, sizes) for _, scope in tables)
    return Plan(tables, tuple(steps.steps), width, entries, gathered + steps.work)


def _entries(scope: Collection[int], sizes: tuple[int, ...]) -> int:
    return math.prod(sizes[v] for v in scope)


class _Steps:
    """Replays an order on the tables' axes and writes down what happens."""

    def __init__(self, sizes: tuple[int, ...], scopes: list[tuple[int, ...]]) -> None:
        self.sizes = sizes
        self.scopes = scopes
        self.unscaled = [1] * len(scopes)
        self.live: dict[int, set[int]] = {}
        self.scalars: list[int] = []
        self.steps: list[Step] = []
        self.work = 0
        for table in range(len(scopes)):
            self._enter(table)

    def _enter(self, table: int) -> None:
        for v in self.scopes[table]:
            self.live.setdefault(v, set()).add(table)
        if not self.scopes[table]:
            self.scalars.append(table)

    def eliminate(self, variable: int, place: dict[int, int]) -> None:
        inputs = self._take(variable)
        scope = set().union(*(self.scopes[table] for table in inputs)) - {variable}
        ordered = tuple(sorted(scope, key=place.__getitem__))
        self._enter(self._step(self._thinned(inputs, place), ordered, variable))

    def finish(self, target: int | None) -> None:
        inputs = [*(self._take(target) if target is not None else ()), *sorted(self.scalars)]
        scope = () if target is None else (target,)
        self._step(self._thinned(inputs, {target: 0} if target is not None else {}), scope, None)

    def _take(self, variable: int) -> list[int]:
        """Smallest tables first, so that partial products stay small."""
        inputs = sorted(self.live.pop(variable, ()), key=lambda t: (_entries(self.scopes[t], self.sizes), t))
        for table in inputs:
            for v in self.scopes[table]:
                if v != variable:
                    self.live[v].discard(table)
        return inputs

    def _thinned(self, inputs: list[int], place: dict[int, int]) -> list[int]:
        """Products of neighbours in the list, scaled, until what is left can be multiplied without scaling."""
        while sum(self.unscaled[table] for table in inputs) > UNSCALED_MAX:
            groups: list[list[int]] = [[]]
            for table in inputs:
                if sum(self.unscaled[each] for each in groups[-1]) + self.unscaled[table] > UNSCALED_MAX:
                    groups.append([])
                groups[-1].append(table)
            inputs = [group[0] if len(group) == 1 else self._product(group, place) for group in groups]
        return inputs

    def _product(self, group: list[int], place: dict[int, int]) -> int:
        scope = set().union(*(self.scopes[table] for table in group))
        return self._step(group, tuple(sorted(scope, key=place.__getitem__)), None)

    def _step(self, inputs: list[int], scope: tuple[int, ...], variable: int | None) -> int:
        axes = scope if variable is None else (variable, *scope)
        shapes = tuple(tuple(self.sizes[v] if v in self.scopes[t] else 1 for v in axes) for t in inputs)
        unscaled = sum(self.unscaled[table] for table in inputs)
        rescale = unscaled > UNSCALED_MAX // 2
        self.steps.append(Step(tuple(inputs), shapes, scope, variable, rescale))
        self.scopes.append(scope)
        self.unscaled.append(1 if rescale else unscaled)
        self.work += len(inputs) * _entries(axes, self.sizes)
        return len(self.scopes) - 1


Rule = Callable[[int, int], tuple[int, int]]
"""(new edges, entries) → what is smallest for the variable to take next."""


def _best_order(
    scopes: dict[int, list[int]], sizes: tuple[int, ...], target: int | None
) -> tuple[tuple[int, ...], int, int]:
    """(order with the target last, induced width, largest table); stops where a table is too large."""
    near: dict[int, int] = {} if target is None else {target: 0}
    for scope in scopes.values():
        mask = sum(1 << v for v in scope)
        for v in scope:
            near[v] = near.get(v, 0) | mask & ~(1 << v)
    rules: tuple[Rule, ...] = (lambda fill, entries: (fill, entries), lambda fill, entries: (entries, fill))
    found = [_greedy(dict(near), sizes, target, rule) for rule in rules]
    _, _, entries, width, order = min((e > TABLE_ENTRIES_MAX, total, e, w, order) for order, w, e, total in found)
    return order, width, entries


def _greedy(
    near: dict[int, int], sizes: tuple[int, ...], target: int | None, rule: Rule
) -> tuple[tuple[int, ...], int, int, int]:
    """`near` holds neighbours as bits. Returns order, width, largest table and the sum of all tables."""
    scores = {v: _score(near, sizes, v, rule) for v in near if v != target}
    heap = [(score, v) for v, score in scores.items()]
    heapq.heapify(heap)
    order, width = [], 0
    largest = total = 1
    while heap and largest <= TABLE_ENTRIES_MAX:
        score, v = heapq.heappop(heap)
        if scores.get(v) != score:
            continue
        del scores[v]
        around = near.pop(v)
        entries = sizes[v] * math.prod(sizes[u] for u in _bits(around))
        order.append(v)
        width, largest, total = max(width, around.bit_count()), max(largest, entries), total + entries
        for u in _bits(_join(near, v, around)):
            if u in scores:
                scores[u] = _score(near, sizes, u, rule)
                heapq.heappush(heap, (scores[u], u))
    return (*order, *(() if target is None else (target,))), width, largest, total


def _join(near: dict[int, int], v: int, around: int) -> int:
    """Takes v out and makes its neighbours neighbours of each other; returns whose score this may change.

    Those are the neighbours, and for each new edge the variables next to both its ends.
    """
    added = {}
    for u in _bits(around):
        added[u] = around & ~(near[u] | 1 << u)
        near[u] = (near[u] | around) & ~(1 << v | 1 << u)
    changed = around
    for u, ends in added.items():
        for w in _bits(ends):
            changed |= near[u] & near[w]
    return changed


def _score(near: dict[int, int], sizes: tuple[int, ...], v: int, rule: Rule) -> tuple[int, int]:
    around = near[v]
    degree = around.bit_count()
    if 2**degree > TABLE_ENTRIES_MAX:
        # Too large whatever the sizes: comes after all others, by degree, and is not worth counting.
        return rule(NODES_MAX**2, 2**degree)
    members = list(_bits(around))
    present = sum((near[u] & around).bit_count() for u in members)
    fill = (len(members) * (len(members) - 1) - present) // 2
    return rule(fill, sizes[v] * math.prod(sizes[u] for u in members))


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
