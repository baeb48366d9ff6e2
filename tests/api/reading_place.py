"""A release, its readers and a way to ask for its tables and files."""

from typing import Any

import httpx

from tests.services.world import Person, World

FREE = {"kind": "laplace", "samples": 300, "epsilon": 5.0}
IDENTITY = {"Accept-Encoding": "identity"}


class Place:
    def __init__(self, world: World, client: httpx.AsyncClient, release: str) -> None:
        self.world, self.client, self.release = world, client, release

    async def get(self, person: Person, path: str, **headers: str) -> httpx.Response:
        sent = person.headers | IDENTITY | {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.get(f"/v1/releases/{self.release}/{path}", headers=sent)

    async def read(self, person: Person, path: str) -> Any:
        answer = await self.get(person, path)
        assert answer.status_code == 200, answer.text
        return answer.json()
