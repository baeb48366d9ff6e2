"""Networks read from BIF text and pgmpy-style JSON: what the format says, and refusals that name the place."""

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.kinds.networks.evidence.compiled import compile_evidence
from app.core.kinds.networks.exchange.bif import TEXT_LENGTH_MAX, network_from_bif, network_to_bif
from app.core.kinds.networks.exchange.network_json import network_from_json
from app.core.kinds.networks.structure import Node, build_network
from app.errors import InvalidModel
from tests.core.networks.network_cases import draw_samples, random_network

SPRINKLER = """
// four variables of a garden
network "my garden" { property author = somebody (or else); }
variable rain { type discrete [ 2 ] { no, yes }; property position = (73, 165) ; }
variable "the sprinkler" { type discrete[2] { off on }; }
variable season { type discrete [ 3 ] { dry, "half; dry", wet }; } /* declared after
  its child */
variable grass { type discrete [ 2 ] { dry, wet }; }
probability ( season ) { table 0.5, .25, 2.5e-1; }
probability ( rain | season ) { (wet) 0.2, 0.8; (dry) 0.9, 0.1; default 0.6, 0.4; }
probability ( "the sprinkler", rain ) { table 0.6 0.99 0.4 0.01; }
probability ( grass | "the sprinkler", rain ) {
  (off, no) 1.0, 0.0; (off, yes) 0.2, 0.8; (on, no) 0.1, 0.9; (on, yes) 0.01, 0.99;
}
"""


def test_every_kind_of_block_and_entry_lands_in_its_columns() -> None:
    read = network_from_bif(SPRINKLER, concentration=0.5)
    names = list(read.network.cell_names())
    found = dict(zip(names, read.probabilities.tolist(), strict=True))
    assert [node.name for node in read.network.nodes] == ["season", "rain", "the sprinkler", "grass"]
    assert read.network.nodes[0].levels == ("dry", "half; dry", "wet")
    assert read.network.nodes[0].concentration == (0.5, 0.5, 0.5)
    assert found["season=half; dry"] == 0.25
    assert found["rain=yes|season=wet"] == 0.8
    assert found["rain=no|season=half; dry"] == 0.6
    assert found["the sprinkler=on|rain=no"] == 0.4
    assert found["the sprinkler=off|rain=yes"] == 0.99
    assert found["grass=wet|the sprinkler=on,rain=no"] == 0.9


def test_an_imported_network_answers_questions() -> None:
    """P(rain | grass wet), summed by hand: rain 0.45; wet 0.8·0.99 + 0.99·0.01 with rain, 0.9·0.4 without."""
    read = network_from_bif(SPRINKLER)
    asked = compile_evidence(read.network, event={"rain": "yes"}, evidence={"grass": "wet"})
    rain = 0.5 * 0.1 + 0.25 * 0.4 + 0.25 * 0.8
    wet = rain * (0.8 * 0.99 + 0.99 * 0.01), (1 - rain) * 0.9 * 0.4
    assert asked.values(read.probabilities[None, :])[0] == pytest.approx(wet[0] / sum(wet), abs=1e-15)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1))
def test_a_sample_written_as_bif_is_read_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, nodes=6, fan_in=3)
    cells = draw_samples(network, 1, rng)[0]
    read = network_from_bif(network_to_bif(network, cells))
    assert read.network == network
    np.testing.assert_allclose(read.probabilities, cells, rtol=4e-16, atol=0)


def test_names_of_any_printable_kind_but_quotation_marks_survive() -> None:
    odd = build_network([Node("a b,c|{//}", ("/*x*/", "table"), (), (1.0, 1.0))])
    assert network_from_bif(network_to_bif(odd, np.array([0.25, 0.75]))).network == odd
    with pytest.raises(InvalidModel):
        network_to_bif(build_network([Node('a"b', ("x", "y"), (), (1.0, 1.0))]), np.array([0.5, 0.5]))


ONE = "variable a { type discrete [ 2 ] { x, y }; } "


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "1 to"),
        (ONE, "'a' has none"),
        ("\n\nnonsense", "line 3"),
        (ONE + "probability ( a ) { table 0.5, 0.6; }", "sum to one"),
        (ONE + "probability ( a ) { table 1.5, -0.5; }", "2 probabilities"),
        (ONE + "probability ( a ) { table nan, 1; }", "2 probabilities"),
        (ONE + "probability ( a ) { table e5, 1; }", "2 probabilities"),
        (ONE + "probability ( a ) { table 1e400, 1; }", "from 0 to 1"),
        (ONE + "probability ( a ) { table 0.5; }", "2 probabilities"),
        (ONE + "probability ( a ) { table 0.5, 0.5", "before the end"),
        (ONE + "probability ( a | b ) { table 0.5, 0.5; }", "declared"),
        (ONE + "probability ( a ) { } ", "every configuration"),
        (ONE + "probability ( a ) { table 1, 0; table 1, 0; } ", "a table"),
        (ONE + "probability ( a ) { table 1, 0; } probability ( a ) { table 1, 0; } ", "one probability block"),
        (ONE + ONE, "once"),
        ("variable a { type discrete [ 3 ] { x, y }; }", "declared, 3"),
        ("variable a { type continuous; }", "'discrete'"),
        ("variable a { }", "a type"),
        ("variable a { type discrete [ 2 ] { x, x }; } probability ( a ) { table 1 0; }", "different levels"),
        ("/* never closed", "closed comments"),
        ('variable "never closed', "closed comments"),
        (ONE + 'probability "(" a ) { table 1 0; }', "'('"),
        (
            ONE + "variable b { type discrete [ 2 ] { x, y }; } probability ( a | b ) { (x) 1 0; (x) 1 0; }",
            "configuration once",
        ),
        (
            ONE + "variable b { type discrete [ 2 ] { x, y }; } probability ( a | b ) { (z) 1 0; }",
            "one level of each parent",
        ),
        (
            ONE
            + "variable b { type discrete [ 2 ] { x, y }; } probability ( a | b ) { default 1 0; }"
            + "probability ( b | a ) { default 1 0; }",
            "cycle",
        ),
        ("x" * (TEXT_LENGTH_MAX + 1), "at most"),
        (None, "text"),
    ],
)
def test_text_that_is_no_network_is_refused_with_the_reason(text: Any, words: str) -> None:
    with pytest.raises(InvalidModel) as refusal:
        network_from_bif(text)
    assert refusal.value.problems[0].field.startswith("model.bif")
    assert words in refusal.value.problems[0].expected


WORDS = ["variable", "probability", "network", "type", "discrete", "table", "default", "property", "2", "a", "b", "0.5"]
PIECES = [*"{}()[];,|\n", *(f"{word} " for word in WORDS), '"', "//", "/*", "*/"]


@given(text=st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_no_text_breaks_the_reader(text: str) -> None:
    """Anything but a network or a refusal would fail here."""
    with suppress(InvalidModel):
        network_from_bif(ONE + text)


def garden() -> dict[str, Any]:
    return {
        "nodes": ["wet", "rain"],
        "edges": [["rain", "wet"]],
        "cpds": [
            {"variable": "rain", "variable_card": 2, "values": [[0.8], [0.2]], "state_names": {"rain": [False, True]}},
            {
                "variable": "wet",
                "variable_card": 3,
                "values": [[0.9, 0.1], [0.1, 0.2], [0, 0.7]],
                "evidence": ["rain"],
                "evidence_card": [2],
            },
        ],
    }


def test_a_table_with_a_column_a_configuration_lands_in_its_cells() -> None:
    read = network_from_json(garden())
    assert list(read.network.cell_names())[:3] == ["rain=false", "rain=true", "wet=0|rain=false"]
    assert read.probabilities.tolist() == pytest.approx([0.8, 0.2, 0.9, 0.1, 0.0, 0.1, 0.2, 0.7])


@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        (("nodes",), ["wet", "wet"], "model.network.nodes"),
        (("nodes",), "wet", "model.network.nodes"),
        (("edges",), [["rain", "snow"]], "model.network.edges.0"),
        (("edges",), [["rain", "wet"], ["rain", "wet"]], "model.network.edges.1"),
        (("edges",), [], "model.network.cpds.1.evidence"),
        (("cpds",), [], "model.network.cpds"),
        (("cpds", 0), 3, "model.network.cpds.0"),
        (("cpds", 0, "variable"), "wet", "model.network.cpds.1.variable"),
        (("cpds", 0, "variable_card"), True, "model.network.cpds.0.variable_card"),
        (("cpds", 0, "extra"), 1, "model.network.cpds.0"),
        (("cpds", 0, "values"), [[0.8, 0.2]], "model.network.cpds.0.values"),
        (("cpds", 0, "values"), [[0.8], [float("nan")]], "model.network.cpds.0.values"),
        (("cpds", 0, "values"), [[0.8], ["0.2"]], "model.network.cpds.0.values"),
        (("cpds", 0, "values"), [[0.8], [0.3]], "model.network.nodes.rain"),
        (("cpds", 1, "evidence_card"), [3], "model.network.cpds.1.evidence_card"),
        (("cpds", 1, "evidence"), ["rain", "rain"], "model.network.cpds.1.evidence"),
        (("cpds", 1, "state_names"), {"rain": [True, False]}, "model.network.cpds.1.state_names"),
        (("cpds", 1, "state_names"), {"snow": ["a"]}, "model.network.cpds.1.state_names"),
        (("cpds", 1, "state_names"), {"wet": ["a", "b"]}, "model.network.cpds.1.state_names"),
        (("cpds", 1, "state_names"), {"wet": [[], {}, None]}, "model.network.cpds.1.state_names.wet"),
    ],
)
def test_json_that_contradicts_itself_is_refused_by_field(place: tuple[Any, ...], value: Any, field: str) -> None:
    spec: Any = garden()
    holder = spec
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    with pytest.raises(InvalidModel) as refusal:
        network_from_json(spec)
    assert refusal.value.problems[0].field == field


@pytest.mark.parametrize("spec", [None, [], "x", {"nodes": []}, {"nodes": [], "edges": [], "cpds": [], "more": 1}])
def test_json_of_another_shape_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidModel):
        network_from_json(spec)
