"""The figures of the answers are those of the raw events; every call that an answer names can be
made as it stands; a run has what compares its workers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.mcp_answers import Ask, asking, events_of, opened, rows_of
from torch_tb_profiler.cli import main
from torch_tb_profiler.requests.errors import LoadingError

CALL = re.compile(r"\b(table|verdict|timeline_excerpt|explain|how_to_record)\((.*?)\)(?=[;. \n]|$)")
ARGUMENT = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[\d.]+)')


def calls_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The calls that a text names."""
    return [
        (tool, {name: json.loads(value) for name, value in ARGUMENT.findall(arguments)})
        for tool, arguments in CALL.findall(text)
    ]


def test_the_step_and_its_kernels_are_those_of_the_events(ask: Ask, samples: Path) -> None:
    events = events_of(samples / "h100_bert_small")
    kernels = [each for each in events if each.get("cat") == "kernel"]
    (step,) = (
        each["dur"]
        for each in events
        if each.get("cat") == "user_annotation" and each["name"].startswith("ProfilerStep")
    )
    kernel_us = sum(each["dur"] for each in kernels)  # one stream: none overlap
    text = ask("verdict", trace="h100_bert_small")
    assert text.startswith(f"The GPU is busy {kernel_us / step * 100:.1f} % of the 4.43 ms step;")
    assert f"Kernel {kernel_us:.3f} µs ({kernel_us / step * 100:.1f} %)" in text
    assert "1. Launch-bound: est. gain" in text
    assert "https://pytorch.org/docs/stable/notes/cuda.html#cuda-graphs" in text


def test_calls_that_an_answer_names_can_be_made(ask: Ask) -> None:
    for trace in ("h100_bert_small", "dlrm_8_ranks"):
        calls = calls_of(ask("verdict", trace=trace, max_chars=20_000))
        assert len(calls) > 6
        assert {"table", "timeline_excerpt", "explain", "how_to_record"} <= {c[0] for c in calls}
        for tool, arguments in calls:
            assert ask(tool, **arguments)


def test_rows_behind_a_finding_are_not_empty(ask: Ask) -> None:
    text = ask("verdict", trace="h100_bert_small")
    (line,) = (line for line in text.split("\n") if 'view="idle"' in line and "Rows:" in line)
    ((tool, arguments),) = calls_of(line)
    answer = ask(tool, **arguments)
    assert "No rows" not in answer
    assert "Launch-bound (host)" in answer


def test_a_run_compares_its_workers(ask: Ask) -> None:
    text = ask("verdict", trace="dlrm_8_ranks")
    assert "The name has 8 recordings; this is the first" in text
    assert "worker7_step_12 arrives last in 5 of 8 collectives" in text
    assert "Findings over all workers:" in text
    rows = rows_of(ask("table", trace="dlrm_8_ranks", view="distributed", table="stragglers"),
                   "worker")  # fmt: skip
    assert rows[0]["worker"] == "worker7_step_12"
    assert rows[0]["arrived_last"] == "5"


def test_a_recording_without_events_says_what_else_there_is(tmp_path: Path) -> None:
    (tmp_path / "w.pt.trace.json").write_text('{"traceEvents": []}')
    with opened(tmp_path) as context, pytest.raises(LoadingError) as caught:
        asking(context)("verdict")
    assert "The recording contains no events" in caught.value.problem.message
    assert "how_to_record(trace=" in str(caught.value.problem.hint)


def test_a_saved_report_is_for_comparisons(tmp_path: Path, samples: Path) -> None:
    output = tmp_path / "before.json"
    assert main(["report", str(samples / "h100_bert_small"), "--no-cache", "--format", "json",
                 "--view", "overview,operators", "--output", str(output)]) == 0  # fmt: skip
    with opened(tmp_path) as context, pytest.raises(LoadingError, match="saved report") as caught:
        asking(context)("verdict", trace="before")
    assert "compare" in str(caught.value.problem.hint)


def test_steps_are_selected(ask: Ask, samples: Path) -> None:
    durations = {
        each["name"].removeprefix("ProfilerStep#"): each["dur"]
        for each in events_of(samples / "cpu_resnet_full")
        if each.get("cat") == "user_annotation" and each["name"].startswith("ProfilerStep")
    }
    step, dur_us = sorted(durations.items())[1]
    text = ask("verdict", trace="cpu_resnet_full", steps=step)
    assert f"selected: {step}" in text
    rows = [
        arguments for tool, arguments in calls_of(text) if tool == "table" and "view" in arguments
    ]
    assert all(arguments["steps"] == step for arguments in rows)
    parts = re.findall(r"([\d.]+) µs \([\d.]+ %\)", text.split("Average step")[1].split("\n")[0])
    assert sum(map(float, parts)) == pytest.approx(dur_us, rel=0.05)  # a step ends with its work
    with pytest.raises(LoadingError):
        ask("verdict", trace="cpu_resnet_full", steps="999")


def test_every_next_call_of_a_verdict_can_be_made(ask: Ask, samples: Path) -> None:
    for run in sorted(each.name for each in samples.iterdir() if list(each.glob("*.json.gz"))):
        text = ask("verdict", trace=run)
        for name in re.findall(r'explain\(name="([^"]+)"\)', text):
            assert f" {name} (" in ask("explain", name=name)
    assert 'view="efficiency"' in ask("verdict", trace="torch_compile_triton").split("Next: ")[1]


def test_a_note_without_a_rule_is_explained_by_its_address(ask: Ask) -> None:
    assert "docs/advice.md#where_time_goes" in ask("explain", name="where_time_goes")
