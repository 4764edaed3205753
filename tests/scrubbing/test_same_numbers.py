"""Figures of every view before and after, of real recordings and of a run of several ranks; and
that a difference is seen where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.traces import kernel, op, step, trace
from torch_tb_profiler import scrub
from torch_tb_profiler.loading.opening.open_file import open_trace_file
from torch_tb_profiler.scrubbing import file_writers
from torch_tb_profiler.scrubbing.same_numbers import first_difference
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace

DATA = Path(__file__).parents[1] / "data"


def _opened(paths: Sequence[Path]) -> list[Trace]:
    locations = (open_location(str(path)) for path in paths)
    return [open_trace_file(each, None, cache=None).trace for each in locations]


@pytest.mark.parametrize("hash_names", [False, True])
@pytest.mark.parametrize(
    ("name", "ranks"),
    [("h100_bert_small", 1), ("mi300_bert_small", 1), ("cpu_slowloader_nw2", 1)],
)
def test_real_recordings(
    name: str, ranks: int, hash_names: bool, samples: Path, tmp_path: Path
) -> None:
    originals = sorted((samples / name).iterdir())[:ranks]
    result = scrub(samples / name, tmp_path / "copy", hash_names=hash_names)
    copies = [tmp_path / "copy" / file.target for file in result.files][:ranks]
    assert first_difference(_opened(originals), _opened(copies)) is None


def test_a_run_of_ranks(samples: Path, tmp_path: Path) -> None:
    result = scrub(samples / "cpu_ddp4_gloo", tmp_path / "copy")
    assert len(result.files) == 4
    originals = [samples / "cpu_ddp4_gloo" / file.source for file in result.files]
    copies = [tmp_path / "copy" / file.target for file in result.files]
    assert first_difference(_opened(originals), _opened(copies)) is None


def test_another_format_becomes_chrome_json_with_the_same_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writers, "message_rules", lambda _: None)
    source = DATA / "pftrace" / "cpu.pftrace.gz"
    result = scrub(source, tmp_path / "copy.pt.trace.json.gz")
    assert result.files[0].notes == ("written as Chrome JSON, with the same figures",)
    copies = _opened([tmp_path / "copy.pt.trace.json.gz"])
    assert first_difference(_opened([source]), copies) is None


def test_a_format_that_would_lose_figures_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writers, "message_rules", lambda _: None)
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("device.paddle_trace.pb.gz", "nested.paddle_trace.json.gz"):
        (folder / name).write_bytes((DATA / "paddle" / name).read_bytes())
    result = scrub(folder, tmp_path / "copy")
    assert [file.source for file in result.files] == ["nested.paddle_trace.json.gz"]
    assert [each.source for each in result.omitted] == ["device.paddle_trace.pb.gz"]
    assert "other figures: view" in result.omitted[0].reason
    assert len(list((tmp_path / "copy").iterdir())) == 1


def test_a_difference_is_seen() -> None:
    def recorded(dur: float, name: str) -> list[Trace]:
        events = [step(1, 0, 100), op(name, 10, 50), kernel("gemm", 20, dur)]
        return [trace(events)]

    assert first_difference(recorded(30, "mine"), recorded(30, "other")) is None
    assert "view" in (first_difference(recorded(30, "mine"), recorded(31, "mine")) or "")
