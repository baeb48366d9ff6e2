"""How long a pass over the lines that was put down may be taken up."""

from dataclasses import replace

from app.services.ledger.half_pass import KEPT_S, HalfPass
from app.services.ledger.verify_lines import verify_all
from tests.services.world import World


async def test_taking_a_pass_up_does_not_make_its_first_lines_younger(world: World) -> None:
    now = world.runtime.clock()
    runtime = replace(world.runtime, clock=lambda: now)
    found = []
    for turn in range(3):
        for each in range(3):
            await world.dataset(f"{turn}-{each}")
        half = HalfPass(runtime, 1)
        verifier = await half.taken_up()
        found.append(verifier is not None)
        await verify_all(runtime.database, verifier=verifier, after_batch=half.put_down)
        now += int(0.6 * KEPT_S * 1e6)
    assert found == [False, True, False]
