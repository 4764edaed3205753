"""The list of arguments of a Kineto trace, compared with what ``json`` counts."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from torch_tb_profiler.importers.argument_names import ArgumentListing, ListingLimits
from torch_tb_profiler.importers.kineto import list_arguments as module
from torch_tb_profiler.importers.registry import importer_of
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.knowledge.arguments import is_secret

SAMPLE = Path(__file__).parents[3] / "samples" / "torch_compile_triton" / "rank0.pt.trace.json.gz"
LIMITS = ListingLimits(1 << 28, 60.0)


def listing(source: Source, limits: ListingLimits = LIMITS) -> ArgumentListing:
    found = importer_of(source).list_arguments(source, is_secret, limits)
    assert found is not None
    return found


def test_every_argument_of_a_small_file_is_counted() -> None:
    events = json.loads(gzip.decompress(SAMPLE.read_bytes()))["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    counts = Counter(name for event in slices for name in event.get("args", {}))
    listed = listing(Source(SAMPLE.name, [SAMPLE.read_bytes()]))
    assert {name: sample.count for name, sample in listed.arguments.items()} == counts
    assert (listed.slice_count, listed.is_sample) == (len(slices), False)
    assert {"grid", "stream", "Input Dims"} <= listed.in_model
    assert "num_warps" not in listed.in_model
    cid = listed.arguments["cid"]
    assert (cid.numbers, set(cid.categories)) == (cid.count, {"cuda_runtime"})


def chunks(text: bytes) -> list[bytes]:
    return [text[at : at + 4096] for at in range(0, len(text), 4096)]


def trace_text(count: int) -> bytes:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": at, "dur": 1,
         "args": {"early" if at < count / 2 else "late": at, "token": "abc"}}
        for at in range(count)
    ]  # fmt: skip
    return json.dumps({"traceEvents": events}).encode()


@pytest.mark.parametrize("on_disk", [True, False])
def test_of_a_large_file_a_sample_over_all_of_it(
    on_disk: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "PIECE_BYTES", 1 << 12)
    text = trace_text(40_000)
    path = tmp_path / "x.json"
    path.write_bytes(text)
    source = Source("x.json", chunks(text), path=str(path) if on_disk else None)
    listed = listing(source)
    assert listed.is_sample
    assert 0 < listed.slice_count < 15_000
    assert set(listed.arguments) == {"early", "late", "token"}
    assert listed.arguments["token"].example is None
    assert listed.arguments["early"].example == "0"


def test_a_listing_stops_at_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_BYTES", 1 << 12)
    text = trace_text(40_000)
    listed = listing(Source("x.json", chunks(text)), ListingLimits(1 << 10, 60.0))
    assert listed.is_sample
    assert set(listed.arguments) == {"early", "token"}


@pytest.mark.parametrize(
    "text",
    [
        b'{"traceEvents": [',
        b'{"traceEvents": [{"ph": "X", "cat": ["x"], "name": 1, "pid": {}, "ts": "a", "args": 7}]}',
        b'{"traceEvents": [{"ph": "X", "args": {"a": [[[[[{"b": 1}]]]]]}, "ts": 1}, {"ph": ',
    ],
)
def test_damaged_files_are_listed_as_far_as_they_go(text: bytes) -> None:
    assert listing(Source("x.json", [text])).slice_count <= 1
