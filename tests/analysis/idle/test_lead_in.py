"""The time before the first device work, where the host is ahead of the devices afterwards."""

from __future__ import annotations

from tests.detectors.scenes import context, launched, one_step
from tests.helpers.traces import Event, op, trace
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.lead_in import lead_in
from torch_tb_profiler.evidence.idle import idle_time


def program(work: float, first: str = "aten::mm") -> list[Event]:
    """Five operators of 100 µs, each launches work at its end; the queue is never empty if that
    takes longer than the host."""
    events: list[Event] = []
    begins = 95.0
    for number in range(5):
        at = 100.0 * number
        events.append(op(first if number == 0 else "aten::mm", at, 100))
        begins = max(begins, at + 95)
        events += launched("k", begins, work, number + 1, launch_at=at + 90)
        begins += work
    return events


def test_a_host_that_is_ahead_later_only_starts_earlier() -> None:
    recorded = trace(program(work=200))
    found = lead_in(recorded)
    assert (found.start_ns.tolist(), found.end_ns.tolist()) == ([0], [95_000])
    whole = context(one_step(program(work=200), length=1095))
    assert idle_time(whole, IdleCause.HOST).share_pct == 0


def test_where_devices_wait_later_too_it_counts_like_that() -> None:
    assert not len(lead_in(trace(program(work=20))).start_ns)


def test_work_of_another_kind_counts() -> None:
    """It may precede every repetition, of which the recording has one."""
    assert not len(lead_in(trace(program(work=200, first="image::decode"))).start_ns)


def test_without_device_work_there_is_none() -> None:
    assert not len(lead_in(trace([op("aten::mm", 0, 100)])).start_ns)
