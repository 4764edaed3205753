"""The Python API on a real trace: the command line's numbers as polars, pandas and dicts."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import torch_tb_profiler
from tests.helpers.waiting import wait_until
from torch_tb_profiler.api import (
    OpenedTrace,
    OpenError,
    RequestError,
    UnknownError,
    open_trace,
)
from torch_tb_profiler.cli import main
from torch_tb_profiler.loading.opening.open_file import wait_until_cached
from torch_tb_profiler.requests.python_values import time_ns
from torch_tb_profiler.views.timeline.index import timeline


@pytest.fixture(scope="module")
def folder(samples: Path) -> Path:
    return samples / "kineto_resnet50_nw0"


@pytest.fixture(scope="module")
def trace(folder: Path) -> OpenedTrace:
    return open_trace(folder, cache=False)


def test_it_is_reached_from_the_package() -> None:
    assert torch_tb_profiler.open_trace is open_trace
    with pytest.raises(AttributeError, match="open_tarce"):
        torch_tb_profiler.__getattr__("open_tarce")


def test_the_first_trace_of_a_folder_is_opened_and_says_which(trace: OpenedTrace) -> None:
    assert (trace.run, trace.worker, trace.span) == ("kineto_resnet50_nw0", "worker0", "1")
    assert trace.workers == ("worker0",)
    assert trace.trace.steps.height >= 6
    assert set(trace.views()) >= {"overview", "operators", "kernels"}


def test_tables_are_polars_and_hold_what_the_command_line_prints(
    trace: OpenedTrace, folder: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    main(["report", str(folder), "--span", "1", "--view", "operators", "--format", "json",
          "--no-cache", "--steps", "6:7", "--sort", "-calls", "--limit", "4"])  # fmt: skip
    printed = json.loads(capsysbinary.readouterr().out)
    result = trace.operators(steps=range(6, 8), sort="-calls", limit=4)
    assert result.to_dict() == printed
    assert isinstance(result.frame, pl.DataFrame)
    assert [list(row) for row in result.frame.rows()] == printed["tables"]["operators"]["rows"]


def test_steps_may_be_a_number_a_range_or_text(trace: OpenedTrace) -> None:
    def total(steps: Any) -> float:
        return float(trace.kernels(steps=steps).frame["total_us"].sum())

    assert total(range(5, 11)) == total("5:10") == total(None)
    assert total(range(5, 11, 5)) == total("5,10")
    assert total(5) + total(10) == pytest.approx(total("5,10"))
    with pytest.raises(RequestError, match="empty"):
        total(range(3, 3))


def test_a_time_range_and_groupings(trace: OpenedTrace) -> None:
    everything = trace.kernels()
    start_us = trace.trace.meta.start_ns / 1000
    part = trace.kernels("name+operator+launch", start_us=start_us, end_us=start_us + 400_000)
    assert 0 < part.frame["calls"].sum() < everything.frame["calls"].sum()
    assert part.frame["grid"].null_count() == 0


def test_pandas(trace: OpenedTrace) -> None:
    overview = trace.overview()
    steps = overview.to_pandas("steps")
    assert list(steps["step"]) == ["5", "6", "7", "8", "9", "10"]
    assert overview.to_pandas().shape == overview.frame.shape
    with pytest.raises(UnknownError, match="stepz"):
        overview.to_pandas("stepz")


def test_a_result_prints_as_on_a_terminal(trace: OpenedTrace) -> None:
    result = trace.operators(limit=2)
    assert "aten::" in str(result)
    assert max(map(len, str(result).split("\n"))) <= 100
    assert repr(result) == "<Result of operators (operators: 2 rows)>"
    assert "worker0" in repr(trace)


def test_errors_say_what_to_do(folder: Path, trace: OpenedTrace, tmp_path: Path) -> None:
    with pytest.raises(OpenError, match="does not exist"):
        open_trace(tmp_path / "missing.json", cache=False)
    with pytest.raises(UnknownError, match="span"):
        open_trace(folder, span="9", cache=False)
    with pytest.raises(UnknownError, match="view"):
        trace.view("kernel")
    with pytest.raises(RequestError, match="colour"):
        trace.operators("colour")
    for time_us in (float("nan"), float("-inf"), 1e300, "soon", "sNaN", Decimal("inf")):
        with pytest.raises(RequestError, match="end_us"):
            trace.operators(end_us=time_us)


EPOCH_NS = 1_751_410_836_123_456_789
"""A time since the epoch, of which a float of µs holds no ns."""


@pytest.mark.parametrize("ns", [EPOCH_NS, EPOCH_NS + 1, 4_258_157, 0])
def test_times_given_as_text_or_decimal_are_exact(ns: int) -> None:
    exact = Decimal(ns) / 1000
    assert [time_ns("start_us", time) for time in (str(exact), exact)] == [ns, ns]


def test_times_given_as_numbers_are_as_exact_as_those_are() -> None:
    whole_us = EPOCH_NS // 1000
    assert time_ns("start_us", whole_us) == whole_us * 1000
    assert time_ns("start_us", np.int64(whole_us)) == whole_us * 1000
    for quarter in range(4):
        assert time_ns("end_us", whole_us + quarter / 4) == whole_us * 1000 + quarter * 250
    assert time_ns("end_us", np.float32(1.5)) == 1500
    assert time_ns("end_us", 4258.157) == 4_258_157


def test_the_answer_repeats_the_selection_exactly(trace: OpenedTrace) -> None:
    base_us = Decimal(EPOCH_NS) / 1000
    text = trace.overview(start_us=0, end_us=base_us).to_json().decode()
    assert f'"end_us":{base_us}' in text
    assert '"start_us":0,' in text


def test_a_second_opening_comes_from_the_cache(folder: Path, tmp_path: Path) -> None:
    first = open_trace(folder, cache_dir=tmp_path).kernels().to_dict()
    assert open_trace(folder, cache_dir=tmp_path).kernels().to_dict() == first


def readers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "trace-reader"}


def held_by(opened: OpenedTrace) -> list[weakref.ref[Any]]:
    """What must be gone when nobody holds ``opened`` any more; nobody looks at it but here."""
    catalog = opened._catalog
    return [weakref.ref(each) for each in (opened, opened.trace, catalog, catalog.store)]


@pytest.mark.parametrize("cached", [False, True])
def test_what_nobody_holds_is_gone_with_its_threads(
    samples: Path, tmp_path: Path, cached: bool
) -> None:
    paths = [
        next((samples / name).glob("*.json*"))
        for name in ("cpu_slowloader_nw0", "torch_compile_triton")
    ]
    before = readers()
    opened = [
        open_trace(paths[number % 2], cache=cached, cache_dir=tmp_path / "cache")
        for number in range(6)
    ]
    for each in opened:
        each.overview()
        timeline(each.trace)  # it holds its trace
    held = [reference for each in opened for reference in held_by(each)]
    assert all(reference() is not None for reference in held)
    assert len(readers() - before) >= 6
    wait_until_cached()
    del opened, each
    wait_until(lambda: gc.collect() >= 0 and all(reference() is None for reference in held))
    wait_until(lambda: not readers() - before)


def test_a_closed_trace_holds_nothing_and_says_so(folder: Path) -> None:
    before = readers()
    with open_trace(folder, cache=False) as opened:
        trace = weakref.ref(opened.trace)
        operators = opened.operators()
    wait_until(lambda: gc.collect() >= 0 and trace() is None)
    wait_until(lambda: not readers() - before)
    assert operators.frame.height > 0
    assert "aten::" in str(operators)
    opened.close()
    with pytest.raises(RequestError, match="worker0, span 1 is closed") as caught:
        opened.operators()
    assert caught.value.problem.code == "closed"
    assert "open_trace" in (caught.value.problem.hint or "")
    with pytest.raises(RequestError, match="closed"):
        opened.views()
    with pytest.raises(RequestError, match="closed"), opened:
        pass


def test_what_could_not_be_opened_leaves_no_thread(tmp_path: Path) -> None:
    before = readers()
    (tmp_path / "w.json").write_text("not json")
    with pytest.raises(OpenError):
        open_trace(tmp_path / "w.json", cache=False)
    wait_until(lambda: gc.collect() >= 0 and not readers() - before)


def test_a_trace_of_another_place_is_compared_as_the_command_line_does(
    trace: OpenedTrace, folder: Path, samples: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    other = samples / "cpu_resnet_full"
    arguments = ["compare", other, folder, "--span", "1", "--format", "json", "--no-cache",
                 "--baseline-steps", "5:6", "--steps", "6:7", "--table", "operators",
                 "--limit", "3"]  # fmt: skip
    main([str(word) for word in arguments])
    printed = json.loads(capsysbinary.readouterr().out)["tables"]
    with open_trace(other, cache=False) as baseline:
        options: dict[str, Any] = {"steps": "6:7", "baseline_steps": range(5, 7)}
        compared = trace.compare(baseline, **options, table="operators", limit=3)
        assert [list(row) for row in compared.table("operators").rows()] == printed["operators"][
            "rows"
        ]
        assert "kineto_resnet50_nw0 · worker0 · 1 against cpu_resnet_full" in str(compared)
        with pytest.raises(RequestError, match="knows no baseline"):
            trace.view("kernels", baseline=baseline)
        with pytest.raises(RequestError, match="steps"):
            trace.compare(baseline, baseline_steps="400")
    with pytest.raises(RequestError, match="is closed"):
        trace.compare(baseline)
    with pytest.raises(RequestError, match="needs a baseline"):
        trace.view("compare")


def test_links_out_of_a_folder_are_followed_when_asked_for(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "run").symlink_to(folder)
    with pytest.raises(OpenError):
        open_trace(tmp_path, cache=False)
    with open_trace(tmp_path, cache=False, follow_links=True) as linked:
        assert linked.workers == ("worker0",)


def test_rules_of_the_user_are_applied_and_mistakes_in_them_told(
    folder: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[kernel]]\nmatch = "sgemm"\ncategory = "communication"\n')
    with open_trace(folder, cache_dir=tmp_path / "cache", rules=rules) as opened:
        chosen = opened.kernels(filter="communication=yes").frame
    assert chosen.height
    assert chosen["name"].str.contains("sgemm").all()
    rules.write_text('[[kernel]]\nmatch = "sgemm"\n')
    with pytest.raises(OpenError, match="line 1: the category is empty"):
        open_trace(folder, cache_dir=tmp_path / "cache", rules=rules)
