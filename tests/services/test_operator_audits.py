"""An audit at the command line beside a server that has workers of its own."""

import asyncio
from typing import Any

from app.services.audits.operator_audit import audit_by_operator
from app.services.audits.pending import run_next_audit
from tests.services.world import World

SPEC = {"subject": {"kind": "command"}, "claim": {"kind": "pure", "epsilon": 1.0}, "level": 0.01}
RUNS = 200


async def test_a_server_leaves_alone_what_is_carried_out_at_the_command_line(world: World):
    loop, taken = asyncio.get_running_loop(), []

    def outputs(side: str, seed: int) -> list[Any]:
        taken.append(asyncio.run_coroutine_threadsafe(run_next_audit(world.runtime), loop).result())
        return [side] * RUNS

    report = await audit_by_operator(world.runtime, SPEC, command="anything", runs=RUNS, outputs=outputs)
    assert taken == [False, False]
    assert report["body"]["verdict"] == "refuted"
