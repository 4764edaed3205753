"""Chrome traces, as PyTorch writes them, written to cost time or memory."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from registry import attack

JSON = "worker0.1700000000000.pt.trace.json"


def event(name: str, ts: float, dur: float, cat: str = "cpu_op", **more: Any) -> dict[str, Any]:
    """A complete event of thread 1 of process 1."""
    base = {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}
    return {**base, **more}


def write(path: Path, events: Iterable[dict[str, Any]], header: str = "") -> None:
    """Write a trace of ``events``, with ``header`` before them."""
    with path.open("w") as file:
        file.write('{"schemaVersion":1,' + header + '"traceEvents":[\n')
        separator = ""
        for each in events:
            file.write(separator + json.dumps(each))
            separator = ",\n"
        file.write("\n]}")


def kernel(number: int, **more: Any) -> dict[str, Any]:
    """A kernel on GPU 0, stream 7."""
    args = {"device": 0, "stream": 7, "correlation": number, **more.pop("args", {})}
    given = {"name": "kernel", "ts": number * 10, "dur": 5, "cat": "kernel", "pid": 0, "tid": 7}
    return event(**{**given, **more, "args": args})


def nested_frames(path: Path, depth: int, name: str, **args: Any) -> None:
    """Python frames inside one another around one operator; ``{}`` in ``name`` is the level."""
    frames = (
        event(
            name.format(level),
            level,
            2 * (depth - level) + 10,
            "python_function",
            args={"Python id": level + 1, "Python parent id": level or None, **args},
        )
        for level in range(depth)
    )
    write(path, [*frames, event("aten::mm", depth + 1, 3)])


@attack("modules-deep", JSON)
def _(path: Path, rng: random.Random) -> None:
    nested_frames(
        path, 50_000 + rng.randrange(100), "nn.Module: Block_{}", **{"Python module id": 0}
    )


@attack("frames-deep", JSON)
def _(path: Path, rng: random.Random) -> None:
    nested_frames(path, 50_000 + rng.randrange(100), "model.py({}): forward")


@attack("operators-deep", JSON)
def _(path: Path, rng: random.Random) -> None:
    depth = 100_000 + rng.randrange(100)
    write(path, (event(f"aten::op{n % 50}", n, 2 * (depth - n) + 1) for n in range(depth)))


@attack("ranges-deep", JSON)
def _(path: Path, rng: random.Random) -> None:
    depth = 50_000 + rng.randrange(100)
    ranges = (event(f"range{n}", n, 2 * (depth - n) + 9, "user_annotation") for n in range(depth))
    write(path, [*ranges, event("aten::mm", depth + 1, 3)])


@attack("call-stack-long", JSON)
def _(path: Path, rng: random.Random) -> None:
    frames = 200_000 + rng.randrange(100)
    stacks = [";".join(f"file{which}.py({n}): f{n}" for n in range(frames)) for which in range(3)]
    write(
        path,
        (
            event(f"aten::op{n}", n * 10, 5, args={"Call stack": stack})
            for n, stack in enumerate(stacks)
        ),
    )


@attack("call-stacks-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    def stack(which: int) -> str:
        return ";".join(f"f{which}.py({n}): g{rng.randrange(10**6)}" for n in range(400))

    write(path, (event("aten::mm", n * 10, 5, args={"Call stack": stack(n)}) for n in range(3000)))


@attack("brackets-in-header", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 8_000_000 + rng.randrange(100)
    path.write_text('{"a":' + "[" * count + ',"traceEvents":[]}')


@attack("brackets-closed-in-header", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 4_000_000 + rng.randrange(100)
    text = json.dumps(event("aten::mm", 1, 2))
    path.write_text('{"a":' + "[" * count + "]" * count + f',"traceEvents":[{text}]}}')


@attack("brackets-in-event", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 4_000_000 + rng.randrange(100)
    text = json.dumps(event("aten::mm", 1, 2))
    path.write_text(f'{{"traceEvents":[{text},{{"args":{"[" * count},{text}]}}')


@attack("braces-in-events", JSON)
def _(path: Path, rng: random.Random) -> None:
    text = json.dumps(event("aten::mm", 1, 2))
    path.write_text(f'{{"traceEvents":[{text},{"{" * (8_000_000 + rng.randrange(99))},{text}]}}')


@attack("quotes-in-header", JSON)
def _(path: Path, rng: random.Random) -> None:
    path.write_text('{"a":"' + '\\"' * (4_000_000 + rng.randrange(99)) + '","traceEvents":[]}')


@attack("many-trace-events-keys", JSON)
def _(path: Path, rng: random.Random) -> None:
    text = json.dumps(event("aten::mm", 1, 2))
    part = f'"traceEvents":[{text}],'
    path.write_text("{" + part * (100_000 + rng.randrange(99)) + '"z":1}')


@attack("devices-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 50_000 + rng.randrange(99)
    write(
        path,
        (kernel(n, pid=n, args={"device": n, "stream": 7, "correlation": n}) for n in range(count)),
    )


@attack("device-properties-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 50_000 + rng.randrange(99)
    devices = [{"id": n, "name": f"GPU {n}", "totalGlobalMem": 1 << 34} for n in range(count)]
    write(path, [kernel(1)], f'"deviceProperties":{json.dumps(devices)},')


@attack("devices-allowed", JSON)
def _(path: Path, rng: random.Random) -> None:
    write(
        path,
        (
            kernel(n, pid=n % 1000, args={"device": n % 1000, "stream": n % 13, "correlation": n})
            for n in range(50_000 + rng.randrange(99))
        ),
    )


@attack("streams-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 100_000 + rng.randrange(99)
    write(
        path,
        (kernel(n, tid=n, args={"device": 0, "stream": n, "correlation": n}) for n in range(count)),
    )


@attack("streams-waiting", JSON)
def _(path: Path, rng: random.Random) -> None:
    """Two calls per stream, all within one another's time."""
    count = 50_000 + rng.randrange(99)
    write(
        path,
        (
            kernel(n, tid=n, ts=n % 100, dur=1000, args={"device": 0, "stream": n % count})
            for n in range(2 * count)
        ),
    )


@attack("threads-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 100_000 + rng.randrange(99)
    write(path, (event("aten::mm", n, 5, tid=n) for n in range(count)))


@attack("processes-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 100_000 + rng.randrange(99)
    names = (
        {"ph": "M", "name": "process_name", "pid": n, "tid": 0, "args": {"name": f"python {n}"}}
        for n in range(count)
    )
    write(path, [*names, *(event("aten::mm", n, 5, pid=n) for n in range(count))])


@attack("names-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 300_000 + rng.randrange(99)
    write(
        path,
        (
            event(f"aten::op{n}_{rng.randrange(10**6)}", n * 10, 5)
            if n % 2
            else kernel(n, name=f"void k{n}<float, {n}>(int)", args={"correlation": n})
            for n in range(count)
        ),
    )


@attack("kernel-names-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 300_000 + rng.randrange(99)
    write(
        path,
        (
            kernel(n, name=f"void ns{n}::gemm_{n}<float, {n}, Tile<{n}, 4>>(float*, int)")
            for n in range(count)
        ),
    )


@attack("mangled-names-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 100_000 + rng.randrange(99)

    def name(number: int) -> str:
        inner = "N2at6nativeE" + f"{len(str(number)) + 1}k{number}" + "ILi1EfS0_S1_E" * 20
        return f"_Z{inner}vT_T0_"

    write(path, (kernel(n, name=name(n)) for n in range(count)))


@attack("long-names", JSON)
def _(path: Path, rng: random.Random) -> None:
    write(
        path,
        (
            kernel(n, name=f"{n}" + rng.choice("ab<(:_ ,{[") * 1_000_000, ts=n * 10)
            for n in range(30)
        ),
    )


@attack("templates-deep", JSON)
def _(path: Path, _rng: random.Random) -> None:
    write(path, (kernel(n, name=f"k{n}" + "<a" * 100_000 + ">" * 100_000) for n in range(40)))


@attack("step-with-many-digits", JSON)
def _(path: Path, rng: random.Random) -> None:
    digits = "".join(rng.choice("123456789") for _ in range(4000))
    steps = [event(f"ProfilerStep#{digits}", 0, 100, "user_annotation")]
    write(path, [*steps, event("aten::mm", 10, 20), kernel(3)])


@attack("negative-durations", JSON)
def _(path: Path, rng: random.Random) -> None:
    write(
        path,
        (
            event("aten::mm", n * 10, -1) if n % 2 else kernel(n, dur=-1)
            for n in range(10 + rng.randrange(9))
        ),
    )


@attack("steps-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 100_000 + rng.randrange(99)
    steps = (event(f"ProfilerStep#{n}", n * 10, 9, "user_annotation") for n in range(count))
    write(path, [*steps, *(event("aten::mm", n * 10 + 1, 3) for n in range(count))])


@attack("times-at-the-edge", JSON)
def _(path: Path, rng: random.Random) -> None:
    edge = (2**63 - 1) / 1000
    times = [0, -edge, edge, edge - 1, 1e300, -1e300, 2**62 / 1000, rng.random()]
    write(path, [event("aten::mm", ts, dur) for ts in times for dur in times])


@attack("flows-many", JSON)
def _(path: Path, _rng: random.Random) -> None:
    flows = (
        {"ph": ph, "id": 7, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": n}
        for n in range(100_000)
        for ph in "sf"
    )
    operators = (event("aten::mm", n, 1, args={"correlation": 7}) for n in range(1000))
    write(path, [*flows, *operators, *(kernel(n, args={"correlation": 7}) for n in range(1000))])


@attack("overlapping", JSON)
def _(path: Path, rng: random.Random) -> None:
    write(
        path,
        (event(f"op{n % 9}", n, 10**6 + rng.randrange(10**6)) for n in range(100_000)),
    )


@attack("kernels-overlapping", JSON)
def _(path: Path, rng: random.Random) -> None:
    write(path, (kernel(n, ts=n, dur=10**6 + rng.randrange(10**6)) for n in range(100_000)))


@attack("one-correlation", JSON)
def _(path: Path, rng: random.Random) -> None:
    launches = (
        event("cudaLaunchKernel", n * 10, 5, "cuda_runtime", args={"correlation": 1})
        for n in range(50_000 + rng.randrange(99))
    )
    write(path, [*launches, *(kernel(n, args={"correlation": 1}) for n in range(50_000))])


@attack("shapes-deep", JSON)
def _(path: Path, _rng: random.Random) -> None:
    shapes = "[" * 900 + "]" * 900
    args = {"Input Dims": json.loads(shapes), "Input type": ["float"] * 5000}
    write(path, (event("aten::mm", n * 10, 5, args=args) for n in range(1000)))


@attack("shapes-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    write(
        path,
        (
            event("aten::mm", n * 10, 5, args={"Input Dims": [[n, n + 1], [n + 1, n]] * 10})
            for n in range(100_000 + rng.randrange(99))
        ),
    )


@attack("groups-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    groups = [
        {"pg_name": f"{n}", "pg_desc": f"group{n}", "ranks": list(range(100))}
        for n in range(50_000 + rng.randrange(99))
    ]
    info = json.dumps({"backend": "nccl", "rank": 0, "world_size": 100, "pg_config": groups})
    calls = (
        kernel(
            n,
            name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            args={"Process Group Name": f"{n}", "Collective name": "allreduce"},
        )
        for n in range(50_000)
    )
    write(path, calls, f'"distributedInfo":{info},')


@attack("memory-events-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    def memory(number: int) -> dict[str, Any]:
        args = {
            "Device Type": 1,
            "Device Id": number % 1024,
            "Addr": rng.randrange(2**63),
            "Bytes": rng.choice((1, -1)) * rng.randrange(2**40),
            "Total Allocated": rng.randrange(2**50),
            "Total Reserved": rng.randrange(2**50),
        }
        place = {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event"}
        return {**place, "pid": 1, "tid": 1, "ts": number, "args": args}

    write(path, [kernel(1), *(memory(n) for n in range(200_000))])


@attack("counters-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    counters = (
        {"ph": "C", "name": f"c{n}", "pid": 1, "ts": n, "args": {"value": rng.random()}}
        for n in range(100_000)
    )
    write(path, [event("aten::mm", 1, 2), *counters])


@attack("modules-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    frames = (
        event(
            f"nn.Module: Block{n}_{rng.randrange(9)}",
            n * 10,
            5,
            "python_function",
            args={"Python id": n + 1, "Python parent id": None, "Python module id": n},
        )
        for n in range(100_000)
    )
    write(path, frames)
