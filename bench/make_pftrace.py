"""Writes a ``.pftrace`` of N events in the shape that PyTorch 2.14 writes: host slices with shapes,
launches, kernels as render stages, counters, by the tests' encoder: no torch is needed.

    .venv/bin/python bench/make_pftrace.py big.pftrace --events 1000000
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.importers.protobuf.encode import field, message

BASE_NS = 1_790_857_026 * 10**9
OPERATORS = 60
KERNELS = 40
LAUNCH_EVERY = 3
COUNTER_EVERY = 20
BATCH = 20_000
HOST_CATEGORIES = {1: "cpu_op", 2: "cuda_runtime"}
STAGES = {1: "Kernel", 100: "[07] stream 7"}
ARGUMENTS = {1: "registers_per_thread", 2: "shared_mem_dynamic", 3: "thread_count"}
EVENTS_PER_OPERATOR = 1 + 2 / LAUNCH_EVERY + 1 / COUNTER_EVERY


def packet(*fields: tuple[int, int | float | str | bytes]) -> bytes:
    """One packet of the one sequence."""
    return field(1, message(*fields, (10, 1)))


def head() -> Iterator[bytes]:
    """Clocks, tracks and every interned text."""
    clocks = [(1, message((1, clock), (2, BASE_NS))) for clock in (6, 1)]
    yield packet((8, BASE_NS), (6, message(*clocks)))
    yield packet((60, message((1, 1), (3, message((1, 77), (6, "python"))))))
    thread = message((1, 77), (2, 78), (5, "thread 78 (python)"))
    yield packet((60, message((1, 2), (5, 1), (4, thread))))
    counters = message((1, message((1, 0), (2, "Power (W)"))))
    names = [*(f"aten::operator_{n}" for n in range(OPERATORS)), "cudaLaunchKernel"]
    names += [f"void kernel_{n}<float, {n}>(float*, int)" for n in range(KERNELS)]
    interned = [(2, message((1, iid), (2, name))) for iid, name in enumerate(names, 1)]
    interned += [(1, message((1, iid), (2, word))) for iid, word in HOST_CATEGORIES.items()]
    interned += [(24, message((1, iid), (2, name))) for iid, name in STAGES.items()]
    interned += [(1001, message((1, iid), (2, name))) for iid, name in ARGUMENTS.items()]
    interned += [(47, message((1, 1), (3, 0), (2, counters)))]
    yield packet((13, 1), (12, message(*interned)))


def shapes(number: int) -> bytes:
    """The sizes of two tensors, as nested lists."""
    sizes = [(32, 64 * (number % 40 + 1)), (64 * (number % 40 + 1), 128)]
    tensors = [(12, message(*((12, field(4, size)) for size in each))) for each in sizes]
    return message((10, "Input Dims"), *tensors)


def begin(number: int, at: int) -> bytes:
    """The begin of an operator."""
    types = [(12, field(6, "float"))] * 2
    arguments = [
        message((10, "Ev Idx"), (4, number)),
        message((10, "External id"), (4, number + 1)),
        shapes(number),
        message((10, "Input type"), *types),
        message((10, "Record function id"), (4, 0)),
    ]
    name = number % OPERATORS + 1
    event = message((9, 1), (11, 2), (10, name), (3, 1), *((4, each) for each in arguments))
    return packet((8, at), (13, 2), (11, event))


def launch(number: int, at: int) -> bytes:
    """The begin of a launch."""
    arguments = [message((10, "cbid"), (4, 211)), message((10, "correlation"), (4, number))]
    event = message(
        (9, 1), (11, 2), (10, OPERATORS + 1), (3, 2), (3000, field(1, number)),
        *((4, each) for each in arguments),
    )  # fmt: skip
    return packet((8, at), (13, 2), (11, event))


def end(at: int) -> bytes:
    """The end of the slice that is next in order."""
    return packet((8, at), (11, message((9, 2), (11, 2))))


def kernel(number: int, at: int) -> bytes:
    """A kernel as a render stage."""
    grid, block = message((1, number % 100 + 1), (2, 1), (3, 1)), message((1, 128), (2, 1), (3, 1))
    values = {1: 32 + number % 8, 2: 1024, 3: 128}
    launched = message(
        (1, grid), (2, block), *((3, message((1, iid), (4, v))) for iid, v in values.items())
    )
    extra = {
        "device id": "0", "context id": "1", "stream id": "7", "correlation": str(number),
        "channel": "3", "channel_type": "1", "process_id": "77", "process_name": "python",
    }  # fmt: skip
    stage = message(
        (1, number), (2, 900), (11, 0), (13, 100), (14, 1), (5, 1),
        (20, OPERATORS + 2 + number % KERNELS), (21, launched),
        *((6, message((1, key), (2, value))) for key, value in extra.items()),
    )  # fmt: skip
    return packet((8, at), (13, 2), (53, stage))


def packets(operators: int) -> Iterator[bytes]:
    """All packets, in blocks of begins and then their ends."""
    yield from head()
    for first in range(0, operators, BATCH):
        numbers = range(first, min(first + BATCH, operators))
        yield b"".join(begin(n, BASE_NS + 2000 * n) for n in numbers)
        yield b"".join(end(BASE_NS + 2000 * n + (7900 if n % 4 == 0 else 1500)) for n in numbers)
        launches = numbers[::LAUNCH_EVERY]
        yield b"".join(launch(n + 1, BASE_NS + 2000 * n + 100) for n in launches)
        yield b"".join(end(BASE_NS + 2000 * n + 700) for n in launches)
        yield b"".join(kernel(n + 1, BASE_NS + 2000 * n + 800) for n in launches)
        for n in numbers[::COUNTER_EVERY]:
            value = message((1, 0), (3, 300.0 + n % 9))
            event = message((4, 1), (2, value))
            yield packet((8, BASE_NS + 2000 * n), (13, 2), (52, event))


def write(path: Path, events: int) -> int:
    """Write a trace of about so many events; return how many bytes it has unpacked."""
    size = 0
    is_packed = path.suffix == ".gz"
    with gzip.open(path, "wb", compresslevel=1) if is_packed else path.open("wb") as file:
        for part in packets(round(events / EVENTS_PER_OPERATOR)):
            file.write(part)
            size += len(part)
    return size


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="ends with .pftrace or .pftrace.gz")
    parser.add_argument("--events", type=int, default=1_000_000)
    options = parser.parse_args()
    print(f"{write(options.path, options.events) / 1e6:.0f} MB unpacked")


if __name__ == "__main__":
    main()
