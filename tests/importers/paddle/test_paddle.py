"""Paddle's exports: durations leave the names, and nothing else changes."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from tests.importers.kineto.reference import read_bytes
from torch_tb_profiler.trace.columns import EventColumns


def names(columns: EventColumns) -> list[str]:
    return [columns.strings[code] for code in columns.tables["slices"]["name_code"]]


def event(name: str) -> dict[str, Any]:
    return {"ph": "X", "cat": "Operator", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 1}


def test_names_lose_the_duration_behind_them_in_paddles_files_only() -> None:
    given = ["a[2.765 ms]", "a[24.745 us]", "b [3 ns][1 s]", "c[1.5 us] x", "d"]
    events = [event(name) for name in given] + [{}]
    paddle = {"schemaVersion": "1.0.2", "traceEvents": events}
    columns = read_bytes(json.dumps(paddle).encode())
    assert names(columns) == ["a", "a", "b [3 ns]", "c[1.5 us] x", "d"]
    assert len(set(columns.tables["slices"]["name_code"].tolist())) == 4
    assert columns.quality.counts["paddle_trace"] == 1
    torch = read_bytes(json.dumps(paddle | {"schemaVersion": 1}).encode())
    assert names(torch) == given
    assert "paddle_trace" not in torch.quality.counts


def test_a_real_export(corpus: Path) -> None:
    data = (corpus / "paddle_3.3.1" / "bare.paddle_trace.json.gz").read_bytes()
    text = gzip.decompress(data).decode("utf-8", "replace") if data[:2] == b"\x1f\x8b" else ""
    events = json.loads(text)["traceEvents"]
    expected = Counter(
        re.split(r"\[[0-9.]+ [num]?s\]$", e["name"])[0] for e in events if e.get("ph") == "X"
    )
    assert Counter(names(read_bytes(data))) == expected
