"""The committed specification: read rather than made, which takes a second in every process that collects tests.

`test_openapi_contract.py` sees that it is what the application says.
"""

import json
from pathlib import Path
from typing import Any

COMMITTED = Path(__file__).parents[2] / "openapi" / "openapi.json"
DOCUMENT: dict[str, Any] = json.loads(COMMITTED.read_text())
