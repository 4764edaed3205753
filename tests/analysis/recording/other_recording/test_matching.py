"""Kernels of two recordings of one run, of another run, and of programs that repeat themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from torch_tb_profiler.analysis.recording.other_recording.kernels import Kernels
from torch_tb_profiler.analysis.recording.other_recording.matching import (
    KernelMatch,
    MatchFailure,
    match_kernels,
)
from torch_tb_profiler.trace.columns import Int64


class _Program(NamedTuple):
    """What every run of it does: the usual duration of each kernel, and their order in a step."""

    usual_ns: Int64
    order: Int64
    steps: int
    variation: float
    gap_ns: int


class _Clock(NamedTuple):
    offset_ns: int = 0
    drift_ppm: float = 0.0
    noise_ns: float = 0.0


def _program(rng: np.random.Generator, **changes: float) -> _Program:
    usual = rng.integers(3_000, 400_000, 9)
    order = np.tile(rng.integers(0, 9, 12), int(changes.get("layers", 8)))
    return _Program(
        usual,
        order,
        int(changes.get("steps", 12)),
        changes.get("variation", 0.02),
        int(changes.get("gap_ns", 3000)),
    )


def _run(rng: np.random.Generator, program: _Program) -> Kernels:
    codes = np.tile(program.order, program.steps)
    usual = program.usual_ns[codes]
    dur = (usual * (1 + rng.normal(0, program.variation, len(codes)))).astype(np.int64)
    gaps = rng.exponential(program.gap_ns, len(codes)).astype(np.int64)
    gaps[:: len(program.order)] += rng.integers(1_000_000, 3_000_000, program.steps)
    names = np.array([f"void layer_{code}<float>(int)" for code in codes], np.object_)
    return Kernels(names, np.cumsum(dur + gaps) - dur, dur)


def _seen(
    rng: np.random.Generator, run: Kernels, clock: _Clock, chosen: Int64 | None = None
) -> Kernels:
    """A run as a profiler with this clock records it, of the ``chosen`` kernels."""
    start = run.start_ns * (1 + clock.drift_ppm * 1e-6) + clock.offset_ns
    start = start + rng.normal(0, clock.noise_ns, len(start))
    dur = run.dur_ns + rng.integers(-30, 31, len(start))
    rows = np.arange(len(start)) if chosen is None else chosen
    return Kernels(run.names[rows], np.sort(start.astype(np.int64)[rows]), dur[rows])


@pytest.mark.parametrize("seed", range(6))
def test_kernels_of_one_run_meet_whatever_the_clocks_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = _program(
        rng,
        layers=int(rng.integers(2, 30)),
        steps=int(rng.integers(2, 20)),
        gap_ns=int(rng.choice([300, 3000, 30_000])),
        variation=float(rng.choice([0.002, 0.02, 0.05])),
    )
    run = _run(rng, program)
    count = len(run.names)
    clock = _Clock(int(rng.integers(-(10**15), 10**15)), float(rng.choice([0, 150])), 400)
    of_first = np.flatnonzero(rng.random(count) < 0.97)
    of_second = np.flatnonzero(rng.random(count) < 0.97)
    of_second = of_second[of_second > int(rng.choice([0, count // 3]))]
    match = match_kernels(_seen(rng, run, _Clock(), of_first), _seen(rng, run, clock, of_second))
    assert isinstance(match, KernelMatch)
    is_right = of_first[match.first] == of_second[match.second]
    assert is_right.mean() > 0.99
    assert is_right.sum() > 0.97 * len(np.intersect1d(of_first, of_second))
    seconds = _seen(rng, run, clock).start_ns
    apart = np.abs(match.line(seconds) - run.start_ns)
    assert np.median(apart) < 1500  # of clocks with an error of 400 ns
    assert match.residual_ns < 1500


@pytest.mark.parametrize("seed", range(6))
def test_another_run_of_the_program_is_not_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = _program(
        rng,
        layers=int(rng.integers(1, 30)),
        steps=int(rng.integers(2, 20)),
        variation=float(rng.choice([0.002, 0.02])),
    )
    first, second = (_run(rng, program) for _ in range(2))
    match = match_kernels(_seen(rng, first, _Clock()), _seen(rng, second, _Clock(10**12)))
    assert isinstance(match, MatchFailure)
    assert match.reason == "not_one_run"
    assert "another run" in match.text


def test_a_part_of_exactly_equal_steps_fits_anywhere() -> None:
    names = np.array([f"k{number % 5}" for number in range(100)], np.object_)
    start = np.arange(100, dtype=np.int64) * 50_000
    dur = np.full(100, 20_000, np.int64)
    whole = Kernels(names, start, dur)
    match = match_kernels(whole, Kernels(names[:50], start[:50], dur[:50]))
    assert isinstance(match, MatchFailure)
    assert match.reason == "ambiguous"
    same = match_kernels(whole, Kernels(names, start + 7, dur))
    assert isinstance(same, KernelMatch)
    assert same.line.offset_ns == -7


def test_names_are_compared_mangled_or_not_and_without_parameters() -> None:
    rng = np.random.default_rng(3)
    run = _run(rng, _program(rng))
    mangled = {
        name: f"_Z{len(bare)}{bare}IfEvi.kd"
        for name in set(run.names.tolist())
        for bare in [name.split("<")[0].removeprefix("void ")]
    }
    for names in (mangled, {name: name[5:].split("<")[0] for name in mangled}):
        other = Kernels(
            np.array([names[name] for name in run.names], np.object_), run.start_ns, run.dur_ns
        )
        match = match_kernels(run, other)
        assert isinstance(match, KernelMatch)
        assert len(match.first) == len(run.names)
        assert match.residual_ns == 0


def test_few_kernels_and_other_kernels_are_no_evidence() -> None:
    rng = np.random.default_rng(4)
    run = _run(rng, _program(rng))
    few = Kernels(run.names[:7], run.start_ns[:7], run.dur_ns[:7])
    reasons = []
    for other in (few, Kernels("other_" + run.names, run.start_ns, run.dur_ns)):
        match = match_kernels(run, other)
        assert isinstance(match, MatchFailure)
        reasons.append(match.reason)
    assert reasons == ["few_kernels", "no_common_names"]
