"""Ranks and links that differ from the others in figures of a recording's files."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest
from msgspec.structs import replace

from tests.helpers.traces import Event, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import detect_across_workers
from torch_tb_profiler.evidence.recorded_links import slow_link
from torch_tb_profiler.evidence.recorded_ranks import slow_ranks
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable
from torch_tb_profiler.views.schema import Note

ALL = Selection()


def with_table(
    name: str, rows: list[dict[str, object]], events: list[Event] | None = None
) -> Trace:
    """A trace with a side table; other columns are null."""
    frame = pl.DataFrame(rows, schema=SIDE_SCHEMAS[name], orient="row")
    side = {name: SideTable(name, f"{name}.csv", frame)}
    return replace(trace(events or []), side=side)


def cluster(*steps: tuple[float, float], stage: int | None = None) -> Trace:
    rows: list[dict[str, object]] = [
        {"step": str(number), "stage": stage, "without_communication_us": own,
         "communication_alone_us": alone}
        for number, (own, alone) in enumerate(steps, start=1)
    ]  # fmt: skip
    return with_table("cluster_steps", rows)


def values(note: Note) -> tuple[object, object]:
    return note.evidence["title"], note.evidence["measured"]


def test_the_slowest_rank_is_named_with_its_difference_from_the_mean() -> None:
    # Means: 100, 100 and 160 of 120: 33.3 % more.
    traces = {"a": cluster((90, 10), (110, 10)), "b": cluster((100, 10)), "c": cluster((160, 10))}
    (note,) = slow_ranks(traces, ALL)
    assert values(note) == ("Slow rank", pytest.approx(100 / 3))
    assert note.text.startswith(
        "c takes 160 µs per step without communication, 33.3 % more than the mean of all ranks it "
        "is compared with (120 µs; rule of thumb: above 20 %), as cluster_steps.csv reports."
    )
    rows = note.evidence["rows"]
    assert isinstance(rows, list)
    assert [row["worker"] for row in rows] == ["c", "a", "b"]


def test_below_the_threshold_there_is_none() -> None:
    traces = {"a": cluster((100, 10)), "b": cluster((140, 10))}  # 16.7 % above 120
    assert slow_ranks(traces, ALL) == ()


def test_ranks_of_different_stages_are_not_compared() -> None:
    traces = {
        f"{stage}{rank}": cluster((time, 10), stage=stage)
        for stage, times in enumerate(((100, 101), (300, 301)))
        for rank, time in enumerate(times)
    }
    assert slow_ranks(traces, ALL) == ()


def test_a_difference_that_costs_nothing_is_none() -> None:
    def waiting(interval_us: float) -> Trace:
        return with_table(
            "recorded_step_trace", [{"step": "1", "interval_us": interval_us, "total_us": 1e6}]
        )

    assert slow_ranks({"a": waiting(10), "b": waiting(100)}, ALL) == ()
    (note,) = slow_ranks({"a": waiting(1e4), "b": waiting(1e5)}, ALL)
    assert note.evidence["title"] == "Rank that waits before its steps"


def test_a_lower_rate_is_worse() -> None:
    def computing(rate: float) -> Trace:
        rows: list[dict[str, object]] = [
            {"level": "model", "flops_per_s": rate}, {"level": "operator", "flops_per_s": 1e9},
        ]  # fmt: skip
        return with_table("recorded_flops", rows)

    (note,) = slow_ranks({"a": computing(9e12), "b": computing(3e12)}, ALL)
    assert note.text.startswith("b computes at 3 TFLOP/s, 50.0 % less than the mean")


def links(rates: Mapping[tuple[int, int], float], **more: object) -> Trace:
    """Transfers of 1 MB over links of some GB/s."""
    rows: list[dict[str, object]] = [
        {"step": "1", "source_rank": source, "destination_rank": target, "transport": "HCCS",
         "size_bytes": 1e6, "time_us": 1e3 / rate, **more}
        for (source, target), rate in rates.items()
    ]  # fmt: skip
    return with_table("links", rows)


def test_the_slowest_link_of_its_kind() -> None:
    usual = {(0, 1): 20.0, (0, 2): 20.0, (0, 3): 10.0, (0, 0): 0.1}
    note = slow_link({"rank0": links(usual)}, ALL)
    assert note is not None
    assert values(note) == ("Slow link", pytest.approx(50))
    assert note.text.startswith(
        "The link from rank 0 to rank 3 (HCCS) moves 10.0 GB/s, 50.0 % less than the median of its "
        "kind (20.0 GB/s; rule of thumb: above 20 %), as links.csv reports."
    )


def test_few_links_or_small_transfers_are_not_compared() -> None:
    assert slow_link({"rank0": links({(0, 1): 20.0, (0, 2): 5.0})}, ALL) is None
    usual = links({(0, 1): 20.0, (0, 2): 20.0, (0, 3): 19.0})
    small = links({(1, 2): 1.0}, size_bytes=1e4)
    assert slow_link({"rank0": usual, "rank1": small}, ALL) is None
    assert slow_link({"rank0": trace([op("aten::mm", 0, 5)])}, ALL) is None


def test_findings_of_a_run_have_them_with_and_without_steps() -> None:
    one, two = cluster((100, 10)), cluster((300, 10))
    codes = [note.code for note in detect_across_workers({"a": one, "b": two}, ALL)]
    assert codes == ["slow_rank"]
    events = [step(1, 0, 100), op("aten::mm", 0, 50)]
    slow = [
        with_table("cluster_steps", [{"step": "1", "without_communication_us": own,
                                      "communication_alone_us": 1.0}], events)
        for own in (100.0, 300.0)
    ]  # fmt: skip
    found = detect_across_workers(dict(zip("ab", slow, strict=True)), ALL)
    assert "slow_rank" in {note.code for note in found}
