"""`/docs`: the specification as a page, from files that lie here. A browser that opens it asks this service and no other.

Swagger UI is vendored with its version and digests (`vendored/manifest.json`, which a test compares), since a page that loads
somebody else's script tells them who looks at a private installation, and is blank where there is no internet.
"""

import asyncio
import gzip
import json
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from app.errors import NotFound

FOLDER = Path(__file__).parent
VENDORED = FOLDER / "vendored"
MANIFEST = json.loads((VENDORED / "manifest.json").read_text(encoding="utf-8"))
VERSION: str = MANIFEST["version"]
FILES = {
    "swagger-ui-bundle.js": (VENDORED, "text/javascript"),
    "swagger-ui.css": (VENDORED, "text/css"),
    "page.js": (FOLDER, "text/javascript"),
    "page.css": (FOLDER, "text/css"),
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline, nothing evaluated, nobody else's. Pictures `data:` are those of the vendored style sheet."""


async def get_front(request: Request) -> Response:
    """What there is for a person to look at."""
    return RedirectResponse("docs")


async def get_page(request: Request) -> Response:
    page = (FOLDER / "reference.html").read_text(encoding="utf-8").replace("$version", VERSION)
    return Response(page, headers={"Content-Security-Policy": POLICY}, media_type="text/html")


async def get_file(request: Request) -> Response:
    """Vendored files never change under their version; ours are asked for again when they may have."""
    version, name = request.path_params["version"], request.path_params["name"]
    if version != VERSION or name not in FILES:
        raise NotFound("page", f"{version}/{name}")
    folder, media_type = FILES[name]
    kept = "public, max-age=31536000, immutable" if folder == VENDORED else "no-cache"
    headers = {"Cache-Control": kept, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        packed = await asyncio.to_thread(_packed, folder / name)
        return Response(packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=media_type)
    return Response(await asyncio.to_thread((folder / name).read_bytes), headers=headers, media_type=media_type)


@cache
def _packed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)


ROUTES = [Route("/", get_front), Route("/docs", get_page), Route("/docs/{version}/{name}", get_file)]
"""For people, and no part of the specification that they show."""
