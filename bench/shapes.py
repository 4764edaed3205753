"""The shapes of trace that people have, each made from a recording at hand.

    python bench/shapes.py epoch --factor 10    one of them, 350 MB
    python bench/shapes.py --list

What decides the speed of reading is how times are written, how much of a trace are python frames
and call stacks, and how it is packed; each shape differs from the first, or from another, in one of
these. A factor of one is about 35 MB.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from make_trace import OUT, SAMPLE, SAMPLES, Recording, WriteTime, whole_us, write

UNIT_BYTES = 35_000_000
GRAPH_REPLAYS = 30
"""Kernels of one graph launch, as a multiple of those in the sample."""

STACKS = SAMPLES / "cpu_resnet_full" / "worker0.1795226132075806134.pt.trace.json.gz"
H100 = SAMPLES / "h100_bert_small" / "rank0.pt.trace.json.gz"
MI300 = SAMPLES / "mi300_bert_small" / "rank0.pt.trace.json.gz"

STRETCHED = 1237
"""Nanoseconds that a microsecond of the first sample becomes, so that its times have decimals."""

Events = list[dict[str, Any]]


def three_decimals(time_ns: int, _: bool) -> bytes:
    """A time as torch writes it since 2.3."""
    return b"%d.%03d" % divmod(time_ns, 1000)


def shortest(time_ns: int, _: bool) -> bytes:
    """A time as Python writes it, and whatever passed through Python: as many digits as a double
    needs, which above 2**43 µs are fewer than the nanoseconds have."""
    return repr(time_ns / 1000).encode()


@dataclass(frozen=True)
class Shape:
    """How a trace is made.

    Attributes:
        about: What it stands for.
        source: The recording that is repeated.
        first_us: When it begins; None keeps the recording's own time.
        ns_per_us: What a microsecond of the recording becomes.
        write_time: How times are written.
        edit: What is changed in the recording first.
        is_compact: Whether there are no blanks between the tokens.
        is_packed: Whether the file is compressed by gzip.
        is_list: Whether it is a bare list of events.
        views: What is made of it; a trace without a device has no kernels.
    """

    about: str
    source: Path = SAMPLE
    first_us: int | None = None
    ns_per_us: int = 1000
    write_time: WriteTime = three_decimals
    edit: Callable[[Events], Events] | None = None
    is_compact: bool = False
    is_packed: bool = False
    is_list: bool = False
    views: str = "overview,operators,kernels"


def as_mtia(events: Events) -> Events:
    """The device's events under the categories and the label of Meta's accelerator."""
    renamed = {"kernel": "mtia_ccp_events", "cuda_runtime": "mtia_runtime"}
    renamed["cuda_driver"] = "mtia_runtime"
    for event in events:
        event["cat"] = renamed.get(event.get("cat", ""), event.get("cat"))
        if event["cat"] is None:
            del event["cat"]
        if event["name"] == "process_labels":
            event["args"]["labels"] = event["args"]["labels"].replace("GPU", "MTIA")
    return events


def as_graph_replay(events: Events) -> Events:
    """One graph launch for all kernels of the step, many times those of the recording."""
    kernels = [event for event in events if event.get("cat") == "kernel"]
    launches = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx"}
    kept = [
        event
        for event in events
        if event.get("cat") not in ("kernel", "python_function", "ac2g")
        and event["name"] not in launches
    ]
    first = min(kernels, key=lambda event: float(event["ts"]))
    launch = {
        "ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch",
        "pid": kept[0]["pid"], "tid": kept[0]["tid"], "ts": first["ts"] - 10, "dur": 9.0,
        "args": {"cbid": 311, "correlation": first["args"]["correlation"]},
    }  # fmt: skip
    node = 0
    at_us = first["ts"]
    replayed: Events = []
    for _ in range(GRAPH_REPLAYS):
        for kernel in kernels:
            node += 1
            args = kernel["args"] | {
                "correlation": launch["args"]["correlation"],
                "graph id": 5,
                "graph node id": node,
            }
            replayed.append(kernel | {"ts": round(at_us, 3), "args": args})
            at_us += kernel["dur"] + 0.5
    return [*kept, launch, *replayed]


SHAPES: dict[str, Shape] = {
    "integers": Shape("torch 1.8 to 2.2, call stacks in the operators", write_time=whole_us),
    "decimals": Shape("decimals below 2**42 µs: torch 2.3 and later, in the first 51 days "
                      "of a quarter", first_us=2 * 10**12, ns_per_us=STRETCHED),
    "decimals_late": Shape("decimals from 2**42 to 2**43 µs: the rest of a quarter",
                           first_us=5 * 10**12, ns_per_us=STRETCHED),
    "epoch": Shape("decimals of epoch times", first_us=17 * 10**14, ns_per_us=STRETCHED),
    "epoch_short": Shape("the same with the digits of a double: files that passed through Python",
                         first_us=17 * 10**14, ns_per_us=STRETCHED, write_time=shortest),
    "stacks": Shape("torch 2.13 on a CPU: python frames, memory, shapes", STACKS,
                    views="overview,operators,modules"),
    "compact": Shape("torch 2.14 and later: python frames and kernels, no blanks", H100,
                     first_us=5 * 10**12, is_compact=True),
    "rocm": Shape("ROCm, python frames", MI300),
    "mtia": Shape("MTIA, python frames", H100, edit=as_mtia),
    "graph": Shape("graph replay: kernels of few launches", H100, edit=as_graph_replay),
    "gzip": Shape("the first shape, packed", write_time=whole_us, is_packed=True),
    "list": Shape("the first shape as a bare list", write_time=whole_us, is_list=True),
}  # fmt: skip


def make_shape(name: str, factor: int, path: Path) -> None:
    """Write the trace of a shape.

    Raises:
        KeyError: there is no such shape.
    """
    shape = SHAPES[name]
    text = gzip.decompress(shape.source.read_bytes())
    if shape.edit is not None or shape.is_compact:
        document = json.loads(text)
        if shape.edit is not None:
            document["traceEvents"] = shape.edit(document["traceEvents"])
        separators = (",", ":") if shape.is_compact else (", ", ": ")
        text = json.dumps(document, separators=separators).encode()
    recording = Recording(text, shape.ns_per_us)
    first_ns = None if shape.first_us is None else shape.first_us * 1000
    count = max(1, round(factor * UNIT_BYTES / len(text)))
    events = recording.copies(count, shape.write_time, first_ns)
    head, tail = (b"[\n", b"]\n") if shape.is_list else (recording.head, recording.tail)
    parts = (head, *events, tail)
    write(path, (gzip.compress(b"".join(parts), 6),) if shape.is_packed else parts)


def shape_of(name: str, factor: int) -> Path:
    """The trace of that shape and size under ``bench/out``, made when it is not there yet."""
    suffix = ".pt.trace.json.gz" if SHAPES[name].is_packed else ".pt.trace.json"
    path = OUT / f"{name}_x{factor}{suffix}"
    if not path.is_file():
        make_shape(name, factor, path)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("shape", nargs="?", choices=SHAPES, default="integers")
    parser.add_argument("--factor", type=int, default=10, help="of 35 MB (default: 10)")
    parser.add_argument("--list", action="store_true", help="tell the shapes and what they are")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{name:<14} {shape.about}" for name, shape in SHAPES.items()))
    else:
        print(shape_of(options.shape, options.factor))
