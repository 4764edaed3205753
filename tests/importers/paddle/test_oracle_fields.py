"""Every field of a ``.pb`` that the JSON of the same run has too, value by value, by ``json``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.importers.kineto.reference import actual, read_file

HOST, UNSIGNED = (0, -1), 2**64


@pytest.fixture(scope="module", params=["w0", "w2"])
def both(request: pytest.FixtureRequest, corpus: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    stem = corpus / "paddle_3.3.1" / "oracle" / f"{request.param}.paddle_trace"
    document = json.loads(stem.with_suffix(".paddle_trace.json").read_text(encoding="utf-8"))
    return actual(read_file(stem.with_suffix(".paddle_trace.pb"))), document


def test_events(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    rows, document = both
    events = [event for event in document["traceEvents"] if event.get("ph") == "X"]
    assert len(rows["slices"]) == len(events) == 500
    for row, event in zip(rows["slices"], events, strict=True):
        word, name, pid, tid, start_ns, dur_ns, correlation, _ = row
        assert (word, pid, correlation) == (event["cat"], str(event["pid"]), None)
        assert name == re.sub(r"\[[\d.]+ [mun]?s\]$", "", event["name"])
        assert tid == event["tid"].partition("(")[0]
        assert start_ns // 1000 == event["ts"]
        assert dur_ns == pytest.approx(event["dur"] * 1000, abs=1.5)


def test_memory(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    rows, document = both
    events = [event for event in document["traceEvents"] if event.get("ph") == "i"]
    assert len(rows["memory"]) == len(events) > 190
    for row, event in zip(rows["memory"], events, strict=True):
        pid, tid, time_ns, *device, address, size, allocated, reserved = row
        args = event["args"]
        assert (pid, f"{tid}(C++)") == (str(event["pid"]), event["tid"])
        assert (time_ns // 1000, tuple(device)) == (event["ts"], HOST)
        assert address % UNSIGNED == int(args["addr"])
        assert (size, allocated, reserved) == (
            args["increase_bytes"], args["current_allocated"], args["current_reserved"],
        )  # fmt: skip
        assert (size > 0) == (event["cat"] == "Allocate")
