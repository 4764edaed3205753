"""Tables against the raw events of a recording; lists of views, tables and columns; refusals."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.helpers.mcp_answers import Ask, events_of, rows_of
from torch_tb_profiler.requests.errors import LoadingError

H100 = "h100_bert_small"


def kernels(samples: Path) -> dict[str, list[float]]:
    by_name: dict[str, list[float]] = defaultdict(list)
    for each in events_of(samples / H100):
        if each.get("cat") == "kernel":
            by_name[each["name"]].append(each["dur"])
    return by_name


def test_kernels_are_those_of_the_events(ask: Ask, samples: Path) -> None:
    expected = kernels(samples)
    text = ask("table", trace=H100, view="kernels", columns="name,calls,total_us,max_us", limit=50)
    rows = rows_of(text, "name")
    assert f"Rows 1 to {len(expected)} of {len(expected)}" in text
    actual = sorted((int(r["calls"]), float(r["total_us"]), float(r["max_us"])) for r in rows)
    assert actual == sorted(
        (len(durs), round(sum(durs), 3), max(durs)) for durs in expected.values()
    )
    total_us = sum(map(sum, expected.values()))
    calls = sum(map(len, expected.values()))
    assert f"Sums over all {len(expected)} rows: calls = {calls}, total_us = {total_us:.3f}" in text


def test_filter_sort_offset_and_limit(ask: Ask, samples: Path) -> None:
    expected = sorted(
        (durs for name, durs in kernels(samples).items() if "gemm" in name.lower()),
        key=lambda durs: -len(durs),
    )
    text = ask("table", trace=H100, view="kernels", columns="calls", filter="name~GEMM",
               sort="-calls", offset=1, limit=2)  # fmt: skip
    assert f"Rows 2 to 3 of {len(expected)}" in text
    lines = text.split("\n")
    at = lines.index("calls")
    assert [int(line) for line in lines[at + 1 : at + 3]] == [len(durs) for durs in expected[1:3]]


def test_group_by_and_parameters(ask: Ask) -> None:
    text = ask("table", trace=H100, view="kernels", group_by="name+operator+launch", limit=1)
    assert ", by name+operator+launch. Page:" in text
    assert "operator" in rows_of(text, "name")[0]
    whole = ask("table", trace=H100, view="operators", columns="calls")
    part = ask("table", trace=H100, view="operators", columns="calls",
               parameters={"start_us": "1419247333430.849"})  # fmt: skip
    assert whole != part


def test_views_with_reasons_of_missing_ones(ask: Ask) -> None:
    text = ask("table", trace=H100)
    assert rows_of(text, "view")[0]["view"] == "overview"
    missing = {row["missing view"]: row["reason"] for row in rows_of(text, "missing view")}
    assert "no communication" in missing["distributed"]
    with pytest.raises(LoadingError) as caught:
        ask("table", trace=H100, view="distributed")
    assert "no communication" in caught.value.problem.message


def test_facts_and_notes_are_tables(ask: Ask, samples: Path) -> None:
    rows = rows_of(ask("table", trace=H100, view="overview", table="facts", limit=100), "key")
    facts = {row["key"]: row for row in rows}
    count = sum(map(len, kernels(samples).values()))
    assert facts["kernel_calls"]["value"] == str(count)
    assert facts["average_step_us"]["value"] == "4426.114"
    assert facts["steps_per_s"]["value"] == "null"
    assert "torch-tb-profiler record does" in facts["steps_per_s"]["reason"]
    assert facts["gpu_utilization_pct"]["scope"] == "GPU 0"
    notes = rows_of(ask("table", trace=H100, view="overview", table="notes"), "code")
    assert {"launch_bound", "launch_without_kernel"} <= {row["code"] for row in notes}


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        ({"view": "kernel"}, "unknown_view", "Did you mean kernels?"),
        ({"view": "kernels", "table": "kernelz"}, "unknown_table", "api_calls: "),
        ({"view": "kernels", "columns": "callz"}, "unknown_column", "calls"),
        ({"view": "kernels", "filter": "callz>1"}, "bad_argument", None),
        ({"view": "kernels", "sort": "-"}, "bad_argument", None),
        ({"view": "kernels", "group_by": "nothing"}, None, "name"),
        ({"view": "kernels", "steps": "a:b:c"}, "bad_parameter", None),
        ({"view": "kernels", "parameters": {"stepz": "1"}}, "unknown_parameter", "steps"),
        ({"view": "kernels", "parameters": {"start_us": "x"}}, "bad_parameter", None),
        ({"view": "kernels", "parameters": {"run": "other"}}, "unknown_parameter", None),
        ({"view": "compare"}, "bad_argument", "Call compare."),
    ],
)
def test_refusals(ask: Ask, arguments: dict[str, str], code: str | None, hint: str | None) -> None:
    with pytest.raises(LoadingError) as caught:
        ask("table", trace=H100, **arguments)
    if code is not None:
        assert caught.value.problem.code == code
    if hint is not None:
        assert hint in str(caught.value.problem.hint)


def test_a_sort_by_what_is_null_is_said(ask: Ask) -> None:
    text = ask("table", trace=H100, view="kernels", sort="-registers_per_thread")
    assert "Not sorted by registers_per_thread, which is null in these rows: " in text
    assert "group_by may help: name, name+operator+launch." in text


def test_all_figures_are_listed_without_a_limit(ask: Ask) -> None:
    text = ask("table", trace="dlrm_8_ranks", view="overview", table="facts", max_chars=20_000)
    rows = rows_of(text, "key")
    assert f"of {len(rows)}, tab-separated" in text
    assert [row["value"] for row in rows if row["key"] == "world_size"] == ["8"]


def test_shortened_names_say_how_to_get_them_whole(ask: Ask, samples: Path) -> None:
    longest = max(kernels(samples), key=len)
    whole = {"trace": H100, "view": "kernels", "limit": 50}
    assert "are shortened: ask for that column alone" in ask(
        "table", columns="name,calls,total_us", **whole
    )
    assert longest in ask("table", columns="name", max_chars=20_000, **whole)


def test_a_name_that_no_row_has_is_looked_for_elsewhere(ask: Ask, samples: Path) -> None:
    """The optimizer is a range, no operator; the query of the hint has it."""
    text = ask("table", trace="cpu_resnet_full", view="operators", filter="name~Optimizer.step")
    assert "No rows: " in text
    call = next(line for line in text.split("\n") if line.startswith("Any name of the recording"))
    query = call.split('query="')[1].removesuffix('")').replace("%…%", "%Optimizer.step%")
    rows = rows_of(ask("sql", trace="cpu_resnet_full", query=query), "category")
    durations = [
        each["dur"]
        for each in events_of(samples / "cpu_resnet_full")
        if each.get("ph") == "X" and "Optimizer.step" in each["name"]
    ]
    assert [(row["calls"], row["total_ns"]) for row in rows if row["category"] == "optimizer"] == [
        (str(len(durations)), str(round(1000 * sum(durations))))
    ]
