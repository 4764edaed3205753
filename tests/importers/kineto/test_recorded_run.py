"""Traces with a journal appended by the recorder: the same events, plus samples, tables,
settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.helpers.recorder import Run, blocks_of, journal_columns, trace_name, write_run
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.recorder.run_folder.finish import finish_folder
from torch_tb_profiler.trace.columns import EventColumns

RUN = Run(
    steps=300,
    windows=((100, 104),),
    world_size=2,
    gpus=1,
    missing=(("gpu_samples", "No GPU."), ("operators", "Never told of a window.")),
)


def finished(folder: Path) -> bytes:
    """The trace of a window, with its tail."""
    write_run(folder, RUN)
    finish_folder(str(folder))
    return (folder / f"{trace_name(RUN, 100)}.gz").read_bytes()


def read(text: bytes) -> EventColumns:
    return import_trace([text], name="rank0.1.pt.trace.json")


def frames(columns: EventColumns) -> dict[str, pl.DataFrame]:
    return {each.name: each.frame for each in columns.side}


def in_ns(frame: pl.DataFrame, base_ns: int) -> pl.DataFrame:
    """A side table with starts since 1970, in whole ns."""
    return frame.with_columns(
        start_us=(pl.col("start_us") * 1000).round().cast(pl.Int64) + base_ns
    ).sort("start_us", *(["worker"] if "worker" in frame.columns else []))


def test_events_are_those_of_the_trace_and_the_rest_is_the_journals(tmp_path: Path) -> None:
    with_run = read(finished(tmp_path / "a"))
    write_run(tmp_path / "b", RUN)
    alone = read((tmp_path / "b" / trace_name(RUN, 100)).read_bytes())
    whole = journal_columns(RUN)
    for name, table in alone.tables.items():
        if name != "samples":
            for column, values in table.items():
                np.testing.assert_array_equal(with_run.tables[name][column], values)
    assert with_run.tracks == alone.tracks
    assert with_run.strings[: len(alone.strings)] == alone.strings
    assert with_run.quality.counts == alone.quality.counts
    assert with_run.info.recorder == "torch.profiler"
    assert with_run.info.host_name == "node1"
    assert with_run.info.job == whole.info.job
    assert [(each.capability, each.reason) for each in with_run.info.not_recorded] == [
        ("gpu_samples", "No GPU.")
    ]
    joined, expected = frames(with_run), frames(whole)
    assert set(joined) == set(expected)
    assert joined["loaders"].equals(expected["loaders"])
    steps = in_ns(joined["timed_steps"], with_run.base_ns)
    assert steps.equals(in_ns(expected["timed_steps"], whole.base_ns))
    assert steps.filter("is_traced")["step"].to_list() == [100, 101, 102, 103, 104]
    starts = steps.filter("is_traced")["start_us"].to_list()
    begin, end = starts[0], starts[-1]
    for name in ("loader_batches", "loader_work"):
        rows = in_ns(expected[name], whole.base_ns).filter(
            pl.col("start_us").is_between(begin - 10**9, end + 10**7 + 10**9)
        )
        assert in_ns(joined[name], with_run.base_ns).equals(rows)


def test_samples_are_on_the_clock_of_the_trace(tmp_path: Path) -> None:
    columns = read(finished(tmp_path))
    samples, steps = columns.tables["samples"], columns.tables["slices"]["start_ns"]
    times = samples["time_ns"]
    assert times.min() >= steps.min() - 10**9
    assert times.max() <= steps.max() + 10**9 + 10**7
    sources = {columns.strings[code] for code in samples["source_code"]}
    assert sources == {"host", "process", "loader worker 0", "loader worker 1", "GPU 0"}
    every = np.unique(times + columns.base_ns)
    whole = journal_columns(RUN)
    assert set(every) <= set(whole.tables["samples"]["time_ns"] + whole.base_ns)


def test_a_trace_that_counts_from_elsewhere_keeps_samples_on_their_own_clock() -> None:
    blocks = blocks_of(RUN)
    trace = {"traceEvents": [{"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1}]}
    trace["traceEvents"][0] |= {"ts": 5, "dur": 1}
    columns = read(json.dumps(trace | {"torch_tb_profiler": {"blocks": blocks}}).encode())
    assert columns.base_ns == 0
    samples = columns.tables["samples"]["time_ns"]
    assert columns.quality.counts["samples_own_clock"] == len(samples)
    assert samples.min() < 10**9


@pytest.mark.parametrize(
    ("value", "counts"),
    [
        (None, {}),
        ("text", {"header_value": 1}),
        ({"blocks": 7}, {"header_value": 1}),
        ({"blocks": [7, None, {"kind": "later"}, {"kind": "steps"}]}, {"header_value": 2}),
    ],
)
def test_an_invalid_tail_is_counted(value: Any, counts: dict[str, int]) -> None:
    trace = {"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]}
    columns = read(json.dumps(trace | {"torch_tb_profiler": value}).encode())
    actual = {code: columns.quality.counts.get(code, 0) for code in counts}
    assert actual == counts
    assert columns.side == ()
