"""Collectives that wait for other ranks, told from one recording."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.scenes import context, finding, notes_of, one_step
from tests.helpers.traces import Event, annotation, call, kernel, op
from torch_tb_profiler.detectors import communication_share
from torch_tb_profiler.detectors.waiting_ranks import detect
from torch_tb_profiler.evidence.context import Context

SIZED: dict[str, Any] = {"Input type": ["float"]}


def scene(*calls: tuple[int, int | None], name: str = "gloo:all_reduce", **header: Any) -> Context:
    """Calls of (µs, elements) one after the other, in a step of 1000 µs."""
    events: list[Event] = [op("aten::mm", 990, 5)]
    at = 0
    for dur, elements in calls:
        args = {} if elements is None else {"Input Dims": [[elements]], **SIZED}
        events.append(annotation(name, at, dur, tid=2, **args))
        at += dur + 5
    return context(one_step(events, **header))


def test_calls_that_take_longer_than_larger_ones_waited() -> None:
    of = scene((200, 100), (20, 1000), (100, 1000), (30, 2000))
    advice = finding(detect(of))
    # 100 elements: 200 against 20; 1000: 100 against 20; those of 20 and 30 are the shortest.
    assert advice.measured == pytest.approx((180 + 80) / 1000 * 100)
    assert advice.gain_us == pytest.approx(260)
    assert advice.values["wait_share"] == pytest.approx(260 / 350 * 100)
    assert advice.text.startswith("This rank waits for later ones during 26.0 % of the step")
    assert [(row["size_bytes"], row["wait_us"], row["least_us"]) for row in advice.rows] == [
        (400, 180, 20),
        (4000, 80, 20),
        (8000, 0, 30),
    ]
    assert advice.time is not None
    assert list(zip(advice.time.start_ns, advice.time.end_ns, strict=True)) == [
        (20_000, 200_000),
        (250_000, 330_000),
    ]


def test_it_supersedes_the_findings_about_the_amount_of_data() -> None:
    of = scene((200, 100), (20, 1000), (100, 1000), (30, 2000))
    notes = notes_of(of.trace)
    assert next(iter(notes)) == "waiting_ranks"
    assert not {"communication_share", "exposed_communication"} & notes.keys()


def test_calls_that_last_as_long_as_their_size_wants_do_not_wait() -> None:
    of = scene((50, 100), (100, 1000), (150, 2000), (150, 2000))
    assert detect(of) is None
    assert communication_share.detect(of) is not None


@pytest.mark.parametrize(
    "of",
    [
        scene((200, None), (20, None), (100, None)),  # no sizes
        scene((200, 100), (20, 100)),  # too few to tell
        scene((200, 100), (20, 100), (100, 100), name="gloo:recv"),  # the schedule's
        scene((200, 100), (20, 100), (100, 100), distributedInfo={"rank": 0, "pg_count": 2}),
        scene((200, 100), (20, 100), (100, 100), name="nccl:all_reduce"),  # only enqueued
    ],
)
def test_without_enough_data_there_is_no_finding(of: Context) -> None:
    assert detect(of) is None


def test_kernels_that_others_slow_down_do_not_wait() -> None:
    """The long ones run beside computation."""
    events: list[Event] = []
    for number, (at, dur) in enumerate(((0, 300), (400, 20), (500, 300))):
        events += [
            annotation("nccl:all_reduce", 10 * number, 5, shape=[[1000]], **SIZED),
            call("cudaLaunchKernel", 10 * number + 1, 1, corr=number + 1),
            kernel("ncclDevKernel_AllReduce(x)", at, dur, corr=number + 1, stream=9),
        ]
    alone = finding(detect(context(one_step(events))))
    assert alone.measured == pytest.approx(56.0)
    computing = [kernel("gemm", 0, 300), kernel("gemm", 500, 300)]
    assert detect(context(one_step([*events, *computing]))) is None


@pytest.mark.parametrize(("groups", "speaks"), [(("0", "1"), False), (("0", "0"), True)])
def test_groups_are_compared_within_themselves(groups: tuple[str, str], speaks: bool) -> None:
    events = [
        annotation(
            "gloo:all_reduce",
            100 * at,
            dur,
            tid=2,
            **{"Collective name": "allreduce", "Process Group Name": groups[at % 2]},
            **{"dtype": "Float", "In msg nelems": 1000},
        )
        for at, dur in enumerate([90, 10] * 3)
    ]
    assert (detect(context(one_step(events))) is not None) is speaks
