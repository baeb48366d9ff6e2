"""What charges on record would cost now, as a table for somebody who has to decide something late in the day."""

from collections.abc import Mapping, Sequence

from app.ledger.recost import Recost

HEADINGS = ("line", "account", "release", "law", "charged ε", "now ε", "less", "at δ", "pure then", "pure now", "")
WORDS = {
    "exact": "as charged",
    "over_charged": "cheaper now",
    "closer_then": "as charged: the bound was closer then",
    "under_charged": "TOO LITTLE WAS CHARGED",
    "not_recomputable": "cannot be computed again",
}


def recost_table(counts: Mapping[str, int], lines: Sequence[Recost]) -> str:
    """Every charge a row, then what it comes to in words."""
    rows = [HEADINGS, *(_row(line) for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    open_still = any(line.outcome == "over_charged" and not line.lowered for line in lines)
    return "\n".join([*table, "", *_summary(counts, open_still)])


def _row(line: Recost) -> tuple[str, ...]:
    return (
        str(line.sequence),
        line.account,
        line.release or "-",
        "-" if line.law is None else str(line.law),
        _figure(line.charged_epsilon),
        _figure(line.computed_epsilon),
        _figure(line.epsilon_less),
        f"{line.delta:g}",
        _pure(line.charged_pure_nano),
        _pure(line.computed_pure_nano),
        WORDS[line.outcome] + (", lowered since" if line.lowered else "") + (f": {line.why}" if line.why else ""),
    )


def _summary(counts: Mapping[str, int], open_still: bool) -> list[str]:
    told = [f"{counts[name]} {words.lower()}" for name, words in WORDS.items() if counts.get(name)]
    found = [", ".join(told) + "." if told else "Nothing was charged."]
    if open_still:
        found.append(
            "Nothing was refunded. To lower an account to what its charges cost now, by a signed line a release:\n"
            '  postern ledger recost --apply ACCOUNT --reason "which bound got tighter, and who decided"'
        )
    if counts.get("under_charged"):
        found.append(
            "A charge below its cost is a fault: a bound was wrong, or somebody signed what they should not have."
        )
    return found


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _pure(nano: int | None) -> str:
    return "none" if nano is None else f"{nano / 1e9:.4f}"
