"""Records put together a block at a time are those that one character after the other makes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import InvalidRows
from app.sources.files.joined_lines import BREAK, LineJoiner


def one_by_one(text: str) -> tuple[list[str], list[tuple[int, int]], int | None]:
    """(records, (record, lines beyond the first), line of a quote never closed), by a reader of single characters."""
    records, several = [], []
    made, cell_starts, inside, broken = "", True, False, False
    line = first = 1
    at = 0
    while at < len(text):
        sign = text[at]
        if sign == "\n":
            line += 1
            if inside:
                made += BREAK.decode()
            else:
                records.append(made)
                if line - first > 1:
                    several.append((len(records), line - first - 1))
                made, cell_starts, broken, first = "", True, False, line
            at += 1
            continue
        made += BREAK.decode() if sign == "\r" and line > first else sign
        if broken:
            pass
        elif inside and sign == '"':
            if text[at + 1 : at + 2] == '"':
                made += '"'
                at += 1
            else:
                inside, broken = False, text[at + 1] not in ",\n"
        elif not inside and sign == '"':
            inside, broken = cell_starts, not cell_starts
        cell_starts = sign == "," and not inside
        at += 1
    return records, several, first if inside else None


lines = st.lists(
    st.one_of(
        st.sampled_from(
            [
                '"a',
                'a"',
                '"a","b',
                'b"',
                '1,"x',
                'y",2',
                '"""',
                '""',
                "plain",
                '"say ""hi',
                'there"""',
                'dr"ug',
                "",
                '"a"b',
            ]
        ),
        st.text(alphabet='a",é\r', max_size=6),
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=300, deadline=None)
@given(lines, st.lists(st.integers(1, 5), min_size=14, max_size=14))
def test_blocks_of_lines_make_the_records_that_single_characters_make(lines: list[str], cuts: list[int]):
    wanted, several, unclosed = one_by_one("".join(f"{line}\n" for line in lines))
    joiner, text, met, problem = LineJoiner(","), b"", [], None
    at = 0
    for cut in cuts:
        block = "".join(f"{line}\n" for line in lines[at : at + cut]).encode()
        if block:
            made = joiner.joined(block)
            text += made.text
            met += zip(made.records.tolist(), made.extra.tolist(), strict=True)
        at += cut
    try:
        joiner.close()
    except InvalidRows as error:
        problem = error.rows[0].line
    assert (text.decode().split("\n")[:-1], met, problem) == (wanted, several, unclosed)
