"""Ask a Postern service from Python.

    from postern.client import Client

    with Client() as client:                      # POSTERN_URL and POSTERN_KEY
        release = client.release("rel_…")
        release.mean("theta")                     # Answer(0.4561, regret ≤ 0.0009 at 0.95, 20 samples, calibrated)
        release.samples().to_pandas()

`AsyncClient` has the same methods, to be awaited: the blocking client is written from it, word by word. Calls are retried
where that is safe, and nothing is ever charged twice.
"""

from postern.client.awaiting.client import AsyncClient
from postern.client.awaiting.release import AsyncAnswerStream, AsyncRelease
from postern.client.blocking.client import Client
from postern.client.blocking.release import AnswerStream, Release
from postern.client.loading import load_samples
from postern.client.problems import (
    AccessRequired,
    BudgetExhausted,
    ClientError,
    Conflict,
    InvalidInput,
    Misconfigured,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    NotReady,
    PosternProblem,
    RateLimited,
    ServiceFailure,
    Unavailable,
    UnexpectedReply,
    Unreachable,
    WaitedTooLong,
    Withdrawn,
)
from postern.client.questions import (
    Estimand,
    Question,
    Utility,
    absolute,
    actions,
    classification,
    comparison,
    contrast,
    expectation,
    explanation,
    expression,
    grid,
    in_group,
    in_part,
    in_release,
    interval,
    log_score,
    parameter,
    pinball,
    prediction,
    predictive,
    probability,
    squared,
    utility,
    zero_one,
)
from postern.client.results.answers import Answer, Answers, AnswerWarning, Check, Refused, Regret, StreamEnd, Together
from postern.client.results.cards import Card, digest_of_card
from postern.client.results.checks import FitCheck
from postern.client.results.density import Curve, Histogram, JointHistogram
from postern.client.results.inferences import Inference
from postern.client.results.receipts import Receipt, ReceiptCheck
from postern.client.results.samples import Samples
from postern.client.results.summaries import Summary, SummaryRow
from postern.client.retrying import NO_RETRIES, Retries

__all__ = [
    "NO_RETRIES",
    "AccessRequired",
    "Answer",
    "AnswerStream",
    "AnswerWarning",
    "Answers",
    "AsyncAnswerStream",
    "AsyncClient",
    "AsyncRelease",
    "BudgetExhausted",
    "Card",
    "Check",
    "Client",
    "ClientError",
    "Conflict",
    "Curve",
    "Estimand",
    "FitCheck",
    "Histogram",
    "Inference",
    "InvalidInput",
    "JointHistogram",
    "Misconfigured",
    "NotAllowed",
    "NotAuthenticated",
    "NotFound",
    "NotReady",
    "PosternProblem",
    "Question",
    "RateLimited",
    "Receipt",
    "ReceiptCheck",
    "Refused",
    "Regret",
    "Release",
    "Retries",
    "Samples",
    "ServiceFailure",
    "StreamEnd",
    "Summary",
    "SummaryRow",
    "Together",
    "Unavailable",
    "UnexpectedReply",
    "Unreachable",
    "Utility",
    "WaitedTooLong",
    "Withdrawn",
    "absolute",
    "actions",
    "classification",
    "comparison",
    "contrast",
    "digest_of_card",
    "expectation",
    "explanation",
    "expression",
    "grid",
    "in_group",
    "in_part",
    "in_release",
    "interval",
    "load_samples",
    "log_score",
    "parameter",
    "pinball",
    "prediction",
    "predictive",
    "probability",
    "squared",
    "utility",
    "zero_one",
]
