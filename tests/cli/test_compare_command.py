"""``compare``: both sides named, every format, gates and their exit codes, invalid sides.

The samples are the same training with a slow data loader in the process and with two workers: the
step gets shorter because the loader does (see ``samples/README.md``).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.reports.text import display_width

Run = Callable[..., Done]
TABLES = [
    "surroundings",
    "average_step",
    "phases",
    "explained",
    "steps",
    "operators",
    "kernels",
    "modules",
]
"""In the order of reports: what differs beside the code first, then the step and its parts."""


@pytest.fixture
def slow(samples: Path) -> Path:
    return samples / "cpu_slowloader_nw0"


@pytest.fixture
def fast(samples: Path) -> Path:
    return samples / "cpu_slowloader_nw2"


def _rows(answer: dict[str, Any], table: str) -> list[dict[str, Any]]:
    content = answer["tables"][table]
    keys = [column["key"] for column in content["columns"]]
    return [dict(zip(keys, row, strict=True)) for row in content["rows"]]


def test_json_has_both_sides_and_every_table(run: Run, slow: Path, fast: Path) -> None:
    done = run("compare", slow, fast, "--format", "json", "--baseline-steps", "3:5")
    assert (done.code, done.err) == (0, "")
    answer = done.json
    assert list(answer["tables"]) == TABLES
    assert answer["trace"]["run"] == "candidate/cpu_slowloader_nw2"
    assert answer["trace"]["baseline"]["run"] == "baseline/cpu_slowloader_nw0"
    assert answer["trace"]["baseline"]["selection"]["steps"] == "3:5"
    assert answer["selection"]["steps"] is None


def test_the_data_loader_is_named_first_with_its_milliseconds(
    run: Run, slow: Path, fast: Path
) -> None:
    answer = run("compare", slow, fast, "--format", "json", "--view", "average_step").json
    by_category = {row["category"]: row for row in _rows(answer, "average_step")}
    times = [
        run("report", side, "--format", "json", "--table", "average_step").json
        for side in (slow, fast)
    ]
    loader_us = [
        next(row["duration_us"] for row in _rows(side, "average_step")
             if row["category"] == "DataLoader")
        for side in times
    ]  # fmt: skip
    row = by_category["DataLoader"]
    assert row["delta_duration_us"] == pytest.approx(loader_us[1] - loader_us[0])
    assert row["delta_duration_us"] < -25_000
    by_key = {fact["key"]: fact["value"] for fact in answer["facts"]}
    assert answer["facts"][0]["key"] == "delta_total_us"
    assert by_key["largest_change"] == "DataLoader"


def test_a_table_fits_and_keeps_the_times(run: Run, slow: Path, fast: Path) -> None:
    done = run("compare", slow, fast, "--view", "operators", "--limit", "3")
    lines = done.out.split("\n")
    assert max(map(display_width, lines)) <= 100
    assert "against baseline/cpu_slowloader_nw0" in " ".join(lines)
    assert "Candidate" in done.out
    assert any(line.startswith("Operators (3 of ") for line in lines)
    assert not any(line.startswith("Steps (") for line in lines)


def test_csv_of_one_table(run: Run, slow: Path, fast: Path) -> None:
    done = run("compare", slow, fast, "--format", "csv", "--view", "operators",
               "--sort", "-delta_host_self_us", "--limit", "2")  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(done.out, newline="")))
    assert len(rows) == 2
    assert float(rows[0]["delta_host_self_us"]) >= float(rows[1]["delta_host_self_us"])


def test_gates_decide_the_exit_code(run: Run, slow: Path, fast: Path) -> None:
    improved = run("compare", slow, fast, "--fail-on", "average_step.total_us>+5%")
    assert improved.code == 0
    assert "passed: average_step.total_us>+5%" in improved.err
    worse = run("compare", fast, slow, "--format", "json",
                "--fail-on", "average_step.total_us>+5%",
                "--fail-on", "average_step.dataloader_us>+100ms")  # fmt: skip
    assert worse.code == 1
    assert "failed: average_step.total_us>+5%" in worse.err
    assert "passed: average_step.dataloader_us>+100ms" in worse.err
    assert worse.json["view"] == "compare"


def test_a_run_against_itself_passes_every_gate(run: Run, slow: Path) -> None:
    gates = [f"--fail-on={table}>+0" for table in ("average_step.total_us", "operators.calls")]
    done = run("compare", slow, slow, *gates)
    assert done.code == 0
    assert done.err.count("passed: ") == 2


def test_omitted_rows_do_not_let_a_gate_pass(run: Run, slow: Path, fast: Path) -> None:
    done = run("compare", fast, slow, "--view", "operators", "--filter", "name~nothing",
               "--fail-on", "operators[name~normal_].host_self_us>+0%")  # fmt: skip
    assert done.code == 1


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--fail-on", "average_step>5"], "average_step>5"),
        (["--fail-on", "average_step.nothing>+5%"], "nothing"),
        (["--view", "operator"], "Did you mean operators"),
        (["--view", "operators", "--sort", "nothing"], "nothing"),
        (["--steps", "77"], "77"),
        (["--run", "nowhere"], "nowhere"),
        (["--group-by", "colour"], "per_step"),
        (["--format", "csv"], "--output"),
    ],
)
def test_bad_usage_is_2(run: Run, slow: Path, fast: Path, arguments: list[str], word: str) -> None:
    done = run("compare", slow, fast, *arguments)
    assert done.code == 2
    assert word in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("side", [0, 1])
def test_an_unreadable_side_is_3_and_named(run: Run, slow: Path, tmp_path: Path, side: int) -> None:
    sides = [slow, slow]
    sides[side] = tmp_path / "missing.json"
    done = run("compare", *sides)
    assert done.code == 3
    assert "missing.json does not exist" in done.err


def test_of_several_traces_the_first_is_used_with_a_warning(run: Run, samples: Path) -> None:
    folder = samples / "kineto_resnet50_nw0"
    done = run("compare", folder, folder, "--span", "2", "--view", "average_step")
    assert done.code == 0
    assert "holds 2 traces; using worker0.1623143089861" in done.err
    assert "--baseline-span" in done.err
    assert done.err.count("warning") == 1


def test_a_third_side_stands_beside_the_candidate(
    run: Run, slow: Path, fast: Path, samples: Path
) -> None:
    done = run("compare", slow, fast, samples / "cpu_resnet_full", "--format", "json")
    assert done.code == 0, done.err
    alone = run("compare", slow, samples / "cpu_resnet_full", "--format", "json").json
    answer = done.json
    assert answer["trace"]["third"]["run"] == "third/cpu_resnet_full"
    total, expected = (_rows(each, "average_step")[0] for each in (answer, alone))
    assert total["third_duration_us"] == expected["candidate_duration_us"]
    assert total["delta_third_duration_us"] == expected["delta_duration_us"]
    assert "cpu_slowloader_nw2 is 52.1 % faster" in answer["answer"]
    assert "cpu_resnet_full takes 2.12 times as long" in answer["answer"]
    calls = {row["name"]: row for row in _rows(answer, "operators")}
    others = {row["name"]: row for row in _rows(alone, "operators")}
    for name, row in others.items():
        assert calls[name]["third_calls"] == row["candidate_calls"]


def test_a_marked_baseline_is_taken(run: Run, slow: Path, fast: Path, tmp_path: Path) -> None:
    cache = ("--cache-dir", tmp_path)
    assert run("compare", fast, *cache).code == 2
    marked = run("compare", slow, "--mark-baseline", *cache)
    assert (marked.code, marked.out) == (0, "")
    assert "is the baseline of" in marked.err
    done = run("compare", fast, "--format", "json", *cache)
    assert done.json["trace"]["baseline"]["run"] == "baseline/cpu_slowloader_nw0"
    assert f"Baseline: {slow}" in done.err


def test_a_damaged_report_is_an_unreadable_input(run: Run, samples: Path, tmp_path: Path) -> None:
    trace = samples / "torch_compile_triton"
    text = run("report", trace, "--view", "all", "--format", "json").out
    damaged = tmp_path / "report.json"
    damaged.write_text(text.replace('"rows":[[', '"rows":[true,[', 1))
    done = run("compare", damaged, trace)
    assert done.code == 3
    assert "another shape" in done.err
