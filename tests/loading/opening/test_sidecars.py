"""Traces with sidecar files, opened as users open them."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest

from tests.helpers.graphs import GEMM, decode_step
from tests.helpers.traces import Event
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.loading.opening.open_file import wait_until_cached
from torch_tb_profiler.loading.queries import stored_views


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(stored_views, "LONG_S", -1.0)  # whatever may be kept is kept


def _write(path: Path, events: list[Event]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def _parts(path: Path) -> dict[str | None, str | None]:
    table = open_trace(path).view("compiled").tables["graph_nodes"]
    wait_until_cached()
    return dict(table.select("part", "told_by").rows())


def _annotate(path: Path, text: str) -> None:
    path.write_bytes(pickle.dumps({(5 << 32) | node: [{"str": text}] for node in range(1, 5)}))


def test_annotations_may_come_after_the_trace_and_are_of_its_rank(tmp_path: Path) -> None:
    path = _write(tmp_path / "run" / "000001.x.pt.trace.json", decode_step(10, 1))
    assert _parts(path) == {None: None}
    _annotate(tmp_path / "kernel_annotations_rank0_7.pkl", "other rank")
    _annotate(tmp_path / "kernel_annotations_rank1_7.pkl", "mine")
    assert _parts(path) == {"mine": "annotation file"}


def test_a_hostile_file_is_a_note(tmp_path: Path) -> None:
    path = _write(tmp_path / "a_rank0.pt.trace.json", decode_step(10, 1))
    (tmp_path / "kernel_annotations_rank0.pkl").write_bytes(b"cos\nsystem\n(S'touch x'\ntR.")
    os.symlink("/dev/zero", tmp_path / "kernel_annotations_rank0_2.pkl")
    view = open_trace(path).view("compiled")
    (note,) = [note for note in view.notes if note.code == "beside_unread"]
    assert note.severity == "warning"
    assert note.evidence["count"] == 2
    assert "it names os.system" in str(note.evidence["examples"])


def test_captures_next_to_the_trace_are_joined(tmp_path: Path) -> None:
    path = _write(tmp_path / "w_rank0.pt.trace.json", decode_step(10, 1, names=[GEMM, GEMM]))
    launches = [
        event
        for place in range(2)
        for event in (
            {"ph": "X", "cat": "cpu_op", "name": f"aten::mm{place}", "pid": 1, "tid": 1,
             "ts": 10 * place, "dur": 9},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
             "ts": 10 * place + 1, "dur": 2, "args": {"correlation": place + 1}},
        )
    ]  # fmt: skip
    _write(tmp_path / "capture_traces" / "bs_8_rank0.json", launches)
    table = open_trace(path).view("compiled").tables["graph_kernels"]
    assert table["operator"].to_list() == ["aten::mm0", "aten::mm1"]
    assert set(table["told_by"]) == {"capture trace"}
