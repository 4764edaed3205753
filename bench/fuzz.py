"""Feeds damaged traces to the importer, the builder and the views, and tells what breaks.

Inputs are small traces, cut from ``samples/``, with bytes, tokens, values and whole events changed,
moved, doubled or gzipped. Every input is imported. Those whose outcome (refusal, or issues of the
quality report, tables and categories) is new become seeds themselves; the first thousands of them
and every n-th other input are built and shown in the views, too. An input fails when anything but
``TraceFormatError`` is raised, when it takes longer than ``--alarm-s``, or when the process grows
beyond ``--memory-mb``.

    python bench/fuzz.py --inputs 200000 --seed 1 --keep out/failures
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.loading.queries.views import trace_view
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.views.registry import all_views

ROOT = Path(__file__).resolve().parent.parent
VIEWS = ("overview", "operators", "kernels", "memory", "modules")
MAX_SEED_BYTES = 6000
MAX_SEEDS = 3000
MAX_NEW_SHOWN = 5000
"""Building and showing takes twenty times as long as importing; later only every n-th is shown."""

TOKENS = [
    b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\0", b"\xff", b"\n", b" ", b"null", b"true",
    b"NaN", b"-Infinity", b"1e400", b"-1", b"0", b"9" * 25, b"-" + b"9" * 19,
    b"9223372036854775807", b"1.5", b'""', b"{}", b"[]", b"[" * 60, b'{"a":' * 60, b'"\\ud800"',
    b"\\u0000", b'"N/A"',
    b'"ph":"B"', b'"ph":"E"', b'"ph":"M"', b'"ph":"C"', b'"ph":"s"', b'"ph":"i"', b'"cat":"kernel"',
    b'"cat":"python_function"', b'"cat":"cuda_runtime"', b'"cat":"gpu_memcpy"',
    b'"name":"[memory]"', b'"name":"ProfilerStep#7"', b'"traceEvents":[', b"]}", b"},{",
    b'"dur":-5', b'"ts":1e18', b'"correlation":1', b'"External id":1',
]  # fmt: skip
"""What JSON, and what the reader looks at, is made of."""


class _TookTooLongError(Exception):
    pass


def seeds() -> list[bytes]:
    """Small whole traces: the first events of each kind of every sample."""
    found = []
    for path in sorted((ROOT / "samples").glob("*/*.json*")):
        raw = path.read_bytes()
        try:
            document = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
            text = small_trace(document)
        except (ValueError, KeyError, TypeError):
            continue
        if len(text) <= 2 * MAX_SEED_BYTES:
            found.append(text)
    corpus = ROOT / "tests" / "fuzz" / "corpus"
    return found + [path.read_bytes() for path in sorted(corpus.glob("*.json*"))]


def small_trace(document: dict[str, Any]) -> bytes:
    """A trace with the first events of each kind of a decoded one."""
    kinds: Counter[tuple[str, str]] = Counter()
    chosen = []
    for event in document["traceEvents"]:
        kind = (
            (str(event.get("ph")), str(event.get("cat"))) if isinstance(event, dict) else ("", "")
        )
        kinds[kind] += 1
        if kinds[kind] <= 2:
            chosen.append(event)
    header = {key: value for key, value in document.items() if key != "traceEvents"}
    text = json.dumps({**header, "traceEvents": chosen}).encode()
    while len(text) > MAX_SEED_BYTES and len(chosen) > 4:
        chosen = chosen[::2]
        text = json.dumps({**header, "traceEvents": chosen}).encode()
    return text


def mutated(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """``data`` with one to six damages; ``other`` lends parts."""
    text = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        chance.choice(DAMAGES)(text, other, chance)
    if chance.random() < 0.03:
        packed = bytearray(gzip.compress(bytes(text), 1))
        if chance.random() < 0.7:
            chance.choice(DAMAGES[:3])(packed, other, chance)
        return bytes(packed)
    return bytes(text)


def _byte(text: bytearray, _: bytes, chance: random.Random) -> None:
    if text:
        text[chance.randrange(len(text))] = chance.randrange(256)


def _cut(text: bytearray, _: bytes, chance: random.Random) -> None:
    start = chance.randrange(len(text) + 1)
    length = chance.choice((1, 3, 20, 200, len(text)))
    del text[start : start + length]


def _token(text: bytearray, _: bytes, chance: random.Random) -> None:
    at = chance.randrange(len(text) + 1)
    text[at:at] = chance.choice(TOKENS)


def _value(text: bytearray, _: bytes, chance: random.Random) -> None:
    """Replace what follows a colon by a token."""
    colon = text.find(b":", chance.randrange(len(text) + 1))
    if colon < 0:
        return
    ends = [end for end in (text.find(b",", colon), text.find(b"}", colon)) if end >= 0]
    text[colon + 1 : min(ends, default=len(text))] = chance.choice(TOKENS)


def _double(text: bytearray, _: bytes, chance: random.Random) -> None:
    start = chance.randrange(len(text) + 1)
    part = bytes(text[start : start + chance.choice((5, 50, 500))])
    at = chance.randrange(len(text) + 1)
    text[at:at] = part * chance.choice((1, 1, 2, 30 if len(part) <= 50 else 2))


def _splice(text: bytearray, other: bytes, chance: random.Random) -> None:
    start = chance.randrange(len(other) + 1)
    at = chance.randrange(len(text) + 1)
    text[at : at + chance.choice((0, 100))] = other[start : start + chance.choice((50, 500))]


def _swap_digits(text: bytearray, _other: bytes, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 5, 40))):
        at = chance.randrange(len(text)) if text else 0
        if text and chr(text[at]).isdigit():
            text[at] = ord(chance.choice("0123456789-.e"))


DAMAGES: list[Callable[[bytearray, bytes, random.Random], None]] = [
    _byte, _cut, _token, _value, _value, _double, _splice, _swap_digits,
]  # fmt: skip


def outcome(data: bytes, show: Callable[[object], bool]) -> object:
    """Import ``data``, and build and show it when ``show`` says so of what came out.

    Raises:
        Exception: whatever is a failure.
    """
    try:
        columns = import_trace([data], name="input")
    except TraceFormatError as error:
        return error.code
    tables = tuple(
        sorted(name for name, table in columns.tables.items() if next(iter(table.values())).size)
    )
    kinds = tuple(sorted(set(columns.tables["slices"]["category"].tolist())))
    found = (tables, kinds, tuple(sorted(columns.quality.counts)))
    if show(found):
        trace = build_trace(columns)
        views = all_views()
        for name in VIEWS:
            if views[name].missing(trace) is None:
                trace_view(views[name], trace, Selection())
    return found


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise :class:`_TookTooLongError` inside after some seconds."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise _TookTooLongError(f"took more than {seconds} s")

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def fuzz(inputs: int, seed: int, show_each: int, alarm_s: float, keep: Path) -> int:
    """Run; print figures; return how many different failures there were."""
    chance = random.Random(seed)
    pool = seeds()
    known: set[object] = set()
    failures: Counter[str] = Counter()
    shown = 0
    started_s = time.perf_counter()
    slowest_s = 0.0
    for number in range(inputs):
        data = mutated(chance.choice(pool), chance.choice(pool), chance)

        def show(found: object, number: int = number) -> bool:
            nonlocal shown
            is_new = found not in known and len(known) < MAX_NEW_SHOWN
            wanted = is_new or number % show_each == 0
            shown += wanted
            return wanted

        begun_s = time.perf_counter()
        try:
            with alarm(alarm_s):
                found = outcome(data, show)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            last = ([frame for frame in frames if "torch_tb" in frame.filename] or frames)[-1]
            sign = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
            failures[sign] += 1
            if failures[sign] == 1:
                print(f"FAILED {sign}: {str(error)[:200]}", flush=True)
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"failure_{seed}_{number}.json").write_bytes(data)
            continue
        slowest_s = max(slowest_s, time.perf_counter() - begun_s)
        if found not in known:
            known.add(found)
            if len(pool) < MAX_SEEDS and len(data) <= 4 * MAX_SEED_BYTES:
                pool.append(data)
    wall_s = time.perf_counter() - started_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{inputs} inputs (seed {seed}), {shown} of them built and shown, {len(known)} different "
        f"outcomes, {len(failures)} different failures, {wall_s:.0f} s, slowest "
        f"{slowest_s * 1000:.0f} ms, peak memory {peak_mb:.0f} MiB"
    )
    return len(failures)


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show-each", type=int, default=50, help="show every n-th input in views")
    parser.add_argument("--alarm-s", type=float, default=10.0)
    parser.add_argument("--memory-mb", type=int, default=4096, help="address space of the process")
    parser.add_argument("--keep", type=Path, default=ROOT / "bench" / "out" / "fuzz")
    given = parser.parse_args()
    limit = given.memory_mb << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return fuzz(given.inputs, given.seed, given.show_each, given.alarm_s, given.keep) and 1


if __name__ == "__main__":
    sys.exit(main())
