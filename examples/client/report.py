"""A report on a release in Markdown, on standard output: what it promises, what it says, and how sure one can be.

    POSTERN_URL=… POSTERN_KEY=… python examples/client/report.py RELEASE

Questions are fixed before any answer is seen and asked together, so all regret bounds hold at once.
"""

import sys
from collections.abc import Iterator

from postern.client import Answer, Client, Question, Release, expression, interval, squared


def report(release: Release) -> Iterator[str]:
    card, samples = release.card(), release.samples()
    yield f"# Release {release.id}\n"
    yield f"ε = {card.epsilon:.3g} at δ = {card.delta:.1g} for each of {card.n} people, {samples.receipt.samples} samples read.\n"
    yield from (f"- {line.text}" for line in card.lines)
    summary = release.summary()
    yield f"\nIn the {summary.view} view:\n\n```text\n{summary}\n```\n"
    yield from (f"- {warning.code}: {warning.detail}" for warning in summary.warnings)
    asked = {
        f"P({each.name} > {(each.lower + each.upper) / 2:.3g})": Question(
            squared(), expression(f"`{each.name}` > {(each.lower + each.upper) / 2!r}")
        )
        for each in release.parameters
    }
    asked |= {
        f"half of {each.name}": Question(interval(0.5), release.estimand(each.name)) for each in release.parameters
    }
    answers = release.ask_many(asked.values(), together=True)
    for words, answer in zip(asked, answers, strict=True):
        told = f"{answer.response}, regret ≤ {answer.regret.bound:.2g}" if isinstance(answer, Answer) else "refused"
        yield f"- {words}: {told}"
    yield f"\nreceipt: {'verified' if release.verify_receipt(samples) else 'DOES NOT VERIFY'}"


if __name__ == "__main__":
    with Client() as client:
        for line in report(client.release(sys.argv[1])):
            print(line)
