"""Chrome traces in which two large numbers meet: steps and kernels, ranges and operators, …"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from kineto_inputs import JSON, event, kernel, write
from registry import attack

COLLECTIVE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


@attack("steps-overlapping", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 5000 + rng.randrange(99)
    steps = [event(f"ProfilerStep#{n}", n, 10**6, "user_annotation") for n in range(count)]
    work = [kernel(n, ts=n, dur=10) for n in range(50_000)]
    write(path, [*steps, *work, *(event("aten::mm", 3 * n, 2) for n in range(50_000))])


@attack("steps-inside-steps", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 20_000 + rng.randrange(99)
    steps = [
        event(f"ProfilerStep#{n}", n, 2 * (count - n) + 9, "user_annotation") for n in range(count)
    ]
    write(path, [*steps, *(kernel(n, ts=n, dur=1) for n in range(50_000))])


@attack("steps-of-one-number", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 50_000 + rng.randrange(99)
    write(
        path,
        (
            event(f"ProfilerStep#{n % 3}", n * 10, 9, "user_annotation")
            if n % 2
            else kernel(n, ts=n * 10, dur=4)
            for n in range(2 * count)
        ),
    )


@attack("ranges-on-gpu-deep", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 30_000 + rng.randrange(99)
    ranges = (
        kernel(n, name=f"range{n}", cat="gpu_user_annotation", ts=n, dur=2 * (count - n) + 9)
        for n in range(count)
    )
    write(path, [*ranges, *(kernel(n, ts=n, dur=1) for n in range(count))])


@attack("ranges-many-names", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 50_000 + rng.randrange(99)
    write(
        path,
        (
            event(f"range {n} of {rng.random()}", n * 10, 9, "user_annotation")
            if n % 2
            else kernel(n, ts=n * 10, dur=4, cat="gpu_user_annotation", name=f"range {n}")
            for n in range(2 * count)
        ),
    )


@attack("ranges-across-threads", JSON)
def _(path: Path, rng: random.Random) -> None:
    """Ranges of 2,000 threads around one another, launches in all of them."""
    threads = 2000 + rng.randrange(99)
    events: list[dict[str, Any]] = []
    for tid in range(threads):
        events += [
            event(f"range{level}", tid + level, 10**6 - 2 * level, "user_annotation", tid=tid)
            for level in range(20)
        ]
        launch = {"correlation": tid + 1}
        events.append(event("cudaLaunchKernel", tid + 50, 3, "cuda_runtime", tid=tid, args=launch))
        events.append(kernel(tid + 1, ts=tid + 60))
    write(path, events)


@attack("operators-many-shapes-and-stacks", JSON)
def _(path: Path, rng: random.Random) -> None:
    def args(number: int) -> dict[str, Any]:
        stack = ";".join(f"f{level}.py({rng.randrange(10**6)}): g" for level in range(10))
        return {"Input Dims": [[number, 3], [3, number]], "Call stack": stack, "Input type": ["f"]}

    write(path, (event("aten::mm", n * 10, 5, args=args(n)) for n in range(60_000)))


@attack("python-cycles", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 50_000 + rng.randrange(99)
    write(
        path,
        (
            event(
                f"nn.Module: A_{n}" if n % 2 else f"f.py({n}): g",
                n,
                3 * count,
                "python_function",
                args={"Python id": n % 9, "Python parent id": (n + 1) % 9, "Python module id": n},
            )
            for n in range(count)
        ),
    )


@attack("begin-without-end", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 100_000 + rng.randrange(99)
    write(path, ({**event(f"op{n % 9}", n, 0), "ph": "B"} for n in range(count)))


@attack("end-without-begin", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 200_000 + rng.randrange(99)
    write(path, [event("a", 0, 1), *({**event("x", n, 0), "ph": "E"} for n in range(count))])


@attack("graphs-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 50_000 + rng.randrange(99)
    launches = (
        event("cudaGraphLaunch", n * 20, 5, "cuda_runtime", args={"correlation": n + 1})
        for n in range(count)
    )
    nodes = (
        kernel(n + 1, ts=n * 20 + 8, args={"graph id": n, "graph node id": n * 7})
        for n in range(count)
    )
    write(path, [*launches, *nodes])


@attack("collectives-many-ranks", JSON)
def _(path: Path, rng: random.Random) -> None:
    ranks = ", ".join(map(str, range(5000)))
    write(
        path,
        (
            kernel(
                n,
                name=COLLECTIVE,
                ts=n * 20,
                args={
                    "Process Group Ranks": f"[{n}, {ranks}]",
                    "Process Group Name": f"group{n}",
                    "Collective name": "allreduce",
                    "In msg nelems": rng.randrange(2**62),
                    "Group size": 5001,
                },
            )
            for n in range(1500)
        ),
    )


@attack("synchronizations-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 40_000 + rng.randrange(99)
    calls = (
        event("cudaDeviceSynchronize", n * 20, 15, "cuda_runtime", args={"correlation": n})
        for n in range(count)
    )
    waits = (
        kernel(n, name="Stream Wait Event", cat="cuda_sync", ts=n * 20, tid=n % 500)
        for n in range(count)
    )
    write(path, [*calls, *waits, *(kernel(n, ts=n * 20, dur=10) for n in range(count))])


@attack("copies-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    kinds = ("HtoD", "DtoH", "DtoD", "PtoP")
    write(
        path,
        (
            kernel(
                n,
                name=f"Memcpy {rng.choice(kinds)} (Pageable -> Device) {n}",
                cat="gpu_memcpy",
                args={"bytes": rng.randrange(2**62), "memory bandwidth (GB/s)": 1e300},
            )
            for n in range(60_000)
        ),
    )


@attack("texts-as-numbers", JSON)
def _(path: Path, rng: random.Random) -> None:
    odd = ["1" * 100_000, "1e999", "-", "NaN", "0x10", "१२", "1_000", "", " 1 ", "1e-999999"]
    write(
        path,
        (
            {
                **event(
                    "aten::mm",
                    0,
                    0,
                    args={"External id": rng.choice(odd), "Sequence number": rng.choice(odd)},
                ),
                **{"ts": rng.choice(odd), "dur": rng.choice(odd), "tid": rng.choice(odd)},
            }
            if n % 2
            else kernel(n, args={"device": rng.choice(odd), "stream": rng.choice(odd)})
            for n in range(1000)
        ),
    )


@attack("digits-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    digits = "".join(rng.choices("123456789", k=3_000_000))
    text = json.dumps(event("aten::mm", 1, 2))
    odd = text.replace('"ts": 1', f'"ts": {digits}').replace('"dur": 2', f'"dur": 0.{digits}')
    path.write_text(f'{{"baseTimeNanoseconds":{digits},"traceEvents":[{text},{odd},{text}]}}')


@attack("arguments-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    args = {f"key{n}": rng.random() for n in range(200_000)}
    write(path, (event("aten::mm", n * 10, 5, args=args) for n in range(4)))


@attack("every-event-damaged", JSON)
def _(path: Path, rng: random.Random) -> None:
    good = json.dumps(event('aten::mm "quoted" name', 1, 2))
    bad = good.replace('\\"', '"')
    count = 60_000 + rng.randrange(99)
    path.write_text('{"traceEvents":[' + ",".join([bad] * count) + "]}")


@attack("surrogates", JSON)
def _(path: Path, rng: random.Random) -> None:
    names = ["\\ud800", "\\udfff\\ud800", "\\u0000", "\\u202e", "\\ud83d\\ude00", "\\u0"]
    events = ",".join(
        json.dumps(event("NAME", n * 10, 5)).replace("NAME", rng.choice(names) * (n % 50))
        for n in range(50_000)
    )
    path.write_text('{"traceEvents":[' + events + "]}")


@attack("memory-never-freed", JSON)
def _(path: Path, rng: random.Random) -> None:
    def memory(number: int) -> dict[str, Any]:
        args = {
            "Device Type": 1,
            "Device Id": 0,
            "Addr": number * 512,
            "Bytes": 512 + rng.randrange(9),
            "Total Allocated": number * 512,
            "Total Reserved": number * 512,
        }
        place = {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event"}
        return {**place, "pid": 1, "tid": number % 300, "ts": number, "args": args}

    operators = (event(f"aten::op{n % 99}", n * 10, 9, tid=n % 300) for n in range(20_000))
    write(path, [*operators, kernel(1), *(memory(n) for n in range(150_000))])


@attack("loaders-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 50_000 + rng.randrange(99)
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter{}.__next__"
    write(
        path,
        (
            event(name.format(n), n * 10, 9, "user_annotation")
            if n % 2
            else event("aten::mm", n * 10, 5)
            for n in range(count)
        ),
    )


@attack("triton-many", JSON)
def _(path: Path, rng: random.Random) -> None:
    write(
        path,
        (
            kernel(
                n,
                name=f"triton_poi_fused_add_{n}",
                args={
                    "kernel_file": f"/tmp/torchinductor/{n}.py",
                    "kernel_backend": "triton",
                    "num_warps": rng.randrange(2**40),
                },
            )
            for n in range(40_000)
        ),
    )
