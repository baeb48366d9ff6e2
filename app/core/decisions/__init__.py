"""Decisions from samples: estimands, utilities, the best response and its regret bound (PSAQR)."""

from app.core.decisions.answer import Answer, answer_question
from app.core.decisions.question import CONFIDENCE_DEFAULT, Preview, Question
from app.core.decisions.regret import Regret
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.utilities import UTILITIES

__all__ = [
    "CONFIDENCE_DEFAULT",
    "UTILITIES",
    "Answer",
    "Preview",
    "Question",
    "Regret",
    "SampleSet",
    "answer_question",
]
