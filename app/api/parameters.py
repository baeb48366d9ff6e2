"""Parameters that several routes share. Patterns keep garbage out of the database and out of log lines."""

import re
from typing import Annotated

from fastapi import Header, Path, Query
from starlette.requests import Request

from app.errors import Unavailable
from app.services.runtime.runtime import Runtime

_ID = r"^[A-Za-z0-9_-]{1,64}$"
SANE_ID = re.compile(_ID)

DatasetId = Annotated[str, Path(description="The dataset's id.", pattern=_ID, examples=["ds_4kq2mz7w5x3ahgnd"])]
PopulationId = Annotated[str, Path(description="The population's id.", pattern=_ID, examples=["pop_6m3wz7x5qk2hagnd"])]
ReleaseId = Annotated[str, Path(description="The release's id.", pattern=_ID, examples=["rel_p5n6t2dy4hgakq2m"])]
AnalystId = Annotated[
    str, Path(description="The id of an analyst, dashboard or auditor.", pattern=_ID, examples=["an_7v3c5qk2b6jmw4xz"])
]
KeyId = Annotated[
    str, Path(description="The key's id: the middle part of its token.", pattern=_ID, examples=["k3v7q2m5x4a6b2nd"])
]
Limit = Annotated[int, Query(ge=1, le=200, description="How many items at most.")]
Cursor = Annotated[
    str | None,
    Query(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$", description="`next_cursor` of the page before."),
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x20-\x7e]+$",
        description="Names this request. The same key and body again: the same answer, byte for byte, with "
        "`Idempotent-Replayed: true`, and nothing is done or charged twice. The same key for another request: 409. Forgotten "
        "after a day, unless the operator chose otherwise.",
        examples=["trial-42-cured-1"],
    ),
]
IfNoneMatch = Annotated[
    str | None,
    Header(alias="If-None-Match", max_length=1000, description="The `ETag` of the copy you hold; unchanged: 304."),
]
LIMIT_DEFAULT = 50


def runtime_of(request: Request) -> Runtime:
    runtime = getattr(request.app.state, "runtime", None)
    if not isinstance(runtime, Runtime):
        raise Unavailable("the service is starting or stopping")
    return runtime
