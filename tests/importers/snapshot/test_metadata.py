"""Cases: texts that are attached to allocator events, however they are pickled, are those that
Python's own unpickler reads."""

from __future__ import annotations

import io
import json
import pickle
import random
from typing import Any

import pytest

from tests.helpers.snapshots import simulated, trace_of
from tests.importers.snapshot import pickle_sums
from torch_tb_profiler.analysis.memory.snapshot.lifetimes import side_frame
from torch_tb_profiler.importers.snapshot import metadata
from torch_tb_profiler.trace.model import Trace

TEXTS = (
    "", "forward", json.dumps({"phase": "backward", "layer": 3}), "é" * 300, "x" * 1999, "a\nb",
    *(json.dumps({"step": step}) for step in range(40)),
)  # fmt: skip


def snapshot(seed: int, *, shared: bool, internal: bool = False, events: int = 400) -> Any:
    """A snapshot with metadata; texts of their own each, as pybind makes them, or shared."""
    chance = random.Random(seed)
    whole, _ = simulated(seed, events=events, devices=2, extra=True)
    for trace in whole["device_traces"]:
        for entry in trace:
            for key in ("user_metadata", *(("internal_metadata",) if internal else ())):
                text = chance.choice(TEXTS)
                entry[key] = text if shared else "".join([text[:1], text[1:]])
    return whole


def unshared(value: Any, protocol: int) -> bytes:
    """A pickle whose texts are never referred to, as those of pybind."""
    stream = io.BytesIO()
    pickle.Pickler(stream, protocol).dump(value)
    return stream.getvalue()


def expected(data: bytes) -> list[tuple[int, str | None, str | None]]:
    rows: list[tuple[int, str | None, str | None]] = []
    number = 0
    for trace in pickle_sums.read(data)["device_traces"]:
        for entry in trace:
            texts = [entry.get(key) or None for key in metadata.METADATA_KEYS]
            if any(texts):
                rows.append((number, texts[0], texts[1]))
            number += 1
    return rows


def actual(trace: Trace) -> list[tuple[Any, ...]]:
    return side_frame(trace, "snapshot_metadata").rows()


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("internal", [False, True])
def test_texts_are_those_of_pickle(protocol: int, shared: bool, internal: bool) -> None:
    for seed in range(3):
        data = unshared(snapshot(seed, shared=shared, internal=internal), protocol)
        trace = trace_of(data)
        assert actual(trace) == expected(data)
        assert len(actual(trace)) > 400
        assert "entries_left_out" not in trace.quality.counts


def test_most_entries_are_decoded_in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[str] = []
    add = metadata.MetadataTexts.add

    def counted(texts: metadata.MetadataTexts, key: str, row: int, value: object) -> None:
        added.append(key)
        add(texts, key, row, value)

    monkeypatch.setattr(metadata.MetadataTexts, "add", counted)
    trace_of(pickle.dumps(snapshot(1, shared=False, events=2000)))
    assert len(added) < 1000


def test_dictionaries_of_plain_values_are_json() -> None:
    whole = snapshot(1, shared=True, events=30)
    entries = whole["device_traces"][0]
    entries[3]["user_metadata"] = {"phase": "forward", "layer": 2}
    entries[4]["user_metadata"] = {"phase": ["a"]}
    entries[5]["user_metadata"] = 7
    known = {row[0]: row[1] for row in actual(trace_of(pickle.dumps(whole)))}
    assert known[3] == '{"phase": "forward", "layer": 2}'
    assert 4 not in known
    assert 5 not in known


def test_further_texts_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "MAX_TEXTS", 3)
    data = pickle.dumps(snapshot(1, shared=False))
    trace = trace_of(data)
    texts = {row[1] for row in actual(trace)}
    assert len(texts) == 3
    left_out = len(expected(data)) - len(actual(trace))
    assert 0 < trace.quality.counts["entries_left_out"] <= left_out


def test_long_texts_are_cut() -> None:
    whole = snapshot(1, shared=True, events=10)
    whole["device_traces"][0][2]["user_metadata"] = "y" * 5000
    assert "y" * metadata.MAX_CHARS in {row[1] for row in actual(trace_of(pickle.dumps(whole)))}


def test_a_snapshot_without_any() -> None:
    whole, _ = simulated(3, extra=True)
    assert actual(trace_of(pickle.dumps(whole))) == []


def test_a_truncated_file_has_those_of_its_entries() -> None:
    data = pickle.dumps(snapshot(2, shared=True))
    known, read = expected(data), 0
    for size in range(len(data) // 2, len(data), len(data) // 40):
        rows = actual(trace_of(data[:size]))
        assert {row[1] for row in rows} <= {row[1] for row in known}
        read += len(rows)
    assert read
