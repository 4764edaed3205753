"""``report --view summary``: any of its tables, any order, unit, threads, operators with parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Done

Run = Callable[..., Done]

TITLES = (
    "Device Summary",
    "Overview Summary",
    "Model Summary",
    "Distributed Summary",
    "Kernel Summary",
    "Operator Summary",
    "Memory Manipulation Summary",
    "UserDefined Summary",
)


def test_every_table_fits_into_a_hundred_cells(run: Run, samples: Path) -> None:
    done = run("report", samples / "h100_bert_small", "--view", "summary", "--operator-parts")
    assert done.code == 0
    lines = done.out.splitlines()
    assert all(any(line.startswith(title) for line in lines) for title in TITLES)
    assert max(map(len, lines)) <= 100
    assert "Too wide to show" not in done.out
    assert "Operator Summary, GPU (20 of 69 rows)" in lines
    assert "  aten::addmm" in done.out


def test_tables_units_and_orders(run: Run, samples: Path) -> None:
    requested = ("--tables", "operator,kernel", "--sort", "gpu-avg", "--time-unit", "ns")
    done = run("report", samples / "h100_bert_small", "--view", "summary", *requested)
    assert done.code == 0
    assert "Overview Summary" not in done.out
    assert "[ns]" in done.out
    assert "[µs]" not in done.out
    answer = run("report", samples / "h100_bert_small", "--view", "summary", *requested,
                 "--format", "json").json  # fmt: skip
    assert list(answer["tables"]) == ["kernel", "operator"]
    for table in answer["tables"].values():
        location = [column["key"] for column in table["columns"]].index("gpu_mean_us")
        means = [row[location] for row in table["rows"]]
        assert means == sorted(means, reverse=True)


def test_parts_stay_below_their_operator_in_any_order(run: Run, samples: Path) -> None:
    answer = run("report", samples / "h100_bert_small", "--view", "summary", "--operator-parts",
                 "--threads", "apart", "--tables", "operator", "--sort", "cpu-min",
                 "--format", "json").json  # fmt: skip
    assert answer["selection"]["group_by"] == "name+thread+parts"
    table = answer["tables"]["operator"]
    keys = [column["key"] for column in table["columns"]]
    rows = [dict(zip(keys, row, strict=True)) for row in table["rows"]]
    above = None
    for row in rows:
        if row["parent"] is None:
            above = row["path"]
        assert row["parent"] in (None, above)
        assert row["thread"] is not None
    shortest = [row["cpu_min_us"] for row in rows if row["parent"] is None]
    assert shortest == sorted(shortest)


def test_invalid_options_are_reported(run: Run, samples: Path) -> None:
    trace = samples / "h100_bert_small"
    unknown = run("report", trace, "--view", "summary", "--sort", "gpu-sum")
    assert unknown.code == 2
    assert "gpu-total, gpu-avg" in unknown.err
    twice = run("report", trace, "--view", "summary", "--threads", "apart", "--group-by", "name")
    assert (twice.code, "--group-by or --threads" in twice.err) == (2, True)
    for options in (("--threads", "apart"), ("--operator-parts",)):
        other = run("report", trace, "--view", "operators", *options)
        assert (other.code, f"{options[0]}: only for the view summary" in other.err) == (2, True)
    order = run("report", trace, "--view", "summary", "--tables", "device", "--sort", "CPUMin")
    assert (order.code, "no table to print has 'cpu-min'" in order.err) == (2, True)
    table = run("report", trace, "--view", "summary", "--tables", "operators")
    assert (table.code, "operator" in table.err) == (2, True)


def test_one_table_as_csv_and_in_markdown(run: Run, samples: Path) -> None:
    trace = samples / "h100_bert_small"
    csv = run("report", trace, "--view", "summary", "--tables", "device", "--format", "csv")
    assert csv.out.splitlines()[0] == "device,utilization_pct"
    text = run("report", trace, "--view", "summary", "--tables", "model", "--format", "md",
               "--time-unit", "s").out  # fmt: skip
    assert "### Model Summary" in text
    assert "\\[s\\]" in text
