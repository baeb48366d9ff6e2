"""The lines of a guarantee card: one function each, from public numbers only (PRIVACY §7).

Every line says its value, whether it is exact, certified (a proven bound) or asymptotic, what it assumes, and one
sentence for someone who is not a mathematician.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.kinds import FitCheck, ReleaseModel, check_of, kind_of
from app.core.kinds.group_costs import ReleaseLosses
from app.core.kinds.kind import CardWords
from app.core.kinds.plan_figures import finite
from app.core.privacy import ORDERS
from app.core.privacy import statements as say
from app.core.privacy.concentrated import certified_gdp_mu, release_rho
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.together.path import GroupCost
from app.core.schema import Column
from app.services.reading.inferences import lines as about

ERROR_SHOWN = 0.05
WEAK_EPSILON = 20.0
"""From here the card says that a pure ε alone protects nobody: a factor of half a billion."""
NO_PURE = (
    "This figure follows from a pure ε, or from a countable set of records; there is none to compute it from here."
)
REPLACE_ONE = "the same n people, one person's data replaced; presence and n are public"


SAME_PUBLIC = (
    "the same n people with the same public columns, one person's other data replaced; presence, n and {} are public"
)


def neighbours_of(columns: Mapping[str, Column]) -> str:
    """Who is told apart by what everybody knows is not protected, in any release of the dataset."""
    public = [name for name, column in columns.items() if column.public]
    return SAME_PUBLIC.format(", ".join(map(repr, public))) if public else REPLACE_ONE


@dataclass(frozen=True, slots=True)
class CardFacts:
    model: ReleaseModel
    cost: ReleaseCost
    delta: float
    people: int
    unit_rows: int
    budget_epsilon: float | None
    """What holds for all releases together: the cap, or more where that was lowered below what is spent."""
    cap_epsilon: float
    check: FitCheck | None = None
    neighbours: str = REPLACE_ONE
    known_groups: dict[int, GroupCost] = field(default_factory=dict)
    """Remembered between lines."""

    @property
    def words(self) -> CardWords:
        return kind_of(self.model).card

    @property
    def paid_per_sample(self) -> bool:
        return self.cost.per_sample.pure > 0

    @property
    def pure(self) -> float:
        """Infinite where only (ε, δ) is promised."""
        return self.cost.total.pure

    @property
    def slack(self) -> float:
        """The part of δ an inexact sampler takes, for all samples."""
        return self.cost.total.slack_delta

    @property
    def losses(self) -> ReleaseLosses:
        """Of groups of people, by what one person costs."""
        return ReleaseLosses(
            self.model, None, self.cost, self.people, self.unit_rows, self.cost.samples, known=self.known_groups
        )

    @property
    def check_kl(self) -> float:
        """What the check of fit adds to every Kullback–Leibler divergence: at most its Rényi divergence."""
        return 0.0 if self.check is None else self.check.cost(self.unit_rows).curve[0]

    def assuming(self, assumption: str) -> str:
        if not self.slack > 0:
            return assumption
        return (
            f"{assumption}; apart from a probability of {self.slack:.3g}, the sampler's slack for {self.cost.samples} samples; "
            "certified given the sampler's declared allowance"
        )


def _line(name: str, value: Any, basis: str, assumption: str, text: str) -> dict[str, Any]:
    return {"name": name, "value": value, "basis": basis, "assumption": assumption, "text": text}


def vacuous_line(epsilon: float, ceiling: float) -> dict[str, Any]:
    text = (
        f"WARNING: ε = {epsilon:.3g} is above {ceiling:g}, the ceiling of this service. This release promises next to nothing; "
        "such a release is made only if its steward forces it, or before the ceiling is lowered."
    )
    return _line("vacuous", True, "exact", "none", text)


def _approximate(facts: CardFacts) -> dict[str, Any]:
    total = facts.cost.total
    epsilon, by_curve = total.alone(facts.delta), total.epsilon(facts.delta)
    text = (
        "Take anything that everyone together may conclude from this release, with any number of questions. Had one person's "
        f"data been replaced, it would have been concluded with at least 1/{_factor(epsilon)} of the probability, apart from a "
        f"probability of {facts.delta:g}."
    )
    if facts.delta * facts.people >= 1:
        text += f" With {facts.people} people that exception is not small: it leaves room for the whole record of one of them."
    if epsilon < by_curve:
        text += (
            " This is by the law of this release's own privacy loss. Beside other releases its Rényi curve counts, which adds up "
            f"and alone would come to ε = {by_curve:.4g}."
        )
    assumption = facts.assuming(facts.neighbours) + ("; δ includes that probability" if facts.slack > 0 else "")
    return _line("approximate", {"epsilon": epsilon, "delta": facts.delta}, "certified", assumption, text)


def _pure(facts: CardFacts) -> dict[str, Any]:
    pure = facts.pure
    if math.isinf(pure):
        text = "There is no pure guarantee (δ = 0): the noise or the sampler behind this release gives (ε, δ) only."
        return _line("pure", None, "exact", facts.neighbours, text)
    text = (
        "No matter what else they know, nobody can raise their odds about one person, whose data are independent of "
        f"everyone else's, by more than a factor {_factor(pure)}: the worst case over every outcome, with δ = 0."
    )
    if pure > WEAK_EPSILON:
        text += " On its own that is no protection worth the name; what protects is the line with δ above."
    assumption = f"{facts.neighbours}; odds between any two values of the person's data"
    return _line("pure", finite(pure), "certified", assumption, text)


def _renyi(facts: CardFacts) -> dict[str, Any]:
    basis, _, how = facts.cost.method.partition(": ")
    value = [[order, bound] for order, bound in zip(ORDERS, facts.cost.total.curve, strict=True)]
    text = f"Rényi divergence between outputs on neighbouring datasets, at most this at each order: {how}."
    return _line("renyi", value, basis, facts.assuming(facts.neighbours), text)


def _zcdp(facts: CardFacts) -> dict[str, Any]:
    rho = release_rho(facts.cost)
    if rho is None:
        return _line(
            "zcdp_rho", None, "exact", facts.neighbours, "There is no ρ: the curve is not known to stay below any ρ·α."
        )
    text = f"Zero-concentrated differential privacy: at every order α the Rényi divergence is at most {rho:.4g}·α."
    return _line("zcdp_rho", rho, "certified", facts.neighbours, text)


def _gdp(facts: CardFacts) -> dict[str, Any]:
    mu = certified_gdp_mu(facts.cost)
    if mu is None:
        return _line("gdp_mu", None, "exact", facts.neighbours, "There is no μ: only (ε, δ) is promised here.")
    text = (
        "Telling from this release whether one person's data were replaced is at least as hard as telling a unit normal of mean "
        f"0 from one of mean {mu:.4g}, from a single draw."
    )
    noise = "; noise on whole numbers is that up to ratios of probabilities of e^±10⁻¹³" if facts.cost.gaussian else ""
    return _line("gdp_mu", mu, "certified", facts.neighbours + noise, text)


def _papers(facts: CardFacts) -> dict[str, Any]:
    theirs, ours = facts.cost.papers_pure, facts.pure
    if math.isinf(theirs):
        text = "The papers behind this mechanism state no figure for it."
    else:
        compared = "ours has a δ and is above" if math.isinf(ours) else f"ours is {ours:.4g}"
        text = f"The papers behind this mechanism would report a pure ε of {theirs:.4g} for this release; {compared}."
    return _line("papers_lipschitz", finite(theirs), "certified", _papers_assumption(facts), text)


def _papers_assumption(facts: CardFacts) -> str:
    if not facts.paid_per_sample:
        return "the ε of the noise or of the choice, as the papers state it for one release; never charged"
    return facts.words.papers_assumption(facts.model, facts.unit_rows)


def _robustness(facts: CardFacts) -> dict[str, Any]:
    what = "one sample" if facts.paid_per_sample else "the whole release"
    nats = facts.cost.kl_sup + (0.0 if facts.paid_per_sample else facts.check_kl)
    text = (
        f"On average, {what} speaks for the true data against data with one person's replaced by at most "
        f"{nats:.3g} nats (Kullback–Leibler divergence)."
    )
    return _line("robustness", nats, "certified", facts.assuming(facts.neighbours), text)


def _distinguishability(facts: CardFacts) -> dict[str, Any]:
    draws = facts.cost.samples if facts.paid_per_sample else 1
    floor = max(0.0, say.error_floor(draws * facts.cost.kl_sup + facts.check_kl) - 2 * facts.slack)
    value: dict[str, Any] = {"error_sum_at_least": floor}
    text = (
        "Whoever tries to tell from this release whether one person's data were replaced will err: their two error rates "
        f"sum to at least {floor:.3g}."
    )
    if facts.paid_per_sample:
        needed = say.samples_to_distinguish(facts.cost.kl_sup, ERROR_SHOWN, facts.check_kl)
        value |= {"error": ERROR_SHOWN, "samples_needed": finite(needed)}
        changed = facts.cost.papers_pure / (2 * facts.cost.samples)  # τ·L·ρ
        value |= {"papers": say.papers_samples_to_distinguish(changed, ERROR_SHOWN)}
        least = math.floor(needed) if math.isfinite(needed) else "infinitely many"
        text += f" Both at most {ERROR_SHOWN:g} would take more than {least} samples; there are {facts.cost.samples}."
    assumption = "Bretagnolle–Huber; the papers' figure is shown as theirs and concludes too much"
    return _line("distinguishability", value, "certified", facts.assuming(assumption), text)


def _inferential(facts: CardFacts) -> dict[str, Any]:
    value = about.inferential_value(facts.pure, facts.losses, facts.delta)
    return _line(
        "inferential", value, "certified", facts.assuming(about.INFERENTIAL_ASSUMPTION), about.inferential_text(value)
    )


def _guess(facts: CardFacts) -> dict[str, Any]:
    value = about.guess_value(facts.losses, facts.delta)
    assumption = "one of two equally likely values of one person; who is not named is independent of them"
    return _line("guess", value, "certified", facts.assuming(assumption), about.told_guess(value))


def _reconstruction(facts: CardFacts) -> dict[str, Any]:
    value = about.reconstruction_value(facts.losses)
    text = (
        "Whoever writes down everybody's data after reading this release is wrong about at least "
        f"{value['missed_at_least']:.3g} people on average, whatever the data of the others, for some data of {value['group']}."
    )
    assumption = "Le Cam's two points: some dataset, on average over the release, whatever the method"
    return _line("reconstruction", value, "certified", facts.assuming(assumption), text)


def _leakage(facts: CardFacts) -> dict[str, Any]:
    if math.isinf(facts.pure):
        return _line("min_entropy_leakage_bits", None, "exact", "from the pure ε only", NO_PURE)
    bits = say.leakage_bits(facts.pure, 2)
    assumption = "one person with one of two equally likely records; from the pure ε only"
    text = f"The whole release leaks at most {bits:.3g} of the 1 bit there is to know about such a record.{_saturated(facts)}"
    return _line("min_entropy_leakage_bits", bits, "certified", assumption, text)


def _leakage_of_any(facts: CardFacts) -> dict[str, Any]:
    told_apart = facts.words.records if facts.check is None else check_of(facts.model).records
    values = told_apart(facts.model, facts.unit_rows)
    if values is None or math.isinf(facts.pure):
        return _line("min_entropy_leakage_bits_any_record", None, "exact", "from the pure ε only", NO_PURE)
    bits = say.leakage_bits(facts.pure, values)
    assumption = f"one person with one of {values} equally likely records, all the statistic tells apart; pure ε only"
    text = f"The whole release leaks at most {bits:.3g} of the {math.log2(values):.3g} bits there are to know about it."
    text += _saturated(facts)
    return _line("min_entropy_leakage_bits_any_record", bits, "certified", assumption, text)


def _saturated(facts: CardFacts) -> str:
    return " Saturated: at so large a pure ε this line says nothing." if facts.pure > WEAK_EPSILON else ""


def _budget(facts: CardFacts) -> dict[str, Any]:
    holds = facts.budget_epsilon
    value = {"epsilon": holds, "delta": facts.delta}
    assumption = f"{facts.neighbours}; releases chosen one after the other, each after seeing the last"
    together = (
        "The figures above are those of this release. All releases of this dataset together, past and future, are kept "
    )
    if holds is None:
        text = f"{together}within nothing finite at δ = {facts.delta:g}: that δ was lowered after more of it was used."
    else:
        text = f"{together}within ε = {holds:g} at δ = {facts.delta:g}: a factor {_factor(holds)}."
    if holds != facts.cap_epsilon:
        text += (
            f" The cap, ε = {facts.cap_epsilon:g}, was lowered below what had been spent: it admits nothing more, and promises "
            "nothing."
        )
    return _line("budget", value, "certified", assumption, text)


def _collusion(facts: CardFacts) -> dict[str, Any]:
    held = "Analysts hold prefixes of one sample set. All of them together know the longest and no more"
    if not facts.paid_per_sample:
        noisy = facts.words.noisy(facts.model, facts.unit_rows)
        held = f"The samples were computed from {noisy}, paid for once: fewer or more of them reveal no more"
    covered = f"which pay for all {facts.cost.samples}, cover every coalition and a thief of the database"
    text = f"{held}, so the figures above, {covered}."
    return _line("collusion", facts.cost.samples, "exact", "none", text)


def check_line(check: FitCheck, model: ReleaseModel, unit_rows: int, delta: float, neighbours: str) -> dict[str, Any]:
    """Only for a release that has one."""
    cost, bins = check.cost(unit_rows), check_of(model).request(model).bins
    value = {"epsilon": cost.epsilon(delta), "delta": delta, "pure_epsilon": finite(cost.pure), "bins": bins}
    text = (
        f"A check of fit was paid for with this release: {check.noise} noise on the numbers of rows in {bins} public bins. "
        "Everyone with a right to the release reads the noisy counts and the verdict on them. The figures above include it."
    )
    return _line("check", value, "certified", neighbours, text)


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 700 else "larger than any number worth writing down"


LINES: tuple[Callable[[CardFacts], dict[str, Any]], ...] = (
    _approximate,
    _pure,
    _renyi,
    _zcdp,
    _gdp,
    _papers,
    _robustness,
    _distinguishability,
    _inferential,
    _guess,
    _reconstruction,
    _leakage,
    _leakage_of_any,
    _collusion,
    _budget,
)

COMPOSED_LINES = (_approximate, _pure, _renyi, _zcdp, _gdp, _budget)
"""Those that hold of any composition, of several models too."""
