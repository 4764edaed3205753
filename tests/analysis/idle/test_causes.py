"""The causes of one GPU sum every cause once, and every cause has a title."""

from __future__ import annotations

from itertools import chain

from torch_tb_profiler.analysis.idle.causes import CAUSE_TITLES, GPU_CAUSES, IdleCause


def test_every_cause_has_a_title() -> None:
    assert list(CAUSE_TITLES) == list(IdleCause)


def test_every_cause_is_reported_of_a_gpu_once() -> None:
    assert sorted(chain.from_iterable(GPU_CAUSES.values())) == list(IdleCause)
