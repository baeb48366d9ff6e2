"""Reading what was published: questions, tables, curves, files, synthetic rows, cards, checks of fit. Nothing here charges."""

from app.services.reading.answer_batch import answer_queries, stream_queries
from app.services.reading.answer_query import answer_query, one_turn, preview_query
from app.services.reading.built_files import build_export, right_to, worth_compressing
from app.services.reading.export_samples import describe_export
from app.services.reading.inferences.odds_picture import odds_picture
from app.services.reading.inferences.read_inference import read_inference
from app.services.reading.long_tables import describe_long
from app.services.reading.read_card import read_card
from app.services.reading.read_check import read_check
from app.services.reading.read_density import read_density
from app.services.reading.read_summary import read_summary
from app.services.reading.synthetic_rows import describe_synthetic

__all__ = [
    "answer_queries",
    "answer_query",
    "build_export",
    "describe_export",
    "describe_long",
    "describe_synthetic",
    "odds_picture",
    "one_turn",
    "preview_query",
    "read_card",
    "read_check",
    "read_density",
    "read_inference",
    "read_summary",
    "right_to",
    "stream_queries",
    "worth_compressing",
]
