"""The simulated machine against times worked out by hand, in µs."""

from __future__ import annotations

import pytest

from tests.helpers.traces import Event
from tests.simulation.machine import Run, run
from tests.simulation.program import (
    COMMUNICATION,
    COMPUTE,
    Collective,
    Copy,
    Graph,
    Launch,
    Loading,
    OnThread,
    StreamWait,
    Synchronize,
    Work,
    item,
    operator,
    rewritten,
    steps,
)
from tests.simulation.removals import REMOVALS

LONG = Launch("gemm", 100.0, call_us=4.0)


def spans(of: Run, name: str) -> list[tuple[float, float]]:
    events = [event for event in of.events if name in event["name"]]
    return [(event["ts"], event["ts"] + event["dur"]) for event in events]


def test_a_kernel_starts_when_its_launch_has_arrived_and_its_stream_is_free() -> None:
    of = run((LONG, LONG))
    assert spans(of, "cudaLaunchKernel") == [(0, 4), (4, 8)]
    assert spans(of, "gemm") == [(6, 106), (106, 206)]
    assert (of.length_us, of.idle_us) == (206, 6)


def test_streams_overlap_unless_one_waits() -> None:
    side = Launch("side", 50.0, call_us=4.0, stream=9)
    assert spans(run((LONG, side)), "side") == [(10, 60)]
    assert spans(run((LONG, StreamWait(9, COMPUTE), side)), "side") == [(106, 156)]


def test_synchronization_returns_after_the_work() -> None:
    of = run((LONG, Synchronize(call_us=4.0), LONG))
    assert spans(of, "cudaDeviceSynchronize") == [(4, 110)]
    assert spans(of, "gemm") == [(6, 106), (116, 216)]
    other_stream = run((LONG, Synchronize(9, call_us=4.0)))
    assert spans(other_stream, "cudaDeviceSynchronize") == [(4, 8)]


def test_item_waits_for_what_was_launched_before() -> None:
    of = run((LONG, item()))
    assert spans(of, "Memcpy DtoH") == [(106, 107.5)]
    assert spans(of, "cudaStreamSynchronize")[0][1] == 111.5


@pytest.mark.parametrize(
    ("waits", "call", "copy"), [(True, (4, 126), (106, 126)), (False, (4, 15), (106, 126))]
)
def test_a_copy_blocks_the_host_or_not(
    waits: bool, call: tuple[float, float], copy: tuple[float, float]
) -> None:
    of = run((LONG, Copy("HtoD", 20.0, waits, staging_us=5.0, call_us=6.0)))
    assert spans(of, "cudaMemcpyAsync") == [call]
    assert spans(of, "Memcpy HtoD (Pageable -> Device)") == [copy]


def test_a_graph_replays_its_kernels_and_may_be_recorded_in_part() -> None:
    of = run((Graph((("a", 3.0), ("b", 4.0)), call_us=10.0, recorded=1),))
    assert [event["name"] for event in of.events] == ["cudaGraphLaunch", "a"]
    assert spans(of, "a")[1] == (12, 15)
    assert of.length_us == 19


def test_a_launch_waits_for_room_in_the_queue() -> None:
    of = run((LONG, LONG, LONG), queue=2)
    assert spans(of, "cudaLaunchKernel")[2] == (8, 110)


def test_a_collective_waits_for_its_peers() -> None:
    of = run((Collective(30.0, peers_late_us=20.0), StreamWait(COMPUTE, COMMUNICATION), LONG))
    assert spans(of, "nccl") == [(8, 58)]
    assert spans(of, "gemm") == [(58, 158)]
    assert of.computing == [(58, 158)]


def test_ranges_lie_around_their_body_on_the_thread_that_runs_it() -> None:
    inside = OnThread(2, (operator("aten::mm", LONG, us=1.0),))
    of = run(steps(2, Loading(5.0), inside, Work(3.0)))
    assert spans(of, "ProfilerStep") == [(0, 14), (14, 28)]
    where = {event["name"]: event["tid"] for event in of.events}
    assert (where["aten::mm"], where["ProfilerStep#0"]) == (2, 1)


def test_a_program_can_be_rewritten_from_inside_out() -> None:
    program = steps(1, Loading(5.0), operator("aten::mm", Loading(7.0), us=1.0))
    (removal,) = REMOVALS["dataloader_bound"]
    without = removal(program)
    assert (run(program).length_us, run(without).length_us) == (14, 2)
    assert rewritten(program, lambda one: (one,)) == program


def test_the_same_program_gives_the_same_events() -> None:
    program = steps(2, LONG, item())
    first: list[Event] = run(program).events
    assert first == run(program).events
