"""The small print of answers and summary rows: `coverage` of an interval, and `warnings` with stable codes.

    rehearsal         both views: the rows are made up
    too_few_samples   samples view: fewer than ten, or an interval that may hold the truth noticeably less often than it says
    at_public_edge    samples view: the samples are piled up at an end of their public range
    temperature       samples view: drawn below temperature 1, so their spread is not the posterior's
    approximate       calibrated view: points are of a finite chain or of a law that is nearly the exact one
    model_unchecked   both views: an assumption about how rows come about that nobody has paid to check
    model_doubtful    both views: a check of fit was paid for, and speaks against the model
    independence_assumed   both views: draws of several models, or of several releases, were paired as if these were independent

All of it follows from public numbers but `at_public_edge`, which follows from the reader's own prefix, and `model_doubtful`,
which follows from the noisy histogram that all readers of the release have paid for.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from app.core.decisions import CALIBRATED, Question
from app.core.decisions.estimands.estimand import Observed
from app.core.decisions.estimands.parameter import ParameterEstimand
from app.core.decisions.small_print import FEW_SAMPLES, End, Ranks, end_piled_at
from app.core.decisions.utilities.interval import Interval
from app.core.parameters import Parameter
from app.core.summaries import Summary
from app.services.reading.joint_parts import rests_on
from app.services.runtime.warm_cache import PublicRelease, PublishedRelease

Ends = tuple[Fraction, Fraction]
INDEPENDENCE = "independence_assumed"


@dataclass(frozen=True, slots=True)
class SmallPrint:
    """`coverage`: at least how often, on average over the prior, the interval holds the truth; None if nobody can say."""

    coverage: float | None = None
    warnings: list[dict[str, str]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {"coverage": self.coverage, "warnings": self.warnings}


def print_of_answer(question: Question, release: PublishedRelease) -> SmallPrint:
    public, utility = release.public, question.utility
    ends = utility.ends if isinstance(utility, Interval) and not isinstance(utility.estimand, Observed) else None
    piled = None
    if public.view != CALIBRATED and (index := _parameter_of(question)) is not None:
        piled = _named(public.parameters[index], release.samples.piled_at(index))
    told = _small_print(public, ends, piled, rests_on(public))
    return told if not public.beside else _with_others(public, told)


def _with_others(public: PublicRelease, told: SmallPrint) -> SmallPrint:
    """Nothing is said about coverage of pairs, and what stands in the way of taking one release at its word does so for all."""
    warnings = [each for each in told.warnings if each["code"] != INDEPENDENCE]
    for other in public.beside:
        own = _small_print(replace(other, size=public.size), None, None).warnings
        warnings += [each for each in own if each not in warnings]
    names = " and ".join(name for each in (public, *public.beside) for name in _told_apart(each))
    text = f"{public.size} of each of {names} were paired in order, as if what they tell were independent: nobody checked that"
    return SmallPrint(None, [*warnings, _warning(INDEPENDENCE, text)])


def _told_apart(public: PublicRelease) -> list[str]:
    """A release, or its parts that are read."""
    return [public.id] if public.parts is None else [f"{name} of {public.id}" for name in public.parts]


def print_of_row(public: PublicRelease, summary: Summary, level: Fraction) -> SmallPrint:
    """Of the central interval between the outer quantiles: the narrowest one is chosen by looking at the samples."""
    piled = None
    if public.view != CALIBRATED:
        piled = _named(summary.parameter, end_piled_at(summary.parameter, summary.mean, summary.sd))
    return _small_print(public, ((1 - level) / 2, (1 + level) / 2), piled)


def _parameter_of(question: Question) -> int | None:
    """The parameter an answer is about; of a release with one, that one whatever is made of it."""
    if isinstance(question.estimand, ParameterEstimand):
        return question.estimand.index
    return 0 if len(question.parameters) == 1 else None


def _named(parameter: Parameter, end: End | None) -> str | None:
    if end is None:
        return None
    value = parameter.lower if end == "lower" else parameter.upper
    return f"{end} end of the public range of {parameter.name}, {value:g}"


def _small_print(
    public: PublicRelease, ends: Ends | None, piled: str | None, together: tuple[str, ...] = ()
) -> SmallPrint:
    ranks = None if ends is None else Ranks.of(ends, public.size)
    warnings = []
    if public.rehearsal:
        warnings.append(
            _warning("rehearsal", "this is a rehearsal: its rows are made up and it says nothing about anybody")
        )
    if public.view != CALIBRATED:
        short = ends is not None and ranks is not None and ranks.is_short(float(ends[1]) - float(ends[0]))
        if public.size < FEW_SAMPLES or short:
            text = f"{public.size} samples say too little about how far the truth may be from them"
            warnings.append(_warning("too_few_samples", text))
        if piled is not None:
            text = f"samples are piled up at the {piled}: the truth may lie beyond it"
            warnings.append(_warning("at_public_edge", text))
        if public.temperature is not None and public.temperature < 1:
            text = (
                f"samples were drawn at temperature {public.temperature:g}: their spread is not that of the posterior"
            )
            warnings.append(_warning("temperature", text))
    if public.approximate is not None:
        warnings.append(_warning("approximate", f"coverage is measured and not promised: {public.approximate}"))
    if public.assumes is not None:
        warnings.append(_warning("model_unchecked", f"this is taken for granted and was not checked: {public.assumes}"))
    if public.doubt is not None:
        warnings.append(_warning("model_doubtful", f"the check of fit speaks against the model: {public.doubt}"))
    if len(together) > 1:
        text = (
            f"{' and '.join(together)} are paired as independent given their parameters, which was not checked: where their "
            "columns go together, differences and other combinations are less or more certain than this says"
        )
        warnings.append(_warning(INDEPENDENCE, text))
    return SmallPrint(None if ranks is None else _coverage(public, ranks), warnings)


def _coverage(public: PublicRelease, ranks: Ranks) -> float | None:
    if public.view == CALIBRATED:
        return ranks.of_points() if public.approximate is None else None
    if ranks.low == ranks.high:
        return 0.0  # one sample twice: no interval, however it was drawn
    return ranks.of_draws(len(public.parameters)) if public.temperature == 1 else None


def _warning(code: str, detail: str) -> dict[str, str]:
    return {"code": code, "detail": detail}
