"""PSAQR: the best response to a question over the samples, with its regret bound.

An answer is a function of the question and the sample set alone (post-processing: it costs nothing), and the
same bytes on every process: the order of every addition is fixed, ties follow stated rules.
"""

from dataclasses import dataclass
from typing import Any

from app.core.decisions.question import Question
from app.core.decisions.regret import Regret
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.utilities.utility import Response


@dataclass(frozen=True, slots=True)
class Answer:
    """`expected_utility` and `regret.bound` share one scale, the utility's range as [0, 1].

    `samples` is how many the answer rests on; `why` compares with the runner-up where responses have names.
    """

    response: Response
    expected_utility: float
    regret: Regret
    why: dict[str, Any] | None
    samples: int

    def as_json(self) -> dict[str, Any]:
        regret = self.regret
        return {
            "response": self.response,
            "expected_utility": self.expected_utility,
            "regret": {"bound": regret.bound, "confidence": regret.confidence, "method": regret.method},
            "why": self.why,
            "samples": self.samples,
        }


def answer_question(question: Question, samples: SampleSet, *, questions: int = 1) -> Answer:
    """Raises InvalidExpression or InvalidQuery if the question needs too many operations for this many samples.

    `questions` T: the regret bounds of a batch of T hold together, as in `Question.regret`.
    """
    same = question.parameters is samples.parameters  # comparing 50,000 one by one takes longer than most answers
    if not same and question.parameters != samples.parameters:
        raise ValueError("the question was compiled for other parameters than these samples have")
    question.utility.check(samples.size)
    decision = question.utility.decide(samples)
    regret = question.regret(samples.size, decision.gap, questions)
    return Answer(decision.response, decision.expected_utility, regret, decision.why, samples.size)
