"""Ranges against the raw events: busy time, the largest slices, gaps; steps; tracks; refusals."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.helpers.mcp_answers import Ask, events_of, rows_of
from torch_tb_profiler.requests.errors import LoadingError

H100 = "h100_bert_small"


def test_busy_and_idle_are_those_of_the_events(ask: Ask, samples: Path) -> None:
    events = events_of(samples / H100)
    work = [each for each in events if each.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    start = min(each["ts"] for each in work)
    end = max(each["ts"] + each["dur"] for each in work)
    busy_us = sum(each["dur"] for each in work)  # one stream: none overlap
    text = ask("timeline_excerpt", trace=H100, start_us=f"{start:.3f}", end_us=f"{end:.3f}")
    match = re.search(r"busy \([\d.]+ %\) ([\d.]+), .*idle ([\d.]+)\.", text)
    assert match is not None
    assert float(match[1]) == pytest.approx(busy_us, abs=0.01)
    assert float(match[2]) == pytest.approx(end - start - busy_us, abs=0.01)
    line = next(line for line in text.split("\n") if "stream 7: busy" in line)
    assert f"{len(work)} slices" in line
    in_order = sorted(work, key=lambda each: each["ts"])
    gap = max(after["ts"] - before["ts"] - before["dur"] for before, after in pairwise(in_order))
    first = next(line for line in text.split("\n") if line.startswith("  +") and "device 0" in line)
    assert float(first.split("device 0: ")[1].split(" ")[0]) == pytest.approx(gap, abs=0.01)


def test_the_largest_slice_stands_with_its_times(ask: Ask, samples: Path) -> None:
    kernels = [each for each in events_of(samples / H100) if each.get("cat") == "kernel"]
    longest = max(kernels, key=lambda each: each["dur"])
    start = longest["ts"] - 100
    text = ask("timeline_excerpt", trace=H100, start_us=f"{start:.3f}",
               end_us=f"{start + 200:.3f}", tracks="stream")  # fmt: skip
    assert f"  +100  {longest['dur']}  {longest['dur']}  0  " in text
    assert "thread" not in text.split("tracks with slices")[1]


def test_a_step_and_the_one_of_median_length(ask: Ask, samples: Path) -> None:
    steps = {
        each["name"].removeprefix("ProfilerStep#"): each
        for each in events_of(samples / "cpu_resnet_full")
        if each.get("cat") == "user_annotation" and each["name"].startswith("ProfilerStep")
    }
    median = sorted(steps.items(), key=lambda each: each[1]["dur"])[(len(steps) - 1) // 2]
    assert f"step {median[0]}, that of median length" in ask(
        "timeline_excerpt", trace="cpu_resnet_full"
    )
    name, event = max(steps.items(), key=lambda each: int(each[0]))
    text = ask("timeline_excerpt", trace="cpu_resnet_full", step=name)
    match = re.search(r"start_us=([\d.]+) to end_us=([\d.]+)", text)
    assert match is not None
    assert float(match[2]) - float(match[1]) == pytest.approx(event["dur"], rel=0.02)
    assert "No device work in the recording" in text


def test_tracks_by_name(ask: Ask) -> None:
    text = ask("timeline_excerpt", trace=H100, tracks="frames")
    assert "python frames: busy" in text
    assert "stream 7" not in text
    with pytest.raises(LoadingError) as caught:
        ask("timeline_excerpt", trace=H100, tracks="nothing")
    assert "stream 7" in str(caught.value.problem.hint)


@pytest.mark.parametrize(
    "arguments",
    [
        {"start_us": "5", "end_us": "4"},
        {"start_us": "1", "end_us": "1"},
        {"start_us": "+9000000", "end_us": "+9000001"},
        {"start_us": "9000000", "end_us": "9000001"},
        {"start_us": "x"},
        {"step": "999"},
        {"step": "5", "start_us": "1419247332500"},
    ],
)
def test_refusals(ask: Ask, arguments: dict[str, str]) -> None:
    with pytest.raises(LoadingError):
        ask("timeline_excerpt", trace=H100, **arguments)


def test_times_since_the_start_of_the_recording_are_those_of_tables(
    ask: Ask, samples: Path
) -> None:
    events = [each for each in events_of(samples / H100) if "dur" in each and "ts" in each]
    first = min(each["ts"] for each in events)
    (gap,) = rows_of(ask("table", trace=H100, view="idle", table="gaps", sort="-duration_us",
                         filter="before!=-", columns="start_us,duration_us,after", limit=1),
                     "start_us")  # fmt: skip
    start, length = float(gap["start_us"]), float(gap["duration_us"])
    absolute = ask("timeline_excerpt", trace=H100, start_us=f"{first + start:.3f}",
                   end_us=f"{first + start + length:.3f}")  # fmt: skip
    times = {"start_us": f"{start:.3f}", "end_us": f"{start + length:.3f}"}
    assert ask("timeline_excerpt", trace=H100, **times) == absolute
    marked = {key: f"+{text}" for key, text in times.items()}
    assert ask("timeline_excerpt", trace=H100, **marked) == absolute
