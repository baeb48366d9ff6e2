"""Decisions from samples: estimands, utilities, the best response and its regret bound (PSAQR)."""

from app.core.decisions.answer import Answer, answer_question
from app.core.decisions.question import CONFIDENCE_DEFAULT, Preview, Question
from app.core.decisions.regret import Regret
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.utilities import UTILITIES
from app.core.decisions.view import CALIBRATED, SAMPLES, VIEWS, View, view_asked

__all__ = [
    "CALIBRATED",
    "CONFIDENCE_DEFAULT",
    "SAMPLES",
    "UTILITIES",
    "VIEWS",
    "Answer",
    "Preview",
    "Question",
    "Regret",
    "SampleSet",
    "View",
    "answer_question",
    "view_asked",
]
