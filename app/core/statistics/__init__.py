"""What a model can ask of the rows, and the exact integers that come back: the language between kinds and sources.

A kind asks for one of these; a source answers every one of them (`app/sources`). Answers are private and do not print.
"""

from app.core.statistics.counts import CountsRequest, ExactCounts, NodeCounts
from app.core.statistics.groups import ExactGroups, GroupColumn, GroupedRequest
from app.core.statistics.histograms import ExactHistogram, HistogramRequest
from app.core.statistics.moments import ExactMoments, MomentsRequest
from app.core.statistics.several import ExactSeveral, SeveralRequest
from app.core.statistics.sums import ExactStatistic, RowRequest, StatisticRequest

__all__ = [
    "CountsRequest",
    "ExactCounts",
    "ExactGroups",
    "ExactHistogram",
    "ExactMoments",
    "ExactSeveral",
    "ExactStatistic",
    "GroupColumn",
    "GroupedRequest",
    "HistogramRequest",
    "MomentsRequest",
    "NodeCounts",
    "RowRequest",
    "SeveralRequest",
    "StatisticRequest",
]
