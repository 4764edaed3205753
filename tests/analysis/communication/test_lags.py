"""Lags between sequences of like calls: shifted, cut, with lost calls; and what has no rhythm."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.helpers.traces import annotation, trace
from torch_tb_profiler.analysis.communication.lags import matched_positions
from torch_tb_profiler.analysis.communication.matching import match

MS = 10**6


def ends(source: random.Random, count: int, jitter_ns: int) -> list[int]:
    at = 0
    moments: list[int] = []
    for _ in range(count):
        at += 5 * MS + source.randint(-jitter_ns, jitter_ns)
        moments.append(at)
    return moments


@pytest.mark.parametrize("seed", range(5))
def test_another_window_of_the_same_calls_is_recognized(seed: int) -> None:
    """The other worker begins 7 calls later, ends 3 earlier, lost two, and its clock runs 20 µs per
    second fast from an hour ahead."""
    source = random.Random(seed)
    whole = ends(source, 300, MS)
    rows = [row for row in range(7, 297) if row not in (100, 250)]
    own = [whole[row] * (1 + 2e-5) + 3600e9 + source.gauss(0, 1500) for row in rows]
    position = matched_positions(np.array(whole, np.float64), np.array(own))
    known = position >= 0
    assert known.mean() > 0.4
    assert np.array_equal(position[known], np.array(rows)[known])


def test_regular_calls_have_no_rhythm() -> None:
    whole = np.arange(0, 500 * MS, 5 * MS).astype(np.float64)
    assert (matched_positions(whole, whole[3:-2] + 77) < 0).all()
    assert (matched_positions(whole[:5], whole[:4]) < 0).all()


def test_windows_of_an_inference_without_steps_meet_by_their_rhythm() -> None:
    """Equal calls of two ranks without any number; the second was recorded 5 calls later."""
    source = random.Random(1)
    whole = [end // 1000 for end in ends(source, 60, MS)]
    meta = {"Process Group Name": "tp", "In msg nelems": 8, "dtype": "Float"}
    calls = [annotation("gloo:all_reduce", end - 50, 50, **meta) for end in whole]
    late = [{**call, "ts": call["ts"] + 12345} for call in calls[5:]]
    matching = match({"a": trace(calls), "b": trace(late)})
    met = matching.calls.drop_nulls("match").group_by("match").len()
    assert met["len"].to_list() == [2] * 55
    first = matching.calls.filter(worker=0)
    assert first["match"].is_null().to_list() == [True] * 5 + [False] * 55
