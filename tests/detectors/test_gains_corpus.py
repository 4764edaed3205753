"""What findings say of real recordings: nothing that is not there, nothing twice."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest

from tests.detectors.scenes import context
from tests.simulation.machine import Span, disjoint, length
from tools.diagnoses import load_trace, recordings
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import codes_of_scope, detector, run_detectors
from torch_tb_profiler.knowledge.advice import TRACE
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.querying import query
from torch_tb_profiler.views.registry import view_named
from torch_tb_profiler.views.schema import Note, View

COMMUNICATION = re.compile(r"nccl|rccl|hccl|hcom_|all_?reduce|all_?gather|reduce_?scatter", re.I)
GRAPH_LAUNCH = re.compile(r"(cuda|hip|cu)GraphLaunch")
GRAPHS = re.compile(r"CUDA graphs|HIP graphs|reduce-overhead")
ELSEWHERE = re.compile(r"other (advice|finding)", re.I)
OF_COPIES = {"memcpy_share", "pageable_copies"}
OF_COMMUNICATION = {
    "communication_share",
    "exposed_communication",
    "waiting_ranks",
    "small_collectives",
    "buffer_broadcasts",
}
OF_KERNELS = {
    "mixed_precision",
    "tensor_core_candidates",
    "tensor_cores_unused",
    "low_occupancy",
    "low_sm_efficiency",
    "unfused_kernels",
    "eager_attention",
    "layout_transposes",
}
WITHOUT_TIME = {"data_parallel", "nccl_backend"}
OF_STEPS = {"uneven_steps", "gpu_imbalance"}


@dataclass(frozen=True)
class Truth:
    """Times per step in µs, one event after the other: the step, and what of it there is to
    gain."""

    step: float
    idle: float
    without_kernels: float
    without_computation: float
    kernels: float

    def at_most(self, code: str) -> float:
        if code in OF_KERNELS:
            return self.kernels
        if code in OF_COPIES:
            return self.without_kernels
        if code in OF_COMMUNICATION:
            return self.without_computation
        return self.step if code in OF_STEPS else self.idle


def inside(spans: list[Span], windows: list[Span]) -> float:
    """How much of some windows spans cover."""
    return sum(
        length(disjoint([(max(a, start), min(b, end)) for a, b in spans if a < end and b > start]))
        for start, end in windows
    )


def truth(of: Trace) -> Truth:
    steps = context(of).windows
    windows = list(zip(steps.start_ns.tolist(), steps.end_ns.tolist(), strict=True))
    work: dict[str, list[Span]] = {"copies": [], "computation": [], "communication": []}
    for start, dur, category, code in of.device_work.select(
        "start_ns", "dur_ns", "category", "name_code"
    ).iter_rows():
        name = of.text(code) or ""
        is_communication = COMMUNICATION.search(name) is not None
        kind = "communication" if is_communication else "computation"
        kind = kind if category == Category.KERNEL else "copies"
        work[kind].append((start, start + dur))
    whole, count = length(windows), max(len(windows), 1)
    kernels = work["computation"] + work["communication"]
    covered = [whole - inside(s, windows) for s in (kernels + work["copies"], kernels)]
    computing = inside(work["computation"], windows)
    times = whole, *covered, whole - computing, sum(end - start for start, end in kernels)
    return Truth(*(time / 1000 / count for time in times))


def too_much(of: Trace, notes: list[Note]) -> list[str]:
    """Gains beyond what there is."""
    true, problems = truth(of), []
    for note in notes:
        gain: Any = note.evidence["estimated_gain_us_per_step"]
        share: Any = note.evidence["estimated_gain_pct_of_step"]
        if gain is None:
            continue
        if not of.device_work.is_empty() and gain > true.at_most(note.code) + 1:
            problems.append(f"{note.code}: gain {gain:.0f} of {true.at_most(note.code):.0f} µs")
        if not 0 <= share <= 100 or gain > true.step + 1:
            problems.append(f"{note.code}: {share} % of a step of {true.step:.0f} µs")
    return problems


def reported_twice(of: Trace, notes: list[Note]) -> list[str]:
    """Findings that mean mostly the same time as one before them."""
    findings = [detector(code).detect(context(of)) for code in codes_of_scope(TRACE)]
    known = {finding.code: finding for finding in findings if finding is not None}
    times = {
        note.code: list(zip(time.start_ns.tolist(), time.end_ns.tolist(), strict=True))
        for note in notes
        if note.code in known and (time := known[note.code].time) is not None
    }
    codes = list(times)
    return [
        f"{later} means the time of {code}"
        for row, later in enumerate(codes)
        for code in codes[:row]
        if inside(times[code], times[later]) > 0.5 * length(disjoint(times[later]))
    ]


def false_words(of: Trace, notes: list[Note]) -> list[str]:
    """Texts that speak of what is not there, or propose what is."""
    used = of.slices.filter(pl.col("category") == Category.RUNTIME)["name_code"].unique()
    has_graphs = any(GRAPH_LAUNCH.match(of.text(code) or "") for code in used)
    problems = []
    for note in notes:
        same_time: Any = note.evidence["same_time"]
        texts = [note.text, *(other["text"] for other in same_time)]
        others = len(notes) - 1 + len(same_time)
        problems += [
            f"{note.code}: {text}" for text in texts if ELSEWHERE.search(text) and not others
        ]
        problems += [f"{note.code}: {text}" for text in texts if GRAPHS.search(text) and has_graphs]
    return problems


def dead_ends(of: Trace, notes: list[Note]) -> list[str]:
    """Sources without rows, and spots outside the trace."""
    problems, slices = [], of.slices
    end_ns = int((slices["start_ns"] + slices["dur_ns"]).to_numpy().max()) - of.meta.start_ns
    for note in notes:
        source: Any = dict(note.evidence["source"])  # type: ignore[call-overload]
        if source and not _rows(of, source):
            problems.append(f"{note.code}: no rows at {note.evidence['source']}")
        spot: Any = note.evidence["timeline"]
        if spot is None and note.code not in WITHOUT_TIME:
            problems.append(f"{note.code}: nowhere on the timeline")
        if spot is not None and not 0 <= spot["start_ns"] <= spot["end_ns"] <= end_ns:
            problems.append(f"{note.code}: {spot} of {end_ns} ns")
        if spot is not None and not (spot["slice"] is None or spot["slice"] < slices.height):
            problems.append(f"{note.code}: no slice {spot['slice']}")
    return problems


def _rows(of: Trace, source: dict[str, Any]) -> int:
    spec, table = view_named(source.pop("view")), source.pop("table")
    selection = Selection(group_by=source.pop("group_by", None))
    view: View = spec.function({"w": of} if spec.scope == "run" else of, selection)  # type: ignore[arg-type, call-arg]
    return query(view.tables[table], **source).frame.height


def says_nothing(_: Trace, notes: list[Note]) -> list[str]:
    """A first screen without a line on where time goes."""
    return [] if notes else ["nothing is said"]


CHECKS: tuple[Callable[[Trace, list[Note]], list[str]], ...] = (
    too_much,
    reported_twice,
    false_words,
    dead_ends,
    says_nothing,
)


@pytest.mark.parametrize("name", recordings())
def test_findings_are_about_what_the_recording_holds(name: str) -> None:
    of = load_trace(recordings()[name])
    notes = list(run_detectors(of, Selection()).notes)
    assert [complaint for check in CHECKS for complaint in check(of, notes)] == []
