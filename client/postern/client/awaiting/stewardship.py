"""What there is beside declaring and asking: statistics without rows, how far work is, and audits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from postern.client.call import Call, given
from postern.client.calls import stewards
from postern.client.results.audits import Audit
from postern.client.results.datasets import Dataset, UploadProgress
from postern.client.results.releases import ReleaseProgress, SealingKey

T = TypeVar("T")


class AsyncStewardship:
    """Of a client, which sends."""

    async def send(self, call: Call[T]) -> T:
        raise NotImplementedError

    async def plan_statistics(
        self, dataset: str | Dataset, spec: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """For a dataset without rows: what `postern statistics` has to compute beside the data and seal. `spec` is the release,
        such as `{"model": …, "mechanism": …}`; save the answer as JSON. Charges nothing; good for one release, for a week."""
        return await self.send(stewards.plan_statistics(dataset, spec, idempotency_key))

    async def sealing_key(self) -> SealingKey:
        """The public key that statistics are sealed to."""
        return await self.send(stewards.sealing_key())

    async def release_progress(self, release: str) -> ReleaseProgress:
        """How far it is, for the dataset's steward alone: stage, bytes where they are known, attempts, why it was withdrawn."""
        return await self.send(stewards.release_progress(release))

    async def upload_progress(self, dataset: str | Dataset) -> UploadProgress:
        """How far the upload of a dataset of yours is, from another place than the one that sends it."""
        return await self.send(stewards.upload_progress(dataset))

    async def audit(self, subject: stewards.Spec, claim: stewards.Spec | None = None, *, level: float = 0.01) -> Audit:
        """Asks for an audit of samples, or of a mechanism of the service; read it again until it is `done`."""
        return await self.send(stewards.request_audit(given(subject=subject, claim=claim, level=level), None))

    async def read_audit(self, audit: str) -> Audit:
        return await self.send(stewards.read_audit(audit))

    async def audit_report(self, audit: str) -> dict[str, Any]:
        """Signed, for `postern audit verify`. Raises NotFound while the audit is pending."""
        return await self.send(stewards.audit_report(audit))
