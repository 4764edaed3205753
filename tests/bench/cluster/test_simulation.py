"""The simulation against what can be computed by hand, and its laws."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from bench.cluster.faults import nothing
from bench.cluster.hardware import DEVICES
from bench.cluster.model import Job
from bench.cluster.network import parts
from bench.cluster.program import program, schedule
from bench.cluster.shape import draw
from bench.cluster.simulation import simulate
from bench.cluster.topology import DATA, Topology
from tests.bench.cluster.ideal import ideal

FREE = replace(DEVICES[1], link=1e12, nic=1e12)
"""Links that take no time."""


def _job(topology: Topology, seed: int = 1) -> Job:
    return simulate(topology, nothing(topology), seed)


@pytest.mark.parametrize(("stages", "microbatches"), [(1, 1), (2, 4), (4, 4), (4, 8)])
def test_a_pipeline_takes_its_microbatches_and_its_bubble(stages: int, microbatches: int) -> None:
    shape = ideal(
        data=1, pipeline=stages, layers=(2,) * stages, microbatches=microbatches, device=FREE,
        tokens=32768, steps=2,
    )  # fmt: skip
    topology = Topology(shape)
    once = [op for op in program(topology, stages // 2, 2) if op.kind == "kernel"]
    optimizer = sum(op.ns for op in once if "adam" in op.name)
    both = (sum(op.ns for op in once) - optimizer) / microbatches
    expected = (microbatches + stages - 1) * both + optimizer
    assert _job(topology).length_ns / 2 == pytest.approx(expected, rel=0.02)


def test_each_microbatch_goes_forward_before_it_goes_backward() -> None:
    for stages in (1, 2, 4, 8):
        for stage in range(stages):
            order = list(schedule(stage, stages, 8))
            assert sorted(order) == [(way, number) for way in (False, True) for number in range(8)]
            for number in range(8):
                assert order.index((True, number)) < order.index((False, number))


def test_an_exposed_all_reduce_takes_its_ring() -> None:
    topology = Topology(ideal(layers=(1,)))
    record = next(
        record for record in _job(topology).stages[0].records
        if record.op.group == DATA and record.op.name == "all_reduce"
    )  # fmt: skip
    assert record.begin is not None
    assert record.finish is not None
    lasts = parts("all_reduce", 8) * record.op.size / topology.shape.device.link
    assert record.finish - record.begin.max() == pytest.approx([lasts] * 8)


@pytest.mark.parametrize("seed", range(6))
def test_laws_of_any_job(seed: int) -> None:
    topology = Topology(draw(np.random.default_rng(seed), 64))
    job = _job(topology, seed)
    for stage in job.stages:
        streams: dict[str, np.ndarray] = defaultdict(partial(np.zeros, len(stage.ranks)))
        for record in stage.records:
            if record.begin is None:
                continue
            assert record.finish is not None
            assert record.launched is not None
            name = (
                record.op.kind + record.op.group + record.op.name * (record.op.group == "pipeline")
            )
            assert (record.begin >= streams[name]).all()  # in order, one at a time
            assert (record.begin >= record.launched).all()
            assert (record.finish >= record.begin).all()
            streams[name] = record.finish
            if record.op.group in topology.members and record.op.kind == "collective":
                _ends_together(topology, record.op.group, stage.ranks, record.finish)
    assert all(len(stage.steps) == topology.shape.steps for stage in job.stages)


def _ends_together(topology: Topology, group: str, ranks: np.ndarray, finish: np.ndarray) -> None:
    ends = dict(zip(ranks.tolist(), finish.tolist(), strict=True))
    for members in topology.members[group].tolist():
        assert len({ends[rank] for rank in members if rank in ends}) <= 1


def test_only_what_is_wrong_differs() -> None:
    topology = Topology(draw(np.random.default_rng(3), 64))
    healthy, slow = nothing(topology), nothing(topology)
    slow.device[:, 5] = 1.3
    first, second = simulate(topology, healthy, 3), simulate(topology, slow, 3)
    assert first.length_ns == _job(topology, 3).length_ns
    for one, other in zip(first.stages[0].records, second.stages[0].records, strict=True):
        if one.op.kind == "kernel":
            assert one.begin is not None
            assert other.begin is not None
            longer = (other.finish - other.begin) / (one.finish - one.begin)  # type: ignore[operator]
            expected = np.where(one.op.kind and healthy.device[0] != slow.device[0], 1.3, 1.0)
            assert longer == pytest.approx(expected[: len(longer)])
