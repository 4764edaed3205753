"""``scalars``: a curve per rank in one chart; missing metrics are listed once; codes of invalid
paths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.cli.conftest import Done

Run = Callable[..., Done]


def test_ranks_are_curves_of_one_chart(run: Run, samples: Path, tmp_path: Path) -> None:
    done = run("scalars", samples / "cpu_ddp4_gloo", "--output", tmp_path / "tb")
    assert done.code == 0
    assert done.out.count("\n") == 4
    assert done.err.count("no gpu_utilization_pct") == 1
    assert "4 workers" in done.err
    overview = run("report", samples / "cpu_ddp4_gloo", "--view=overview", "--format=json").json
    for answer in overview:
        events = EventAccumulator(
            str(tmp_path / "tb" / "cpu_ddp4_gloo" / answer["trace"]["worker"])
        )
        events.Reload()
        points = {each.step: each.value for each in events.Scalars("profiler/step_time_ms")}
        table = answer["tables"]["steps"]
        keys = [column["key"] for column in table["columns"]]
        step, total = keys.index("step"), keys.index("total_us")
        assert len(points) == len(table["rows"])
        for row in table["rows"]:
            assert abs(points[int(row[step])] - row[total] / 1000) < 1e-3


def test_a_path_without_traces_and_an_unknown_run(run: Run, samples: Path, tmp_path: Path) -> None:
    assert run("scalars", tmp_path / "none", "--output", tmp_path / "tb").code == 3
    folder = samples / "cpu_ddp4_gloo"
    unknown = run("scalars", folder, "--run", "other", "--output", tmp_path / "tb")
    assert unknown.code == 2
    assert not (tmp_path / "tb").exists()


def test_an_unwritable_folder(run: Run, samples: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("scalars", samples / "cpu_slowloader_nw0", "--output", tmp_path / "file")
    assert done.code == 3
    assert "cannot be written" in done.err
