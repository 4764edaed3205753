"""Files made to hurt: each costs a bounded time and harms nothing but itself.

Cases: what the importer keeps around the damage is compared with the undamaged events; times are
generous limits that only work growing faster than the input exceeds.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import run_detectors
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.storage.decompress import RATIO_FROM_BYTES, RATIO_VARIABLE
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.kernels.view import kernels
from torch_tb_profiler.views.memory.view import memory
from torch_tb_profiler.views.modules.view import modules
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.overview.view import overview

GOOD = 20
LIMIT_S = 30.0
"""Far above what any takes: a hang fails, a busy machine does not."""


def _event(number: int, **more: Any) -> dict[str, Any]:
    base = {"ph": "X", "cat": "cpu_op", "name": f"op{number}", "pid": 1, "tid": 1}
    return {**base, "ts": number * 10, "dur": 5, **more}


GOOD_TEXT = ",".join(json.dumps(_event(number)) for number in range(GOOD))
START = '{"ph":"X","cat":"cpu_op","pid":1,"tid":1,"ts":7,"dur":1,'


def _between(text: str) -> bytes:
    """A trace with ``text`` between twice the good events."""
    return f'{{"traceEvents":[{GOOD_TEXT},{text},{GOOD_TEXT}]}}'.encode()


def _read(data: bytes) -> EventColumns:
    chunks = (data[at : at + (1 << 20)] for at in range(0, len(data), 1 << 20))
    return import_trace(chunks, name="hostile.json")


def _show(columns: EventColumns) -> Trace:
    trace = build_trace(columns)
    for view in (overview, operators, kernels, memory, modules):
        view(trace, Selection())
    run_detectors(trace, Selection())
    return trace


def _good(trace: Trace) -> int:
    names = {f"op{number}" for number in range(GOOD)}
    return sum(trace.text(code) in names for code in trace.slices["name_code"])


BETWEEN: dict[str, Callable[[], str]] = {
    "deep list in args": lambda: START + '"args":{"x":' + "[" * 100_000 + "]" * 100_000 + "}}",
    "deep object": lambda: START + '"args":{"x":' + '{"a":' * 100_000 + "1" + "}" * 100_001 + "}",
    "deep name": lambda: START + '"name":' + "[" * 100_000 + "]" * 100_000 + "}",
    "long name": lambda: START + '"name":"' + "a" * 10_000_000 + '"}',
    "long category": lambda: START + '"name":"q","cat":"' + "a" * 10_000_000 + '"}',
    "long call stack": lambda: (
        START + '"name":"q","args":{"Call stack":"' + "a.py(1): f;" * 900_000 + '"}}'
    ),
    "long module hierarchy": lambda: (
        START + '"name":"q","args":{"Module Hierarchy":"' + "n" * 250_000 + '"}}'
    ),
    "long list": lambda: (
        START + '"name":"q","args":{"Input Dims":[' + "[1,2]," * 1_500_000 + "[]]}}"
    ),
    "long damaged events": lambda: ",".join(
        ['{"name": "q" "x": [' + '{"z": [{"a": 1}], "k": 2},' * 40_000 + '0], "ts": 1}'] * 3
    ),
    "duplicate keys": lambda: START + '"name":"q","pid":2,"ts":3,"ts":4,"name":"r"}',
    "lone surrogates": lambda: START + '"name":"a\\ud800b","args":{"Call stack":"\\udfff"}}',
    "integers beyond 64 bits": lambda: (
        START + f'"name":"q","dur":{"9" * 30},"args":{{"External id":{"9" * 5000}}}}}'
    ),
    "times beyond 64 bits": lambda: START + f'"name":"q","ts":{"9" * 40}}}',
    "no numbers": lambda: START + '"name":"q","ts":NaN},' + START + '"name":"q","dur":-Infinity}',
    "absurd durations": lambda: START + '"name":"q","dur":-5},' + START + '"name":"q","dur":1e300}',
    "empty events": lambda: ",".join(["{}"] * 200_000),
    "quotes without end": lambda: START + '"name":"' + 'a" ' * 3_000_000 + '"}',
    "blanks": lambda: "{}" + " " * 5_000_000 + "{}",
}


@pytest.mark.parametrize("case", BETWEEN)
def test_what_stands_around_is_kept(case: str) -> None:
    start_s = time.perf_counter()

    columns = _read(_between(BETWEEN[case]()))
    trace = _show(columns)

    assert _good(trace) == 2 * GOOD
    assert time.perf_counter() - start_s < LIMIT_S
    assert max(map(len, columns.strings)) <= 1 << 18


def _mass(count: int, make: Callable[[int], dict[str, Any]]) -> bytes:
    return json.dumps({"traceEvents": [make(number) for number in range(count)]}).encode()


def _launches(number: int) -> dict[str, Any]:
    args = {"device": number, "stream": 7, "correlation": number}
    return _event(number, cat="kernel", name=f"k{number}", pid=number, args=args)


MASSES: dict[str, Callable[[], bytes]] = {
    "garbage": lambda: b'{"traceEvents":[' + b'},{"ph":' * 300_000 + b"]}",
    "escaped quotes before the events": lambda: (
        b'{"a":"x" ' + b'\\"' * 500_000 + b'"traceEvents":[' + GOOD_TEXT.encode() + b"]}"
    ),
    "objects without a comma": lambda: b'{"traceEvents":[' + b"{}" * 1_000_000 + b"]}",
    "begins and ends crossed": lambda: _mass(
        60_000, lambda i: _event(i, ph="BE"[i >= 30_000], name=f"x{i % 30_000}")
    ),
    "begins on many threads": lambda: _mass(60_000, lambda i: _event(i, ph="B", tid=i)),
    "as many devices as kernels": lambda: _mass(5_000, _launches),
    "steps": lambda: _mass(
        20_000, lambda i: _event(i, cat="user_annotation", name=f"ProfilerStep#{i}")
    ),
    "names of kernels": lambda: _mass(
        30_000, lambda i: {**_launches(i), "pid": 0, "args": {"device": 0, "stream": 7}}
    ),
    "modules in modules": lambda: _mass(
        8_000,
        lambda i: _event(
            i,
            cat="python_function",
            name=f"nn.Module: A_{i}",
            ts=i,
            dur=100_000 - 2 * i,
            args={"Python id": i, "Python parent id": i - 1, "Python module id": i},
        ),
    ),
}


@pytest.mark.parametrize("case", MASSES)
def test_masses_cost_time_by_their_size_only(case: str) -> None:
    data = MASSES[case]()
    start_s = time.perf_counter()

    _show(_read(data))

    assert time.perf_counter() - start_s < LIMIT_S


def test_a_bomb_says_what_it_is() -> None:
    bomb = gzip.compress(b'{"traceEvents":[' + b" " * (RATIO_FROM_BYTES + (4 << 20)), 6)

    with pytest.raises(TraceFormatError) as error:
        _read(bomb)

    assert error.value.code == "unpacks_too_far"
    assert error.value.message.startswith("hostile.json unpacks to more than")
    assert RATIO_VARIABLE in error.value.hint


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"[" * 1_000_000, "not_a_trace"),
        (b'{"a":' * 1_000_000, "no_events"),
        (b"\0" * 1_000_000, "not_json"),
        (b'{"a":"' + b"a" * 40_000_000 + b'","traceEvents":[]}', "no_events"),
    ],
    ids=["lists", "objects", "nulls", "header"],
)
def test_what_is_no_trace_is_refused_at_once(data: bytes, code: str) -> None:
    start_s = time.perf_counter()

    with pytest.raises(TraceFormatError) as error:
        _read(data)

    assert error.value.code == code
    assert time.perf_counter() - start_s < LIMIT_S
