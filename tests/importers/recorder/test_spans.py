"""A recorded run among other traces: its name, its order, and what is not shown."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.discovered import looked_into
from tests.helpers.recorder import Run, trace_name, write_run
from torch_tb_profiler import open_trace
from torch_tb_profiler.analysis.communication.roles import Role
from torch_tb_profiler.analysis.steps.costs import unknown_roles
from torch_tb_profiler.recorder.run_folder.finish import finish_folder
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.views.registry import all_views

RUN = Run(steps=120, windows=((20, 24), (60, 64)), evaluate_every=50)
SHOWN = {"overview", "iterations", "phases", "data", "resources"}
OF_WINDOWS = {"operators", "operator_types", "kernels", "memory", "modules", "shapes"}


def test_windows_come_first_and_the_whole_run_last(tmp_path: Path) -> None:
    for rank in range(2):
        write_run(tmp_path / "run", Run(steps=120, rank=rank, windows=((20, 24), (60, 64))))
    spans = ["1", "2", "whole run"]
    for _ in range(2):  # while it is recorded, and after
        listing = looked_into(open_location(str(tmp_path)))
        assert [(each.worker, each.span) for each in listing.files] == [
            (worker, span) for worker in ("rank0", "rank1") for span in spans
        ]
        assert {each.run for each in listing.files} == {"run"}
        assert {each.format for each in listing.files} == {"kineto", "record"}
        finish_folder(str(tmp_path / "run"))
    reasons = {each.name: each.reason for each in listing.skipped.listed}
    assert reasons == dict.fromkeys(
        ("run/rank0.throughput.json", "run/rank1.throughput.json"), "throughput"
    )


def test_a_run_without_windows_is_one_span(tmp_path: Path) -> None:
    write_run(tmp_path, Run())
    assert [each.span for each in looked_into(open_location(str(tmp_path))).files] == ["whole run"]


def test_a_journal_that_was_not_removed_is_shown_once(tmp_path: Path) -> None:
    write_run(tmp_path, Run())
    finish_folder(str(tmp_path))
    write_run(tmp_path, Run())
    (listing,) = looked_into(open_location(str(tmp_path))).files
    assert listing.location.name == "rank0.record.jsonl.gz"


def test_a_journal_of_any_name_opens(tmp_path: Path) -> None:
    named = tmp_path / "anything.txt"
    named.write_bytes(write_run(tmp_path, Run()).read_bytes())
    with open_trace(named, cache=False) as opened:
        assert opened.trace.meta.format == "record"


def test_every_view_shows_the_whole_run_or_says_where_else(tmp_path: Path) -> None:
    with open_trace(write_run(tmp_path, RUN), cache=False) as opened:
        trace = opened.trace
        missing = {name: spec.missing(trace) for name, spec in all_views().items()}
        assert {name for name in SHOWN if missing[name] is not None} == set()
        for name in OF_WINDOWS:
            assert "the other spans" in (missing[name] or ""), name
        unknown = unknown_roles(trace)
        assert set(Role) - set(unknown) - {Role.OTHER} == {Role.DATALOADER}
        assert opened.trace.steps.height == 120


def test_the_trace_of_a_window_shows_what_it_showed_and_the_run(tmp_path: Path) -> None:
    write_run(tmp_path, RUN)
    alone = tmp_path / "alone.pt.trace.json"
    alone.write_bytes((tmp_path / trace_name(RUN, 20)).read_bytes())
    finish_folder(str(tmp_path))
    shown = []
    for path in (alone, tmp_path / f"{trace_name(RUN, 20)}.gz"):
        with open_trace(path, cache=False) as opened:
            specs = all_views()
            shown.append({name for name, spec in specs.items() if not spec.missing(opened.trace)})
            assert opened.trace.steps["name"].to_list() == ["20", "21", "22", "23", "24"]
    assert shown[1] - shown[0] == {"data", "resources"}
    assert shown[0] <= shown[1]
