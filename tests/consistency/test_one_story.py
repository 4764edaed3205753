"""Idle time is told as one story: each moment belongs to at most one finding, and no finding calls
idle what another says may be busy."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given

from tests.consistency.recordings import FILES, opened
from tests.detectors.scenes import context
from tests.helpers.examples import examples
from tests.helpers.traces import trace as built
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.algebra.intervals import intersect, total
from torch_tb_profiler.analysis.idle.gaps import all_idle
from torch_tb_profiler.detectors import codes_of_scope, detector
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import perhaps_busy
from torch_tb_profiler.evidence.needs import unmet_need
from torch_tb_profiler.knowledge.advice import TRACE, entry

OF_ALL_CAUSES = {"low_gpu_utilization"}
"""It names the causes of all idle time, and is listed with the finding on the largest."""


def idle_findings(of: Context) -> list[Finding]:
    """The findings about time in which no device works."""
    if of.step_ns <= 0 or of.trace.device_work.is_empty():
        return []
    found = [
        detector(code).detect(of)
        for code in codes_of_scope(TRACE)
        if unmet_need(of, entry(code).needs) is None
    ]
    idle = all_idle(of.trace)
    return [
        each
        for each in found
        if each is not None
        and each.time is not None
        and total(each.time)
        and total(intersect(each.time, idle)) == total(each.time)
    ]


def told_twice(of: Context) -> list[str]:
    findings = [each for each in idle_findings(of) if each.code not in OF_ALL_CAUSES]
    return [
        f"{one.code} and {other.code} share {shared_ns} ns"
        for one, other in combinations(findings, 2)
        if one.time is not None
        and other.time is not None
        and (shared_ns := total(intersect(one.time, other.time)))
    ]


def contradictions(of: Context) -> list[str]:
    doubtful = perhaps_busy(of)
    return [
        f"{each.code} calls idle what may be busy"
        for each in idle_findings(of)
        if each.time is not None
        and " idle" in each.text
        and "not idle" not in each.text
        and "count this time as idle" not in each.text
        and 2 * total(intersect(each.time, doubtful)) > total(each.time)
    ]


@pytest.mark.parametrize("name", FILES)
def test_of_recordings(name: str) -> None:
    of = context(opened(name))
    assert told_twice(of) + contradictions(of) == []


@examples(60)
@given(recordings())
def test_of_random_recordings(recording: Recording) -> None:
    of = context(built(recording.events))
    assert told_twice(of) + contradictions(of) == []
