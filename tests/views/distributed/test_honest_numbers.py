"""What collectives do not tell is null with the reason: times of ranges that only enqueue,
bandwidths within one rank, sizes nobody recorded; sends and receives are nobody's lateness."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.traces import Event, annotation, call, kernel, op, step, trace
from tests.views.run_views import FLOAT, OVERLAP, rows, view
from torch_tb_profiler.trace.model import Trace

BANDWIDTHS = (
    "algorithm_bandwidth_gb_per_s",
    "bus_bandwidth_gb_per_s",
    "transfer_bus_bandwidth_gb_per_s",
)


def described(name: str, nelems: int | None = 1000, **more: Any) -> dict[str, Any]:
    return {
        "Collective name": name,
        "dtype": "Float",
        "In msg nelems": nelems,
        "Out msg nelems": nelems,
        "Group size": 2,
        "Process Group Name": "0",
        "Process Group Ranks": "[0, 1]",
        **more,
    }


def on_device(name: str, kernels: bool = True, **meta: Any) -> Trace:
    """A step with one collective that NCCL enqueues in 2 µs and runs in 40."""
    events = [
        step(1, 0, 100),
        op("record_param_comms", 8, 6, **described(name, **meta)),
        annotation(f"nccl:{name}", 10, 2),
        call("cudaLaunchKernel", 10, 1, corr=5),
    ]
    if kernels:
        events.append(kernel("ncclDevKernel_X(x)", 30, 40, corr=5))
    return trace(events)


def test_nccl_without_kernels_has_no_time_and_no_bandwidth() -> None:
    found = view({name: on_device("allreduce", kernels=False) for name in ("a", "b")})
    assert (
        rows(found, "collectives", "total_bytes", "total_us", "transfer_us", *BANDWIDTHS)
        == [(4000, None, None, None, None, None)] * 2
    )
    assert rows(found, "overlap", *OVERLAP) == [(None,) * 4] * 4
    assert rows(found, "wait", "transfer_us", "wait_us") == [(None, None)] * 4
    assert "enqueues" in found.tables["collectives"].null_reasons["bus_bandwidth_gb_per_s"]
    assert "enqueues" in found.tables["overlap"].null_reasons["communication_us"]
    (note,) = [note for note in found.notes if note.code == "collective_untimed"]
    assert note.text.startswith("The device work of 2 of 2 calls was not recorded")
    assert note.evidence["workers"] == ["a", "b"]


def test_nccl_with_kernels_has_both() -> None:
    found = view({name: on_device("allreduce") for name in ("a", "b")})
    assert "collective_untimed" not in {note.code for note in found.notes}
    assert rows(found, "collectives", "total_us", *BANDWIDTHS) == [(40, 0.1, 0.1, 0.1)] * 2
    assert rows(found, "overlap", *OVERLAP, step="1") == [(0, 0, 40, 60)] * 2


@pytest.mark.parametrize("meta", [{"Group size": 1, "Process Group Ranks": "[0]"}, {}])
def test_within_one_rank_nothing_crosses_a_link(meta: dict[str, Any]) -> None:
    events: list[Event] = [annotation("gloo:all_reduce", 0, 10, shape=[[1000]], **FLOAT, **meta)]
    found = view({"a": trace(events, distributedInfo={"rank": 0, "world_size": 1})})
    assert rows(found, "collectives", "group_size", "total_us", *BANDWIDTHS) == [
        (1, 10, None, None, None)
    ]
    reasons = found.tables["collectives"].null_reasons
    assert all("one rank" in reasons[key] for key in BANDWIDTHS)


def test_a_barrier_takes_time_and_moves_nothing() -> None:
    found = view({worker: on_device("barrier") for worker in ("a", "b")})
    columns = ("total_us", "total_bytes", "sized_calls", *BANDWIDTHS)
    assert rows(found, "collectives", *columns) == [(40, None, 0, None, None, None)] * 2


@pytest.mark.parametrize("name", ["init", "wait"])
def test_records_of_init_and_wait_are_no_communication(name: str) -> None:
    events = [*gloo(10), op("record_param_comms", 0, 50, **described(name))]
    found = view({worker: trace(events) for worker in ("a", "b")})
    assert rows(found, "collectives", "name", "total_us") == [("gloo:all_reduce", 10)] * 2


def gloo(dur: float, name: str = "all_reduce") -> list[Event]:
    return [annotation(f"gloo:{name}", 0, dur, tid=2, shape=[[1000]], **FLOAT)]


def test_a_size_of_nothing_is_not_known_and_sums_say_of_how_many_calls() -> None:
    def worker() -> Trace:
        events: list[Event] = []
        for number, nelems in enumerate((1000, 0, 0)):
            at = 100 * number
            events += [
                op("record_param_comms", at, 6, **described("allreduce", nelems)),
                annotation("nccl:all_reduce", at + 1, 2),
                call("cudaLaunchKernel", at + 1, 1, corr=5 + number),
                kernel("ncclDevKernel_X(x)", at + 30, 40, corr=5 + number),
            ]
        return trace(events)

    found = view({"a": worker(), "b": worker()})
    assert (
        rows(
            found, "collectives", "calls", "sized_calls", "total_bytes", "mean_bytes", BANDWIDTHS[0]
        )
        == [(3, 1, 4000, 4000, 0.1)] * 2
    )


@pytest.mark.parametrize("name", ["coalesced", "send", "recv"])
def test_sends_of_no_recorded_size_have_none(name: str) -> None:
    """``batch_isend_irecv`` records 0 elements for what its calls move together."""
    events = [
        step(1, 0, 100),
        op("record_param_comms", 8, 6, **described(name, 0)),
        annotation(f"nccl:{name}", 10, 2),
        call("cudaLaunchKernel", 10, 1, corr=5),
        kernel("ncclDevKernel_SendRecv(x)", 30, 40, corr=5),
    ]
    sizes = ("total_bytes", "mean_bytes", "sized_calls")
    assert rows(view({"a": trace(events)}), "collectives", *sizes) == [(None, None, 0)]


def test_who_waits_in_a_receive_is_the_schedules() -> None:
    """A pipeline: the second stage waits in its receive for as long as the first computes."""
    first = [annotation("gloo:send 0->1", 80, 5), annotation("gloo:all_reduce", 90, 9)]
    second = [annotation("gloo:recv 1<-0", 5, 80), annotation("gloo:all_reduce", 95, 4)]
    found = view({"a": trace(first), "b": trace(second)})
    assert rows(found, "wait", "worker", "wait_us", step="0") == [("a", 5), ("b", 75)]
    assert rows(found, "stragglers", "worker", "collectives", "arrived_last", "delay_us") == [
        ("b", 1, 1, 5),
        ("a", 1, 0, 0),
    ]
    alone = view({"a": trace(first[:1]), "b": trace(second[:1])})
    assert rows(alone, "stragglers", "collectives", "delay_us") == [(0, None)] * 2
    assert "Sends and receives" in alone.tables["stragglers"].null_reasons["delay_us"]


def test_ranks_stand_in_order_of_their_numbers() -> None:
    def worker(rank: int) -> Trace:
        header = {"distributedInfo": {"rank": rank, "world_size": 11}, "host_name": f"h{rank % 2}"}
        events = [step(1, 0, 100), *gloo(10), kernel("gemm", 20, 10)]
        return trace(events, deviceProperties=[{"id": 0, "name": "X"}], **header)

    names = {2: "b_2", 10: "a_10", 0: "c_0", 1: "0_1"}
    found = view({name: worker(rank) for rank, name in names.items()})
    order = ["c_0", "0_1", "b_2", "a_10"]
    for table in ("overlap", "wait", "collectives", "devices", "stragglers"):
        workers = [worker for (worker,) in rows(found, table, "worker")]
        assert workers == order * (len(workers) // 4), table
    assert rows(found, "devices", "node", "process") == [
        ("h0", "0"),
        ("h1", "1"),
        ("h0", "2"),
        ("h0", "10"),
    ]


@pytest.mark.parametrize(
    ("worker", "header", "place"),
    [
        ("rank3_17", {"distributedInfo": {"rank": 4, "world_size": 8}}, (None, "4")),
        ("rank3_17", {"host_name": "gpu-node"}, ("gpu-node", None)),
        ("gpu-node_4711", {}, ("gpu-node", "4711")),
        ("worker0_step_12x", {}, (None, None)),
        ("rank3", {}, (None, None)),
    ],
)
def test_machine_and_process_are_what_the_header_says(
    worker: str, header: dict[str, Any], place: tuple[str | None, str | None]
) -> None:
    found = view({worker: trace([*gloo(10), kernel("gemm", 20, 10)], **header)})
    assert rows(found, "devices", "node", "process") == [place]


def test_ranks_that_share_a_file() -> None:
    """Each has a step 1 of its own, one after the other; a call is of one of them."""
    events: list[Event] = []
    for rank, pid in enumerate(("10", "20")):
        at = 200 * rank
        events += [
            step(1, at, 100, pid=pid),
            annotation("nccl:all_reduce", at + 10, 2, pid=pid),
            call("cudaLaunchKernel", at + 10, 1, corr=5 + rank, pid=pid),
            kernel("ncclDevKernel_X(x)", at + 30, 40, corr=5 + rank, device=rank),
        ]
    found = view({"w": trace(events)})
    assert rows(found, "wait", "step", "unmatched_calls") == [("all", 2), ("1", 1), ("1", 1)]
    (reason,) = {text for (text,) in rows(found, "unmatched", "reason")}
    assert "ranks that share a file are not told apart" in reason
