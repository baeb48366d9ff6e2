"""Reading what was published: questions, summaries, densities, exports, cards, checks of fit. Nothing here charges."""

from app.services.reading.answer_batch import answer_queries, stream_queries
from app.services.reading.answer_query import answer_query, one_turn, preview_query
from app.services.reading.export_samples import build_export, describe_export, right_to
from app.services.reading.read_card import read_card
from app.services.reading.read_check import read_check
from app.services.reading.read_density import read_density
from app.services.reading.read_summary import read_summary

__all__ = [
    "answer_queries",
    "answer_query",
    "build_export",
    "describe_export",
    "one_turn",
    "preview_query",
    "read_card",
    "read_check",
    "read_density",
    "read_summary",
    "right_to",
    "stream_queries",
]
