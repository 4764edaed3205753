"""Real execution traces with the traces of the same process, as plain ``json`` reads them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "data" / "execution"
CORPUS = Path(__file__).parents[4] / "shared" / "corpus"

Node = dict[str, Any]
Event = dict[str, Any]


def pairs() -> list[tuple[Path, Path]]:
    """(execution trace, trace) of the sample, and of the corpus where it is at hand."""
    found = [(DATA / "et_rank0.json.gz", DATA / "rank0.pt.trace.json.gz")]
    for rank in (0, 1):
        fixture = CORPUS / "fixtures" / "c_ddp2_gloo_et"
        found += [(fixture / f"et_rank{rank}.json.gz", each)
                  for each in fixture.glob(f"rank{rank}.*.json.gz")]  # fmt: skip
    return found


def nodes(path: Path) -> list[Node]:
    listed: list[Node] = json.loads(gzip.decompress(path.read_bytes()))["nodes"]
    return listed


def attributes(node: Node) -> dict[str, Any]:
    return {each["name"]: each["value"] for each in node["attrs"]}


def is_operator(node: Node) -> bool:
    return not node["name"].startswith(("[pytorch|", "## process_group"))


def operators(path: Path) -> Iterator[Event]:
    """The events of a trace that have a record function id."""
    for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]:
        if event.get("ph") == "X" and event.get("args", {}).get("Record function id"):
            yield event
