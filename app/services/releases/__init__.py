"""Releases: asked for, drawn by a worker, read by status, bought by the prefix."""

from app.services.releases.buy_access import buy_access
from app.services.releases.cancel_release import cancel_release
from app.services.releases.read_progress import follow_release, follow_upload, release_progress, upload_progress
from app.services.releases.read_releases import list_releases, read_release
from app.services.releases.request_release import plan_statistics, request_release
from app.services.releases.run_worker import run_worker
from app.services.releases.sealed_statistics import sealing_key_view

__all__ = [
    "buy_access",
    "cancel_release",
    "follow_release",
    "follow_upload",
    "list_releases",
    "plan_statistics",
    "read_release",
    "release_progress",
    "request_release",
    "run_worker",
    "sealing_key_view",
    "upload_progress",
]
