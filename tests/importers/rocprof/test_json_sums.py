"""JSON of rocprofv3 against a second reader: ``json``."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import rocprof, sums
from tests.helpers.examples import examples
from tests.importers.rocprof import json_sums, trace_sums
from tests.importers.rocprof.opening import import_bytes
from torch_tb_profiler.trace.build import build_trace

SUMS = ("kernels", "copies", "calls", "launches", "counters")


def differences(data: bytes, chunk: int = 1 << 16) -> dict[str, object]:
    """Which sums of a file differ from those of ``json``, and where."""
    trace = build_trace(import_bytes(data, chunk=chunk))
    document = json.loads(data)
    named = {
        what: sums.differences(getattr(trace_sums, what)(trace), getattr(json_sums, what)(document))
        for what in SUMS
    }
    return {what: where for what, where in named.items() if where}


def test_the_recording_of_the_corpus(corpus: Path) -> None:
    data = gzip.decompress((corpus / "rocm" / "908_results.json.gz").read_bytes())
    assert not differences(data, chunk=1 << 20)


@examples(15)
@given(st.data(), st.sampled_from([None, 1]), st.sampled_from([37, 4096]))
def test_random_recordings(data: st.DataObject, indent: int | None, chunk: int) -> None:
    pids = data.draw(st.sampled_from([(1,), (1, 2)]))
    processes = [data.draw(rocprof.processes(pid=pid)) for pid in pids]
    if not any(each.calls for each in processes):
        return
    text = json.dumps(rocprof.to_json(processes), indent=indent)
    assert not differences(text.encode(), chunk)


@pytest.mark.parametrize("order", ["as written", "records first"])
def test_keys_in_any_order(order: str) -> None:
    document = rocprof.to_json([rocprof.training()])
    if order == "records first":
        process = document["rocprofiler-sdk-tool"][0]
        document["rocprofiler-sdk-tool"][0] = dict(reversed(process.items()))
    assert not differences(json.dumps(document).encode())
