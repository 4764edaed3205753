"""Gates of ``compare``: malformed ones are rejected before a trace is opened, and gates on times of
recordings in different environments are errors."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done

Run = Callable[..., Done]


def write(path: Path, *, device: str = "Tesla V100", batch: int = 32, mm_us: int = 100) -> Path:
    events: list[dict[str, Any]] = []

    def add(cat: str, name: str, ts: int, dur: int, *, tid: int = 1, **args: Any) -> None:
        where = {"pid": 0 if cat == "kernel" else 1, "tid": tid, "ts": ts, "dur": dur}
        events.append({"ph": "X", "cat": cat, "name": name, "args": args, **where})

    for step in range(3):
        at = 1000 * step + 1000
        add("user_annotation", f"ProfilerStep#{step}", at, 500 + mm_us + step)
        result: dict[str, Any] = {"Input Dims": [[batch, 8], [8, 8]]}
        add("cpu_op", "aten::linear", at + 10, 50, **result)
        add("cuda_runtime", "cudaLaunchKernel", at + 20, 5, correlation=step + 1)
        launched = {"correlation": step + 1, "device": 0, "stream": 7}
        add("kernel", "gemm", at + 40, mm_us, tid=7, **launched)
    document = {"deviceProperties": [{"id": 0, "name": device}], "traceEvents": events}
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    return path


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write(tmp_path / "base.pt.trace.json.gz")


@pytest.fixture
def slower(tmp_path: Path) -> Path:
    return write(tmp_path / "slower.pt.trace.json.gz", mm_us=200)


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ("average_step>5", ["is malformed", "@confidence"]),
        ("average_step.nothing>+5%", ["no measure 'nothing'", "measures: total_us"]),
        ("steps_.total_us>+5%", ["no table 'steps_'", "tables: average_step"]),
        ("operators[colour=red].calls>+0", ["no column"]),
        ("operators.calls>+5ms", ["calls has no unit 'ms'", "use % or none"]),
        ("operators.calls>+0@95", ["remove the part after @"]),
        ("average_step.total_us>+5%@100", ["@99.9"]),
    ],
)
def test_a_malformed_gate_is_rejected_before_a_file_is_opened(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: str, words: list[str]
) -> None:
    """The paths have no traces: if they were opened, the code would be 3."""

    def fail(*_arguments: object, **_options: object) -> None:
        pytest.fail("a place was looked at")

    monkeypatch.setattr("torch_tb_profiler.cli.compared_sides.Catalog", fail)
    monkeypatch.setattr("torch_tb_profiler.cli.compare_command.perform", fail)
    done = run("compare", tmp_path / "a", tmp_path / "b", "--fail-on", gate)
    assert done.code == 2
    for word in words:
        assert word in done.err
    assert done.out == ""


def test_an_unknown_kind_is_rejected(run: Run, base: Path) -> None:
    done = run("compare", base, base, "--allow-different", "devise")
    assert done.code == 2
    assert "Did you mean device" in done.err


@pytest.mark.parametrize(
    ("kind", "other"), [("device", {"device": "A100"}), ("batch", {"batch": 64})]
)
def test_a_gate_on_times_in_different_environments_is_an_error(
    run: Run, tmp_path: Path, base: Path, kind: str, other: dict[str, Any]
) -> None:
    """It would pass, because nothing got slower, but the comparison is meaningless."""
    candidate = write(tmp_path / "other.pt.trace.json.gz", **other)
    gate = "average_step.total_us>+5%"
    done = run("compare", base, candidate, "--fail-on", gate)
    assert done.code == 2
    assert "passed" not in done.err
    assert f"--allow-different {kind}" in done.err
    allowed = [f"--allow-different={each}" for each in {kind, "shapes"}]
    meant = run("compare", base, candidate, "--fail-on", gate, *allowed)
    assert (meant.code, f"passed: {gate}" in meant.err) == (0, True)
    half = run("compare", base, candidate, "--fail-on", gate, "--allow-different", "world_size")
    assert half.code == 2


def test_gates_on_counts_ignore_the_environment(run: Run, tmp_path: Path, base: Path) -> None:
    candidate = write(tmp_path / "other.pt.trace.json.gz", device="A100", mm_us=200)
    counts = run("compare", base, candidate, "--fail-on", "operators.calls>+0")
    assert (counts.code, "passed: " in counts.err) == (0, True)
    own = run("compare", base, candidate, "--fail-on", "kernels.mean_us>150us")
    assert own.code == 1


def test_a_gate_in_the_same_environment_is_evaluated(run: Run, base: Path, slower: Path) -> None:
    assert run("compare", base, slower, "--fail-on", "average_step.total_us>+5%@95").code == 1
    assert run("compare", slower, base, "--fail-on", "average_step.total_us>+5%@95").code == 0


@pytest.mark.parametrize("output_format", ["table", "md"])
def test_a_report_starts_with_the_verdict_then_warnings_then_details(
    run: Run, tmp_path: Path, base: Path, output_format: str
) -> None:
    candidate = write(tmp_path / "other.pt.trace.json.gz", device="A100", mm_us=200)
    out = " ".join(run("compare", base, candidate, "--format", output_format).out.split())
    parts = [
        "Not only the code may differ (device Tesla V100 against A100): the candidate is",
        "Change of the average step",
        "+100",
        "Significance",
        "The devices are of different models: Tesla V100 against A100",
        "Explained by",
        "Environment",
        "What explains the difference",
        "Operators",
    ]
    at = 0
    for part in parts:
        at = out.find(part, at)
        assert at >= 0, part
