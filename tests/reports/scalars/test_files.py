"""Event files that TensorBoard reads; ours are replaced, others never."""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from torch_tb_profiler.reports.scalars.files import folders_of, write_events
from torch_tb_profiler.reports.scalars.values import Scalar

POINTS = [Scalar("profiler/a", 1, 100.5, 2.5), Scalar("profiler/a", 2, 101.5, 3.5)]


def read(folder: Path) -> dict[str, list[tuple[int, float, float]]]:
    events = EventAccumulator(str(folder))
    events.Reload()
    return {
        tag: [(each.step, each.wall_time, each.value) for each in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def test_tensorboard_reads_what_was_written(tmp_path: Path) -> None:
    write_events(tmp_path / "new" / "rank0", POINTS)
    assert read(tmp_path / "new" / "rank0") == {"profiler/a": [(1, 100.5, 2.5), (2, 101.5, 3.5)]}


def test_a_second_time_replaces_the_first_and_nothing_else(tmp_path: Path) -> None:
    foreign = tmp_path / "events.out.tfevents.0000000100.host.1.0"
    foreign.write_bytes(b"")
    (tmp_path / "notes.torch-tb-profiler").write_text("mine")
    write_events(tmp_path, POINTS)
    write_events(tmp_path, [Scalar("profiler/a", 1, 200.0, 9.0)])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 3
    assert foreign.exists()
    foreign.unlink()
    assert read(tmp_path) == {"profiler/a": [(1, 200.0, 9.0)]}


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_events(tmp_path, POINTS)

    def fail(*_: object) -> None:
        raise OSError("full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="full"):
        write_events(tmp_path, [Scalar("profiler/a", 1, 300.0, 9.0)])
    assert len(list(tmp_path.iterdir())) == 1
    assert len(read(tmp_path)["profiler/a"]) == 2


@pytest.mark.parametrize(
    ("run", "worker", "expected"),
    [
        ("a/b", "rank0", "a/b/rank0"),
        ("../../etc", "x/../y", "etc/x-..-y"),
        (".", "..", "worker"),
        ("", "a\x00b\n", "a-b-"),
        ("/etc", "rank 1", "etc/rank 1"),
        ("a/con", "COM¹.x", "a/_con/_COM¹.x"),
        ("r", "内" * 100, "r/" + "内" * 66),
    ],
)
def test_names_stay_below_the_folder(run: str, worker: str, expected: str) -> None:
    assert folders_of(Path("/out"), [(run, worker)]) == [Path("/out") / expected]


def test_workers_whose_names_become_equal_have_folders_of_their_own() -> None:
    names = [("r", "a:b"), ("r", "a*b"), ("r", "A-B"), ("r", "other")]
    assert folders_of(Path("/out"), names) == [
        Path("/out/r") / name for name in ("a-b", "a-b~2", "A-B~3", "other")
    ]
