"""Every format opens the same each time, from a local disk and from a store."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest
from polars.testing import assert_frame_equal

from torch_tb_profiler import open_trace
from torch_tb_profiler.trace.model import TABLE_NAMES, Trace

PLACES = {
    "nsight/real/pipit_saxpy_mpi_s2.9.1.sqlite": "",
    "paddle_3.3.1/oracle/w0.paddle_trace.pb": "",
    "pftrace/torch2141_synthetic_gpu.pftrace.gz": "",
    "ascend_torch_npu/text/level1": "rank1",
    "ascend_torch_npu/db/level1": "rank0",
    "mindspore_r1/profiler": "rank0",
    "memsnap_ascend/snapshot_expandable.pkl": "",
}


def assert_same(one: Trace, other: Trace) -> None:
    for name in TABLE_NAMES:
        assert_frame_equal(getattr(one, name), getattr(other, name))
    assert one.strings.tolist() == other.strings.tolist()
    assert one.side.keys() == other.side.keys()
    for name, table in one.side.items():
        assert_frame_equal(table.frame, other.side[name].frame)
    assert one.quality == other.quality
    assert one.meta == other.meta


@pytest.mark.parametrize("place", PLACES)
def test_it_opens_the_same_from_a_store(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", str(tmp_path))
    here = corpus / place
    memory = fsspec.filesystem("memory")
    for file in [here] if here.is_file() else here.rglob("*"):
        if file.is_file():
            memory.pipe(f"/formats/{file.relative_to(corpus).as_posix()}", file.read_bytes())
    worker = PLACES[place] or None
    with (
        open_trace(here, worker=worker, cache=False) as opened,
        open_trace(f"memory://formats/{place}", worker=worker, cache=False) as stored,
    ):
        assert_same(opened.trace, stored.trace)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
