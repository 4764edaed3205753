"""Python frames that are not read are counted; everything else stays the same."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tests.importers.kineto.reference import actual, chunks_of
from torch_tb_profiler import open_trace
from torch_tb_profiler.cli import main
from torch_tb_profiler.importers import Reading, ReadOptions, import_trace
from torch_tb_profiler.trace.categories import Category

SAMPLE = "cpu_resnet_full/worker0.1795226132075806134.pt.trace.json.gz"
FRAMES = (Category.PYTHON_FUNCTION, Category.MODULE)


@pytest.fixture(scope="module", name="path")
def sample_with_frames(samples: Path) -> Path:
    return samples / SAMPLE


def test_only_frames_are_left_out(path: Path) -> None:
    data = path.read_bytes()
    reading = Reading(ReadOptions(python_frames=False))
    without = import_trace(chunks_of(data), name="x", reading=reading)
    whole = import_trace(chunks_of(data), name="x")
    is_frame = np.isin(whole.tables["slices"]["category"], FRAMES)
    assert is_frame.sum() > 1000
    assert without.quality.counts == {"python_frames_left_out": is_frame.sum()}
    assert without.tables["python"]["slice"].size == 0
    rows, wanted = actual(without), actual(whole)
    remaining = [
        row for row, is_dropped in zip(wanted["slices"], is_frame, strict=True) if not is_dropped
    ]
    assert rows["slices"] == remaining
    for name in ("memory", "flows", "counters", "instants"):
        assert rows.get(name) == wanted.get(name), name


def test_the_same_by_byte_ranges_of_a_file(path: Path, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_bytes(gzip.decompress(path.read_bytes()))
    with open_trace(tmp_path / "w.json", cache=False, python_frames=False) as opened:
        assert opened.trace.python.is_empty()
        assert opened.trace.slices.height > 1000


def test_a_trace_without_frames_is_another_trace_in_the_cache(path: Path, tmp_path: Path) -> None:
    heights = []
    for python_frames in (True, False, True, False):
        with open_trace(path, cache_dir=tmp_path, python_frames=python_frames) as opened:
            heights.append(opened.trace.python.height)
            reason = opened.views()["modules"]
            notes = [note.code for note in opened.view("operators").notes]
        assert (reason is None) == python_frames
        assert ("python_frames_left_out" in notes) != python_frames
    assert heights[0] == heights[2] > 0
    assert heights[1] == heights[3] == 0
    assert "skipped while reading" in (reason or "")


def test_the_command_line_leaves_them_out(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(path), "--view", "all", "--no-cache", "--no-python-frames"]) == 0
    printed = capsys.readouterr()
    assert "were left out while reading" in printed.out + printed.err
