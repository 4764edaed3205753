"""Why each GPU stands idle, against the definitions read out moment by moment.

``docs/views-idle.md#causes``; times of the random traces are whole µs, so a µs is a moment.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.consistency.recordings import FILES, opened
from tests.helpers.examples import examples
from tests.helpers.traces import (
    Event,
    annotation,
    call,
    frame,
    kernel,
    op,
    slice_event,
    step,
    trace,
)
from torch_tb_profiler.analysis.algebra.intervals import total, total_within, union
from torch_tb_profiler.analysis.idle.attribution import GpuIdle, gpu_idle, idle_causes
from torch_tb_profiler.analysis.idle.causes import GPU_CAUSES, IdleCause
from torch_tb_profiler.trace.model import Trace

END_US = 1500
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
Span = tuple[int, int]


def spans(idle: GpuIdle) -> dict[str, list[tuple[float, float]]]:
    """The causes that hold at some time, in µs."""
    return {
        cause: [(a / 1000, b / 1000) for a, b in zip(*map(list, intervals), strict=True)]
        for cause, intervals in idle.causes.items()
        if len(intervals.start_ns)
    }


def of_gpu(events: list[Event], gpu: int = 0) -> dict[str, list[tuple[float, float]]]:
    return spans(gpu_idle(trace(events))[gpu])


def launched(corr: int, at: int, start: int, dur: int, **where: object) -> list[Event]:
    """A kernel with its launch, which takes 10 µs."""
    return [
        call("cudaLaunchKernel", at, 10, corr=corr),
        kernel("k", start, dur, corr=corr, **where),  # type: ignore[arg-type]
    ]


def test_the_host_is_late_until_its_call_returns() -> None:
    events = [op("aten::mm", 0, 100), *launched(1, 80, 95, 100), *launched(2, 100, 200, 10)]
    assert of_gpu(events) == {"launch_bound": [(0, 90)], "kernel_to_kernel": [(90, 95), (195, 200)]}


def test_nothing_follows_the_last_work() -> None:
    events = [step(1, 0, 500), op("aten::mm", 0, 500), *launched(1, 0, 10, 90)]
    assert of_gpu(events) == {"launch_bound": [(0, 10)], "nothing_launched": [(100, 500)]}


def test_a_gpu_whose_work_has_no_length_is_idle_all_the_time() -> None:
    """Damaged files tell kernels of negative length, which count as none."""
    events = [op("aten::mm", 0, 100), *launched(1, 20, 50, 0)]
    idle = gpu_idle(trace(events))[0]
    assert total(union(*map(np.concatenate, zip(*idle.causes.values(), strict=True)))) == 100_000


def test_garbage_collection_is_separate_from_the_host() -> None:
    collection = slice_event("gc", "Python GC", 20, 30, pid="1000", tid=1)
    events = [op("aten::mm", 0, 100), collection, *launched(1, 90, 100, 50)]
    assert of_gpu(events) == {
        "launch_bound": [(0, 20), (50, 100)],
        "garbage_collection": [(20, 50)],
    }


def test_kernels_of_one_graph_wait_for_the_device_alone() -> None:
    events = [
        call("cudaGraphLaunch", 0, 300, corr=1),
        kernel("a", 50, 100, corr=1),
        kernel("b", 180, 100, corr=1),
    ]
    causes = of_gpu(events)
    assert causes["kernel_to_kernel"] == [(150, 180)]
    assert causes["launch_bound"] == [(0, 50)]


def test_a_wait_for_another_gpu_that_communicates() -> None:
    nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
    events = [
        *launched(1, 0, 10, 90),
        call("cudaLaunchKernel", 10, 10, corr=2),
        kernel(nccl, 20, 400, corr=2, device=1),
        call("cudaDeviceSynchronize", 30, 400),
        *launched(3, 440, 460, 40),
    ]
    causes = of_gpu(events)
    assert causes["communication_of_others"] == [(100, 420)]
    # The host comes back at 430; it had been kept for far longer than it needs to launch again and
    # the launch to arrive.
    assert causes["synchronization"] == [(420, 460)]


def test_work_behind_an_event_that_does_not_start() -> None:
    nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
    events = [
        *launched(1, 0, 10, 90),
        call("cudaStreamWaitEvent", 30, 5),
        call("cudaLaunchKernel", 40, 10, corr=2),
        kernel(nccl, 300, 50, corr=2, stream=20),
        *launched(3, 60, 400, 40),
    ]
    causes = of_gpu(events)
    assert causes["communication_of_others"] == [(100, 300)]
    assert causes["kernel_to_kernel"] == [(350, 400)]


def test_a_collective_of_the_host() -> None:
    events = [
        *launched(1, 0, 10, 90),
        annotation("gloo:all_reduce", 60, 300, tid=2),
        call("cudaStreamSynchronize", 50, 330),
        *launched(3, 390, 410, 40),
    ]
    assert of_gpu(events)["communication_of_others"] == [(100, 360)]


def test_a_call_of_mpi_on_the_thread_that_launches() -> None:
    events = [
        *launched(1, 0, 10, 90),
        op("MPI_Init", 100, 50),
        op("MPI_Recv", 150, 200),
        *launched(3, 390, 410, 40),
    ]
    assert of_gpu(events)["communication_of_others"] == [(150, 350)]
    assert (100, 150) in of_gpu(events)["launch_bound"]


def test_a_server_that_waits_for_a_request() -> None:
    events = [
        *launched(1, 0, 10, 90),
        frame("server.py(3): serve", 100, 6000, python_id=1),
        frame("<built-in method poll of select.epoll object at 0x7f>", 200, 3800, python_id=2),
        *launched(3, 6050, 6070, 40),
    ]
    assert of_gpu(events) == {
        "launch_bound": [(0, 10), (6050, 6060)],
        "python": [(100, 200), (4000, 6050)],
        "nothing_launched": [(200, 4000)],
        "kernel_to_kernel": [(6060, 6070)],
    }


def test_processes_of_other_gpus_explain_nothing() -> None:
    events = [
        *launched(1, 0, 10, 90),
        *launched(2, 3000, 3010, 90),
        op("aten::mm", 0, 3000, pid="2000"),
        call("cudaLaunchKernel", 5, 10, corr=9, pid="2000"),
        kernel("k", 20, 90, corr=9, device=1),
    ]
    assert of_gpu(events)["nothing_launched"] == [(100, 3000)]
    assert of_gpu(events, 1)["nothing_launched"] == [(110, 3100)]


# Random traces: every moment once, and as the definitions say.


@st.composite
def scenes(draw: st.DrawFn) -> tuple[list[Event], dict[int, list[tuple[int, int, int]]]]:
    """One thread that works, and per GPU its work as (start, end, return of its launch)."""
    events: list[Event] = [step(1, 0, END_US)]
    at, number = 0, 0
    work: dict[int, list[tuple[int, int, int]]] = {0: [], 1: []}
    free = {0: 0, 1: 0}
    for _ in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(("launch", "launch", "wait", "load", "op", "gc", "frame", "")))
        length = draw(st.integers(1, 90))
        if kind == "launch":
            number += 1
            gpu = draw(st.integers(0, 1))
            begun = max(free[gpu], at + draw(st.integers(0, 120)))
            ended = begun + draw(st.integers(1, 150))
            free[gpu] = ended
            events.append(call("cudaLaunchKernel", at, length, corr=number))
            events.append(kernel("k", begun, ended - begun, corr=number, device=gpu))
            work[gpu].append((begun, ended, at + length))
        elif kind == "wait":
            events.append(call("cudaDeviceSynchronize", at, length))
        elif kind == "load":
            events.append(op(LOADER, at, length))
        elif kind == "op":
            events.append(op("aten::add", at, length))
        elif kind == "gc":
            events.append(slice_event("gc", "Python GC", at, length, pid="1000", tid=1))
        elif kind == "frame":
            events.append(frame("f.py(1): f", at, length, python_id=at))
        at += length
    return events, {gpu: parts for gpu, parts in work.items() if parts}


@examples(25)
@given(scenes())
def test_every_moment_has_one_cause(
    scene: tuple[list[Event], dict[int, list[tuple[int, int, int]]]],
) -> None:
    events, work = scene
    recording = trace(events)
    idle = gpu_idle(recording)
    assert set(idle) == set(work)
    for gpu, parts in work.items():
        busy = np.zeros(END_US, np.bool_)
        for begun, ended, _ in parts:
            busy[begun:ended] = True
        causes = np.full(END_US, "", dtype="U32")
        for cause, intervals in idle[gpu].causes.items():
            for start, end in zip(*(edges.tolist() for edges in intervals), strict=True):
                assert start % 1000 == end % 1000 == 0
                assert (causes[start // 1000 : end // 1000] == "").all()
                causes[start // 1000 : end // 1000] = cause
        assert ((causes != "") == ~busy).all()
        late = _late(parts)
        is_device = np.isin(causes, ("kernel_to_kernel", "waiting_work", "communication_of_others"))
        assert (is_device == (~busy & ~late)).all()
        assert not (causes == "communication_of_others").any()  # nothing communicates
        assert not (causes[parts[-1][0] :] == "launch_bound").any()  # nothing follows
        collecting = causes == "garbage_collection"
        assert (collecting == (_collecting(events) & late & ~busy)).all()


def _late(parts: list[tuple[int, int, int]]) -> np.ndarray:
    """Whether the host had not launched the next work of a GPU at each moment."""
    late, since = np.ones(END_US, np.bool_), 0
    for begun, _, returned in parts:
        late[since:begun] = np.arange(since, begun) < returned
        since = begun
    return late


def _collecting(events: list[Event]) -> np.ndarray:
    collecting = np.zeros(END_US, np.bool_)
    for event in events:
        if event["name"] == "Python GC":
            collecting[event["ts"] : event["ts"] + event["dur"]] = True
    return collecting


# One GPU: both scopes agree.


def agree(recording: Trace) -> None:
    """One GPU: its causes are those of the device set, summed as :data:`GPU_CAUSES` says."""
    (gpu,) = gpu_idle(recording).values()
    of_set = dict(zip(IdleCause, map(total, idle_causes(recording).intervals), strict=True))
    length = {cause: total(intervals) for cause, intervals in gpu.causes.items()}
    assert sum(length.values()) == sum(of_set.values())
    launched = ("kernel_to_kernel", "waiting_work", "communication_of_others")
    on_device = of_set[IdleCause.KERNEL_TO_KERNEL] + of_set[IdleCause.WAITING_WORK]
    if not length["garbage_collection"] and sum(length[cause] for cause in launched) == on_device:
        expected = {
            cause: sum(of_set[part] for part in parts) for cause, parts in GPU_CAUSES.items()
        }
        for cause in ("profiler", "synchronization", "data_loading"):
            assert length[cause] == expected[cause], cause
        host = ("launch_bound", "python", "nothing_launched")
        assert sum(length[cause] for cause in host) == sum(expected[cause] for cause in host)


@examples(25)
@given(scenes())
def test_one_gpu_agrees_with_the_idle_time_of_all_devices(
    scene: tuple[list[Event], dict[int, list[tuple[int, int, int]]]],
) -> None:
    events, work = scene
    if 0 in work:
        agree(trace([e for e in events if e.get("args", {}).get("device") != 1]))


def test_recordings_of_one_gpu_agree() -> None:
    names = [name for name in FILES if "small" in name or "triton" in name]
    for name in names:
        agree(opened(name))


def test_idle_and_busy_time_are_all_of_it() -> None:
    for name in (name for name in FILES if "small" in name or "worker3" in name):
        recording = opened(name)
        if recording.device_work.is_empty():
            continue
        window = np.array([recording.meta.start_ns]), np.array([recording.meta.end_ns])
        work = recording.device_work
        for gpu, idle in gpu_idle(recording).items():
            own = work.filter(device=gpu)
            start = own["start_ns"].to_numpy()
            busy = int(total_within(union(start, start + own["dur_ns"].to_numpy()), *window)[0])
            assert sum(map(total, idle.causes.values())) + busy == int(window[1][0] - window[0][0])
