"""Which views a report shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Done
from torch_tb_profiler.views.registry import VIEW_NAMES

DATA = Path(__file__).parents[1] / "data" / "mindspore_r1"

Run = Callable[..., Done]


def test_a_view_without_data_is_3_and_names_the_trace(run: Run, samples: Path) -> None:
    done = run("report", samples / "cpu_resnet_full", "--view", "overview,kernels")
    assert done.code == 3
    assert "cpu_resnet_full, worker0, span 1: Kernels: " in done.err
    assert "Overview:" in done.out


def test_all_views_are_those_with_data(run: Run, samples: Path) -> None:
    done = run("report", samples / "cpu_resnet_full", "--view", "all", "--format", "json")
    assert (done.code, done.err) == (0, "")
    names = [answer["view"] for answer in done.json]
    order = [name for name in VIEW_NAMES if name in names]
    assert names == order
    assert {"overview", "iterations", "operators", "memory", "modules"} <= set(names)
    assert not {"compare", "kernels"} & set(names)


def test_a_recording_of_one_view_shows_that_one(run: Run) -> None:
    """A folder of MindSpore that only says how its job was divided."""
    done = run("report", DATA / "parallel_strategy", "--view", "all", "--format", "json")
    assert done.code == 0
    (answer,) = done.json
    assert answer["view"] == "strategy"
    assert answer["tables"]["recorded_strategy"]["rows"]


def test_what_is_wrong_with_a_file_is_said_once(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    path.write_bytes(b"")
    done = run("report", path, "--view", "all", "--format", "json")
    assert done.code == 3
    assert done.err.count("is empty") == 1


def test_events_that_are_all_damaged_are_not_called_none(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    path.write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": "later", "dur": 1}]}')
    done = run("report", path)
    assert done.code == 3
    assert "Events without a usable time stamp were left out." in done.err
    assert "before anything ran" not in done.err


def test_the_file_of_a_job_says_what_it_is_when_it_is_opened_alone(run: Run) -> None:
    file = DATA / "parallel_strategy" / "parallel_strategy_1.json"
    done = run("report", file)
    assert (done.code, done.out) == (3, "")
    assert "of which this is rank 1, in stage 0 (ranks 0, 1; auto_parallel)" in done.err


def test_a_view_of_a_run_appears_once_with_all_workers(run: Run, samples: Path) -> None:
    done = run("report", samples / "cpu_ddp4_gloo", "--view", "distributed", "--format", "json")
    assert done.code == 0
    assert done.json["trace"]["worker"] is None
    rows = done.json["tables"]["overlap"]["rows"]
    assert {row[1] for row in rows} == {"rank0", "rank1", "rank2", "rank3"}


def test_a_pair_view_needs_compare(run: Run, resnet: Path) -> None:
    done = run("report", resnet, "--view", "compare")
    assert done.code == 2
    assert "torch-tb-profiler compare" in done.err


def test_csv_has_every_row_of_truncated_tables(
    run: Run, write_trace: Callable[..., Path], tmp_path: Path
) -> None:
    names = tuple(f"aten::op{number}" for number in range(600))
    file = write_trace(tmp_path / "w.1.pt.trace.json", names)
    folder = tmp_path / "csv"
    requested = ("report", file, "--view", "iterations", "--format")
    assert run(*requested, "csv", "--output", folder).code == 0
    table = folder / "iterations.iteration_operators.csv"
    assert len(table.read_text().splitlines()) == 601
    answer = run(*requested, "json").json["tables"]["iteration_operators"]
    assert (len(answer["rows"]), answer["row_count"]) == (500, 600)
    chosen = run(*requested, "json", "--table", "iteration_operators").json["tables"]
    assert len(chosen["iteration_operators"]["rows"]) == 600


def test_the_heading_shows_the_whole_selection(run: Run, samples: Path) -> None:
    narrowed = ("--iteration", "3", "--iterations-by", "auto", "--forward-start", "aten::conv2d")
    done = run("report", samples / "cpu_resnet_full", "--view", "iterations,phases", *narrowed)
    message = "span 1 · iterations by auto · forward from aten::conv2d · iteration 3 ="
    assert " ".join(done.out.split()).count(message) == 2
