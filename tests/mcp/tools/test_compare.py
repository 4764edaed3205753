"""The change of the step is that of the raw steps; tables of a comparison; both sides are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.mcp_answers import Ask, events_of, rows_of
from torch_tb_profiler.requests.errors import LoadingError

BEFORE, AFTER = "cpu_slowloader_nw0", "cpu_slowloader_nw2"


def mean_step_us(folder: Path) -> float:
    steps = [
        each["dur"]
        for each in events_of(folder)
        if each.get("cat") == "user_annotation" and each["name"].startswith("ProfilerStep")
    ]
    return float(sum(steps) / len(steps))


def test_the_change_is_that_of_the_recorded_steps(ask: Ask, samples: Path) -> None:
    before, after = (mean_step_us(samples / name) for name in (BEFORE, AFTER))
    text = ask("compare", baseline=BEFORE, trace=AFTER)
    rows = {row["category"]: row for row in rows_of(text, "category")}
    assert float(rows["Total"]["baseline_duration_us"]) == pytest.approx(before, rel=1e-3)
    assert float(rows["Total"]["candidate_duration_us"]) == pytest.approx(after, rel=1e-3)
    change_pct = (after / before - 1) * 100
    assert float(rows["Total"]["delta_duration_pct"]) == pytest.approx(change_pct, rel=1e-2)
    assert text.startswith(f"{AFTER} is {-change_pct:.1f} % faster than {BEFORE}")
    assert rows["Kernel"]["delta_duration_us"] == "null"
    assert rows_of(text, "name")[0]["name"] == "DataLoader"


def test_a_recording_with_itself_does_not_differ(ask: Ask) -> None:
    text = ask("compare", baseline=BEFORE, trace=BEFORE)
    (total,) = (row for row in rows_of(text, "category") if row["category"] == "Total")
    assert total["delta_duration_us"] == "0"
    assert "compare.surroundings" in text
    assert "No row matches the filter" in text


def test_a_table_in_full(ask: Ask) -> None:
    text = ask("compare", baseline=BEFORE, trace=AFTER, table="operators", limit=5,
               columns="name,delta_calls", filter="name=aten::conv2d")  # fmt: skip
    assert [row["name"] for row in rows_of(text, "name")] == ["aten::conv2d"]
    assert "compare.explained" not in text


def test_refusals(ask: Ask) -> None:
    for arguments in ({"baseline": BEFORE}, {"trace": AFTER}, {}):
        with pytest.raises(LoadingError, match="is missing"):
            ask("compare", **arguments)
    with pytest.raises(LoadingError, match="There is no table"):
        ask("compare", baseline=BEFORE, trace=AFTER, table="operator")
    with pytest.raises(LoadingError, match="There is no trace"):
        ask("compare", baseline="/tmp/other.json", trace=AFTER)


def test_what_is_explained_is_said(ask: Ask) -> None:
    text = ask("compare", baseline="mi300_bert_small", trace="h100_bert_small")
    assert "share_of_delta_pct below is of 104.245 µs of host time" in text
