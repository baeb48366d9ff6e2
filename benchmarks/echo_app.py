"""The control: a bare FastAPI application that validates the same body and returns a constant of the same schema.

No key, no limits, no metrics, no log, no database; FastAPI's own telemetry is off, as it is in Postern.
"""

from fastapi import FastAPI

from app.api.schemas.queries import ANSWER, QueryAnswer, QueryBody

CONSTANT = QueryAnswer.model_validate(ANSWER)

app = FastAPI(telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False})


@app.post("/v1/releases/{release_id}/query")
async def echo(release_id: str, question: QueryBody) -> QueryAnswer:
    return CONSTANT
