"""Recordings that no profiler writes and that a file may hold all the same: one shape per function.

Each takes how many of its kind there are, and a choice; what it makes are the events of a Kineto
file. ``bench/degenerate.py`` measures large ones, ``tests/hostile/test_degenerate.py`` asks
everything of small ones and of mixes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

Event = dict[str, Any]
Shape = Callable[[int, Random], Iterator[Event]]

HEADER = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "A100", "totalGlobalMem": 4e10}],
}
RANKS = {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2}}

ODD_NAMES = (
    "", " ", "\t\n ", "\0", "a\0b", "\ud800", "\udfff\ud800", "\u202e", "=1+1", "|`<b>", "#", ":",
    "ProfilerStep#", "ProfilerStep#x", "ProfilerStep#-1", "ProfilerStep#1.5", "nccl:", "aten::",
    "nn.Module: ", "Optimizer.step#", "enumerate(DataLoader)#", "autograd::engine::", "a" * 5000,
)  # fmt: skip
ODD_NUMBERS: tuple[Any, ...] = (
    0, -1, -5, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, -(2**63), 10**30, 1e300, -1e300, 0.0005,
    float("nan"), float("inf"), "7", "NaN", "", None, True, [], {},
)  # fmt: skip
EDGE_US = 2**63 / 1000
"""Where nanoseconds leave 64 bits, in µs."""


def _slice(cat: str, name: str, ts: Any, dur: Any, /, *place: Any, **args: Any) -> Event:
    """``place`` is the process and the thread, 1 and 1 if it is not said."""
    pid, tid = place or (args.pop("pid", 1), args.pop("tid", 1))
    event = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return event | {"args": args} if args else event


def _op(name: str, ts: Any, dur: Any, **more: Any) -> Event:
    return _slice("cpu_op", name, ts, dur, **more)


def _range(name: str, ts: Any, dur: Any, **more: Any) -> Event:
    return _slice("user_annotation", name, ts, dur, **more)


def _call(ts: Any, dur: Any, corr: Any, **more: Any) -> Event:
    return _slice("cuda_runtime", "cudaLaunchKernel", ts, dur, **more, correlation=corr)


def _kernel(name: str, ts: Any, dur: Any, device: Any = 0, stream: Any = 7, **args: Any) -> Event:
    where = {"device": device, "stream": stream}
    return _slice("kernel", name, ts, dur, device, stream, **where, **args)


def _memory(ts: Any, size: Any, address: Any, total: Any = None, device: Any = 0) -> Event:
    args = {"Device Type": 1, "Device Id": device, "Bytes": size, "Addr": address}
    args |= {"Total Allocated": total, "Total Reserved": total}
    place = {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts}
    return {**place, "args": {key: value for key, value in args.items() if value is not None}}


def _counter(name: str, ts: Any, **values: Any) -> Event:
    return {"ph": "C", "name": name, "pid": 0, "tid": 0, "ts": ts, "args": values}


def ordinary(size: int, choice: Random) -> Iterator[Event]:
    """What others distort: steps of operators in ranges and modules, that launch kernels, copies
    and collectives; with memory, counters and flows."""
    for i in range(max(1, size // 10)):
        at = 100 + 200 * i
        yield _range(f"ProfilerStep#{i}", at, 190)
        yield _range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 1, 9)
        frame = {"Python id": i + 1, "Python parent id": None, "Python module id": 0}
        yield _slice("python_function", "nn.Module: Net_0", at + 10, 90, **frame)
        dims = {
            "Input Dims": [[4, 8], [8, choice.choice((2, 3))]],
            "Input type": ["float", "float"],
        }
        yield _op("aten::mm", at + 12, 40, **dims, **{"External id": i, "Sequence number": i})
        yield _call(at + 14, 3, 3 * i)
        yield _kernel("volta_sgemm_128x64_nn", at + 20, 30, correlation=3 * i, grid=[1, 2, 1])
        yield {
            "ph": "s",
            "cat": "ac2g",
            "name": "ac2g",
            "id": 3 * i,
            "pid": 1,
            "tid": 1,
            "ts": at + 14,
        }
        yield {"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": 3 * i, "pid": 0, "tid": 7,
               "ts": at + 20}  # fmt: skip
        yield _call(at + 55, 2, 3 * i + 1)
        yield _slice("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 60, 9, 0, 7, device=0,
                     stream=7, correlation=3 * i + 1, bytes=64)  # fmt: skip
        back = {"Sequence number": i, "Fwd thread id": 1}
        yield _op("autograd::engine::evaluate_function: MmBackward0", at + 110, 20, tid=2, **back)
        yield _op("nccl:all_reduce", at + 132, 9, **{"Collective name": "allreduce"})
        yield _call(at + 134, 2, 3 * i + 2)
        group = {"Process Group Name": "0", "Process Group Ranks": "[0, 1]", "dtype": "Float"}
        yield _kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", at + 140, 20, 0, 20,
                      correlation=3 * i + 2, **{"Collective name": "allreduce", "Group size": 2,
                      "In msg nelems": 64, "Out msg nelems": 64}, **group)  # fmt: skip
        yield _range("Optimizer.step#SGD.step", at + 165, 20)
        yield _memory(at + 15, 512, 4096 + i, 512 * (i + 1))
        yield _counter("GPU 0 Utilization", at + 30, value=i % 3)
        yield {"ph": "i", "name": "mark", "s": "g", "pid": 1, "tid": 1, "ts": at + 31}


def nothing(_size: int, _choice: Random) -> Iterator[Event]:
    """No event at all."""
    return iter(())


def one_slice(_size: int, _choice: Random) -> Iterator[Event]:
    """A single operator."""
    yield _op("aten::mm", 5, 7)


def one_kernel(_size: int, _choice: Random) -> Iterator[Event]:
    """A single kernel that nothing launched."""
    yield _kernel("k", 5, 7)


def one_step(_size: int, _choice: Random) -> Iterator[Event]:
    """A single step with nothing in it."""
    yield _range("ProfilerStep#0", 5, 7)


def of_no_length(size: int, choice: Random) -> Iterator[Event]:
    """Every slice begins and ends at once."""
    return ({**event, "dur": 0} if "dur" in event else event for event in ordinary(size, choice))


def of_negative_length(size: int, choice: Random) -> Iterator[Event]:
    """Every slice ends before it begins."""
    return ({**event, "dur": -1} if "dur" in event else event for event in ordinary(size, choice))


def of_great_length(size: int, choice: Random) -> Iterator[Event]:
    """Every slice lasts for centuries."""
    long = {"dur": EDGE_US / 4}
    return (event | long if "dur" in event else event for event in ordinary(size, choice))


def at_one_moment(size: int, choice: Random) -> Iterator[Event]:
    """Everything begins and ends at the same time."""
    for event in ordinary(size, choice):
        yield {**event, "ts": 5, **({"dur": 10} if "dur" in event else {})}


def far_times(size: int, choice: Random) -> Iterator[Event]:
    """Times about 2^63 ns: some beyond."""
    for event in ordinary(size, choice):
        yield {**event, "ts": EDGE_US - 100_000 + event["ts"]}


def negative_times(size: int, choice: Random) -> Iterator[Event]:
    """Times from before the clock began, as far as it goes."""
    for event in ordinary(size, choice):
        yield {**event, "ts": event["ts"] - choice.choice((100, 10_000, EDGE_US))}


def from_end_to_end(size: int, choice: Random) -> Iterator[Event]:
    """One slice at each end of what 64 bits hold, others between."""
    for edge in (-EDGE_US + 5000, -EDGE_US * 0.49, EDGE_US * 0.49, EDGE_US - 5000):
        yield _op("aten::edge", edge, choice.choice((10, EDGE_US * 0.49)))
        yield {"ph": "i", "name": "edge", "pid": 1, "tid": 1, "ts": edge}
        yield _memory(edge, 512, 77)
        yield _kernel("edge", edge, 10, correlation=1)
    yield from ordinary(size, choice)


def no_times(size: int, choice: Random) -> Iterator[Event]:
    """Times and lengths that are no numbers, or that nothing can be."""
    for event in ordinary(size, choice):
        key = choice.choice(("ts", "dur"))
        yield {**event, key: choice.choice(ODD_NUMBERS)} if key in event else event


def odd_places(size: int, choice: Random) -> Iterator[Event]:
    """Processes, threads, devices and streams that are none."""
    for event in ordinary(size, choice):
        args = event.get("args", {})
        keys = [key for key in ("device", "stream") if key in args]
        moved = {key: choice.choice(ODD_NUMBERS) for key in keys}
        places = {key: choice.choice(ODD_NUMBERS) for key in ("pid", "tid")}
        yield {**event, **(places if choice.random() < 0.3 else {}), "args": args | moved}


def odd_arguments(size: int, choice: Random) -> Iterator[Event]:
    """Arguments of any value."""
    for event in ordinary(size, choice):
        if args := event.get("args"):
            yield {**event, "args": args | {choice.choice(list(args)): choice.choice(ODD_NUMBERS)}}
        else:
            yield event


def odd_names(size: int, choice: Random) -> Iterator[Event]:
    """Names of nothing, of what is no text, and of what means something elsewhere."""
    for event in ordinary(size, choice):
        yield {**event, "name": choice.choice(ODD_NAMES)} if choice.random() < 0.6 else event


def odd_categories(size: int, choice: Random) -> Iterator[Event]:
    """Slices of any other kind."""
    kinds = ("", "cpu_op", "kernel", "user_annotation", "gpu_user_annotation", "cuda_runtime",
             "cuda_driver", "python_function", "gpu_memset", "overhead", "Trace", "?")  # fmt: skip
    for event in ordinary(size, choice):
        yield {**event, "cat": choice.choice(kinds)} if "cat" in event else event


def device_only(size: int, choice: Random) -> Iterator[Event]:
    """Device work without a host."""
    kinds = ("kernel", "gpu_memcpy")
    return (event for event in ordinary(size, choice) if event.get("cat") in kinds)


def host_only(size: int, choice: Random) -> Iterator[Event]:
    """A host without device work."""
    kinds = ("cpu_op", "python_function", "user_annotation")
    return (event for event in ordinary(size, choice) if event.get("cat") in kinds)


def launches_only(size: int, choice: Random) -> Iterator[Event]:
    """Calls that launch nothing."""
    return (event for event in ordinary(size, choice) if event.get("cat") == "cuda_runtime")


def memory_only(size: int, choice: Random) -> Iterator[Event]:
    """Memory events alone: releases of what nobody allocated, sizes that nothing has."""
    for i in range(size):
        amount = choice.choice((512, -512, 0, 2**60, -(2**60), 2**53 - 1, 10**30))
        yield _memory(
            10 * i, amount, choice.choice((i, 7, None, -1)), choice.choice((i, -i, 2**60))
        )


def marks_only(size: int, _choice: Random) -> Iterator[Event]:
    """Marks without a slice."""
    return ({"ph": "i", "name": f"m{i}", "pid": 1, "tid": i, "ts": i} for i in range(size))


def counters_only(size: int, choice: Random) -> Iterator[Event]:
    """Counters without a slice, many of them, of any value."""
    return (_counter(f"c{i}", i, a=choice.choice(ODD_NUMBERS), b=i) for i in range(size))


def flows_to_nothing(size: int, choice: Random) -> Iterator[Event]:
    """Arrows without an end, to themselves, in a circle, backwards in time, many from one."""
    yield from (_op(f"op{i % 9}", 10 * i, 8) for i in range(size))
    for i in range(size):
        ids = (choice.randrange(size) for _ in range(2))
        for phase, at in zip("sf", ids, strict=True):
            where = {"pid": 1, "tid": choice.choice((1, 1, 2)), "ts": 10 * at + 1}
            ident = choice.choice((i, i, 0, -1, "x", 2**64))
            if choice.random() < 0.9:
                yield {"ph": phase, "cat": "ac2g", "name": "f", "id": ident, "bp": "e", **where}


def own_launches(size: int, _choice: Random) -> Iterator[Event]:
    """Work whose ids lead to itself and to one another: each kernel under all calls of its id."""
    for i in range(size):
        yield _op("aten::x", i, 1, **{"External id": 1, "Sequence number": 1, "Fwd thread id": 1})
        yield _call(i, 1, i % 2)
        yield _kernel("k", i, 1, correlation=i % 2, **{"External id": 1})


def one_track(size: int, choice: Random) -> Iterator[Event]:
    """Everything in one process and thread."""
    return ({**event, "pid": 1, "tid": 1} for event in ordinary(size, choice))


def many_threads(size: int, _choice: Random) -> Iterator[Event]:
    """A thread per operator."""
    return (_op("aten::mm", 10 * i, 5, tid=i) for i in range(size))


def many_processes(size: int, _choice: Random) -> Iterator[Event]:
    """A process per operator."""
    return (_op("aten::mm", 10 * i, 5, pid=i) for i in range(size))


def many_streams(size: int, _choice: Random) -> Iterator[Event]:
    """A stream per kernel."""
    for i in range(size):
        yield _call(10 * i, 2, i)
        yield _kernel("k", 10 * i + 3, 5, stream=i, correlation=i)


def many_devices(size: int, _choice: Random) -> Iterator[Event]:
    """A device per kernel."""
    for i in range(size):
        yield _call(10 * i, 2, i)
        yield _kernel("k", 10 * i + 3, 5, device=i, correlation=i)


def many_device_processes(size: int, _choice: Random) -> Iterator[Event]:
    """Kernels in a process each that do not say of which device."""
    return (_slice("kernel", "k", 10 * i, 5, pid=i, tid=7) for i in range(size))


def many_steps(size: int, _choice: Random) -> Iterator[Event]:
    """Steps, each with an operator and a kernel."""
    for i in range(size):
        yield _range(f"ProfilerStep#{i}", 10 * i, 9)
        yield _op("aten::mm", 10 * i + 1, 5)
        yield _call(10 * i + 2, 1, i)
        yield _kernel("k", 10 * i + 4, 3, correlation=i)


def many_bare_steps(size: int, _choice: Random) -> Iterator[Event]:
    """Steps with nothing in them."""
    return (_range(f"ProfilerStep#{i}", 10 * i, 9) for i in range(size))


def one_step_often(size: int, choice: Random) -> Iterator[Event]:
    """One number for all steps, which overlap and contain one another."""
    yield from ordinary(size, choice)
    yield from (_range("ProfilerStep#7", 5 * i, choice.choice((0, 3, 50))) for i in range(size))


def long_step_numbers(size: int, choice: Random) -> Iterator[Event]:
    """Steps whose numbers have thousands of digits."""
    yield from ordinary(size, choice)
    for i in range(max(1, size // 10)):
        number = choice.choice(("9" * 19, "9" * 20, "1" * 4000, "0" * 3000, f"-{'8' * 4000}"))
        yield _range(f"ProfilerStep#{number}", 100 + 200 * i, 190)


def many_operator_names(size: int, _choice: Random) -> Iterator[Event]:
    """A name per operator."""
    return (_op(f"custom::operator_{i}", 10 * i, 5) for i in range(size))


def many_range_names(size: int, _choice: Random) -> Iterator[Event]:
    """A name per range."""
    return (_range(f"part {i}", 10 * i, 5) for i in range(size))


def many_kernel_names(size: int, _choice: Random) -> Iterator[Event]:
    """A name per kernel."""
    for i in range(size):
        yield _op("aten::mm", 10 * i, 4)
        yield _call(10 * i, 2, i)
        yield _kernel(f"void kernel_{i}<float, {i}>(float*)", 10 * i + 3, 5, correlation=i)


def many_frame_names(size: int, _choice: Random) -> Iterator[Event]:
    """A name per Python frame."""
    for i in range(size):
        args = {"Python id": i, "Python parent id": None}
        yield _slice("python_function", f"file_{i}.py(3): f", 10 * i, 5, **args)


def many_modules(size: int, _choice: Random) -> Iterator[Event]:
    """A module per call, one beside the other."""
    for i in range(size):
        args = {"Python id": i, "Python parent id": None, "Python module id": i}
        yield _slice("python_function", f"nn.Module: M_{i}", 10 * i, 5, **args)


def many_shapes(size: int, _choice: Random) -> Iterator[Event]:
    """Operators, each with other shapes of its inputs."""
    for i in range(size):
        yield _op(
            "aten::mm", 10 * i, 5, **{"Input Dims": [[i, 2], [2, i]], "Input type": ["float"] * 2}
        )


def many_stacks(size: int, _choice: Random) -> Iterator[Event]:
    """Operators, each with another call stack."""
    return (
        _op("aten::mm", 10 * i, 5, **{"Call stack": f"a.py(1): f;b.py({i}): g"})
        for i in range(size)
    )


def many_groups(size: int, _choice: Random) -> Iterator[Event]:
    """Collectives of a process group each; ranks that are none among them."""
    ranks = ("[0, 1]", "[]", "", "[0, ...]", "[5", "[-1, 2]", f"[{'9' * 40}]")
    for i in range(size):
        group = {"Process Group Name": str(i), "Process Group Ranks": ranks[i % len(ranks)]}
        more = {
            "Collective name": "allreduce",
            "In msg nelems": i,
            "dtype": "Float",
            "Group size": i,
        }
        yield _kernel("ncclDevKernel_AllReduce", 10 * i, 5, correlation=i, **group, **more)


def many_graphs(size: int, _choice: Random) -> Iterator[Event]:
    """A graph per kernel, and all nodes of one call."""
    yield _slice("cuda_runtime", "cudaGraphLaunch", 1, 5, correlation=1)
    for i in range(size):
        graph = {"graph id": i, "graph node id": i}
        yield _kernel("k", 10 * i, 5, correlation=1, **graph)


def many_counters(size: int, choice: Random) -> Iterator[Event]:
    """Counters, a series each, beside the ordinary."""
    yield from ordinary(size, choice)
    yield from (_counter(f"c{i}", i, a=i) for i in range(size))


def many_launched(size: int, _choice: Random) -> Iterator[Event]:
    """One call that launched everything."""
    yield _op("aten::mm", 0, 10)
    yield _call(1, 5, 1)
    yield from (_kernel("k", 10 * i, 5, correlation=1) for i in range(size))


def overlapping_work(size: int, _choice: Random) -> Iterator[Event]:
    """Kernels of one stream, each within the one before."""
    return (_kernel(f"k{i % 7}", i, 3 * size - 2 * i, correlation=i) for i in range(size))


def crossing_operators(size: int, _choice: Random) -> Iterator[Event]:
    """Operators of one thread that begin before the last one ended, and end after it."""
    return (_op(f"op{i % 7}", i, size) for i in range(size))


def deep_operators(size: int, _choice: Random) -> Iterator[Event]:
    """Operators, each within the one before, the last one with a kernel."""
    yield from (_op("aten::inner", i, 2 * (size - i) + 5) for i in range(size))
    yield _call(size + 1, 1, 1)
    yield _kernel("k", size + 3, 1, correlation=1)


def deep_ranges(size: int, _choice: Random) -> Iterator[Event]:
    """Ranges of a name each, each within the one before."""
    return (_range(f"r{i}", i, 2 * (size - i) + 5) for i in range(size))


def deep_calls(size: int, _choice: Random) -> Iterator[Event]:
    """Calls of the runtime, each within the one before."""
    yield _op("aten::mm", 0, 3 * size + 10)
    yield from (_call(i + 1, 2 * (size - i) + 5, i) for i in range(size))
    yield from (_kernel("k", 3 * size + i, 1, correlation=i) for i in range(size))


def deep_frames(size: int, _choice: Random) -> Iterator[Event]:
    """Python frames, each within the one before."""
    for i in range(size):
        args = {"Python id": i, "Python parent id": i - 1}
        yield _slice("python_function", f"a.py({i}): f", i, 2 * (size - i) + 5, **args)


def many_device_ranges(size: int, _choice: Random) -> Iterator[Event]:
    """Ranges of the device about kernels, a name each, overlapping."""
    for i in range(size):
        yield _slice("gpu_user_annotation", f"g{i}", 10 * i, 25, 0, 7)
        yield _kernel("k", 10 * i + 1, 5, correlation=i)


def long_names(size: int, _choice: Random) -> Iterator[Event]:
    """Names of ``size`` hundred characters, of every kind."""
    name = "n" * (100 * size)
    yield _range(f"ProfilerStep#{name}", 0, 400)
    yield _range(name, 0, 300)
    yield _op(name, 10, 100, **{"Call stack": name, "Input type": [name], "Module Hierarchy": name})
    yield _slice("python_function", f"nn.Module: {name}", 10, 200, **{"Python id": 1})
    yield _call(20, 5, 1)
    yield _kernel(name, 30, 50, correlation=1)
    yield _kernel(f"void {name}<{name}>({name})", 90, 50, correlation=1)
    yield _counter(name, 50, **{name: 1})
    yield {"ph": "i", "name": name, "pid": 1, "tid": name, "ts": 60}
    yield {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": name}}
    yield {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": name}}


SHAPES: dict[str, Shape] = {
    function.__name__: function
    for function in (
        ordinary, nothing, one_slice, one_kernel, one_step, of_no_length, of_negative_length,
        of_great_length, at_one_moment, far_times, negative_times, from_end_to_end, no_times,
        odd_places, odd_arguments, odd_names, odd_categories, device_only, host_only,
        launches_only, memory_only, marks_only, counters_only, flows_to_nothing, own_launches,
        one_track, many_threads, many_processes, many_streams, many_devices,
        many_device_processes, many_steps, many_bare_steps, one_step_often, long_step_numbers,
        many_operator_names, many_range_names, many_kernel_names, many_frame_names,
        many_modules, many_shapes, many_stacks, many_groups, many_graphs, many_counters,
        many_launched, overlapping_work, crossing_operators, deep_operators, deep_ranges,
        deep_calls, deep_frames, many_device_ranges, long_names,
    )
}  # fmt: skip


def mixed(names: Sequence[str], size: int, choice: Random) -> Iterator[Event]:
    """Several shapes in one recording: one after the other or at once, now and then with a value
    from elsewhere."""
    for name in names:
        moved = choice.choice((0, 0, 7, 10_000))
        for event in SHAPES[name](size, choice):
            shifted = event
            if isinstance(event.get("ts"), int | float):
                shifted = event | {"ts": event["ts"] + moved}
            if choice.random() < 0.02:
                shifted = shifted | {choice.choice(list(shifted)): choice.choice(ODD_NUMBERS)}
            yield shifted


def text_of(events: Iterator[Event], *, has_ranks: bool = False) -> bytes:
    """The Kineto file of events. Numbers that JSON does not have are written as Python does."""
    header = HEADER | RANKS if has_ranks else HEADER
    lines = ",\n".join(json.dumps(event) for event in events)
    return f'{json.dumps(header)[:-1]}, "traceEvents": [\n{lines}\n]}}'.encode()
