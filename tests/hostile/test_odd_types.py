"""Values of any type in a header and in the arguments of events: every view, every advice and
every output of the trace answers, and the report tells of what was wrong.

Cases: each key of the header and each argument, with every odd value; one odd rank among good ones,
read whole and from a summary.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest

from tests.importers.kineto.test_header_types import ODD, WHOLE, paths, with_odd
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.header_types import typed_header
from torch_tb_profiler.loading.ingest.summaries import load_summary, save_summary
from torch_tb_profiler.loading.queries.views import run_view, trace_view
from torch_tb_profiler.reports import csv, markdown, terminal
from torch_tb_profiler.reports import json as json_report
from torch_tb_profiler.reports.chrome_trace import chrome_json
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.spec import PairView, ViewSpec

EVERYTHING = Selection()
ABOUT = Subject("run", "odd", "1", EVERYTHING)

ARGUMENTS: dict[str, dict[str, Any]] = {
    "cpu_op": {
        "External id": 1, "Input Dims": [[2, 3]], "Input type": ["float"], "Call stack": "a;b",
        "Concrete Inputs": ["", "", "1"], "Sequence number": 1, "Fwd thread id": 1,
        "Record function id": 1, "Module Hierarchy": "TOP(A)::forward",
        "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 6, "Out msg nelems": 6,
        "Group size": 2, "Process Group Name": "0", "Process Group Description": "default_pg",
        "Process Group Ranks": "[0, 1]", "Seq": 1, "Src Rank": 0, "Dst Rank": 1,
        "Is asynchronized op": False, "python_caller_id": 1,
    },
    "cuda_runtime": {"correlation": 1, "External id": 1, "cbid": 211},
    "kernel": {
        "correlation": 1, "External id": 1, "device": 0, "stream": 7, "grid": [1, 1, 1],
        "block": [32, 1, 1], "registers per thread": 32, "shared memory": 0, "blocks per SM": 0.1,
        "warps per SM": 0.2, "est. achieved occupancy %": 5, "graph node id": 1, "bytes": 64,
        "occupancy": {"limitingFactors": ["REGS"]}, "Collective name": "allreduce",
        "In msg nelems": 6, "Group size": 2, "Process Group Ranks": "[0, 1]", "dtype": "Float",
        "Process Group Name": "0",
    },
    "gpu_memcpy": {"correlation": 2, "device": 0, "stream": 7, "bytes": 64,
                   "memory bandwidth (GB/s)": 1.5},
    "python_function": {"Python id": 1, "Python parent id": None, "Python module id": 1},
    "[memory]": {"Device Type": 1, "Device Id": 0, "Addr": 4096, "Bytes": 512,
                 "Total Allocated": 512, "Total Reserved": 1024},
    "counter": {"GPU power": 5},
    "process_sort_index": {"sort_index": 3},
    "process_labels": {"labels": "GPU 0"},
    "thread_name": {"name": "main"},
}  # fmt: skip
"""Kind of event → its arguments, as they should be."""

NAMES = {"cpu_op": "nccl:all_reduce", "cuda_runtime": "cudaLaunchKernel",
         "kernel": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "gpu_memcpy": "Memcpy HtoD",
         "python_function": "nn.Module: Net_0"}  # fmt: skip


CONTAINERS = (
    "ExtraInfo",
    "program_settings",
    "deviceProperties",
    "computeProperties",
    "distributedInfo",
    "pg_config",
    "ranks",
)


def _event(kind: str, start: int, args: dict[str, Any]) -> dict[str, Any]:
    if kind in NAMES:
        on_device = kind in ("kernel", "gpu_memcpy")
        where = {"pid": 0, "tid": 7} if on_device else {"pid": 1000, "tid": 1}
        times = {"ts": start, "dur": 4, "args": args}
        return {"ph": "X", "cat": kind, "name": NAMES[kind], **where, **times}
    phase = {"[memory]": "i", "counter": "C"}.get(kind, "M")
    return {"ph": phase, "name": kind, "pid": 1000, "tid": 1, "ts": start, "args": args}


def _events(odd: object = None) -> list[dict[str, Any]]:
    """Every kind of event, and one more for each of its arguments, with ``odd`` in its place."""
    good = list(ARGUMENTS.items())
    wrong = [(kind, {**args, key: odd}) for kind, args in good for key in args]
    chosen = good if odd is None else good + wrong
    step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1000, "tid": 1}
    events = [_event(kind, 20 + 5 * row, args) for row, (kind, args) in enumerate(chosen)]
    return [{**step, "ts": 10, "dur": 900, "args": {}}, *events]


def _trace(header: dict[str, Any], events: list[dict[str, Any]]) -> Trace:
    text = json.dumps({**header, "traceEvents": events}).encode()
    return build_trace(import_trace([text], name="odd.json"))


def _show(trace: Trace, views: Iterable[ViewSpec] | None = None) -> None:
    """Views of a trace, with all advice, alone, as a run and against itself; without ``views``
    every one there is."""
    b"".join(chrome_json(trace, EVERYTHING))
    for spec in views or all_views().values():
        if spec.missing(trace) is None:
            view = _view(spec, trace, EVERYTHING)
            json_report.dumps(ViewResult(spec, view, ABOUT))


def _show_for_people(trace: Trace) -> None:
    """Every view that there is for the trace, with every grouping, as text."""
    for spec in (spec for spec in all_views().values() if spec.missing(trace) is None):
        for group_by in spec.group_bys or (None,):
            view = _view(spec, trace, Selection(group_by=group_by))
            markdown.dumps(spec, view, "odd")
            terminal.dumps(spec, view, "odd")
            for table in view.tables.values():
                csv.dumps(table)


def _view(spec: ViewSpec, trace: Trace, selection: Selection) -> View:
    if spec.scope == "trace":
        return trace_view(spec, trace, selection)
    if spec.scope == "run":
        return run_view(spec, {"odd": trace}, selection)
    return cast(PairView, spec.function)(trace, selection, trace, selection)


def _odd_headers() -> Iterator[dict[str, Any]]:
    """A header with an odd value in all its plain places, and one for each place of a list or an
    object, where it is read as something that is not just absent."""
    plain = [place for place in paths() if place[-1] not in CONTAINERS]
    for odd in ODD.values():
        header = deepcopy(WHOLE)
        for place in plain:
            inner: Any = header
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = odd
        yield header
    seen = set()
    for place in paths():
        for odd in ODD.values() if place[-1] in CONTAINERS else ():
            header = with_odd(place, odd)
            typed = json.dumps(typed_header(header, QualityReport()))
            if typed not in seen:
                yield header
            seen.add(typed)


def test_views_answer_whatever_a_header_holds() -> None:
    headers = list(_odd_headers())
    assert len(headers) > 30
    # Each kind of odd value meets every view, though not at every place: that is two thirds of
    # the time of all.
    views = list(all_views().values())
    for number, header in enumerate(headers):
        _show(_trace(header, _events()), [views[0], *views[number % 3 :: 3]])


@pytest.mark.parametrize("name", ODD)
def test_views_answer_whatever_arguments_hold(name: str) -> None:
    events = _events(ODD[name])
    trace = _trace(WHOLE, events)
    assert trace.slices.height == sum(event["ph"] == "X" for event in events)
    _show(trace)


def test_outputs_for_people_hold_whatever_arguments_hold() -> None:
    for name in ("true", "1.5", "[[1]]", "long"):
        _show_for_people(_trace(with_odd(("host_name",), "\x1b[31m"), _events(ODD[name])))


def test_every_number_that_is_none_is_told_of() -> None:
    numbers = {
        field.key: field.default
        for fields in (structs.LINK_FIELDS, structs.DEVICE_FIELDS, structs.MEMORY_FIELDS,
                       structs.COLLECTIVE_FIELDS, structs.PYTHON_FIELDS, structs.OPERATOR_FIELDS)
        for field in fields.values()
        if isinstance(field.default, (int, float))
    }  # fmt: skip
    for kind, args in ARGUMENTS.items():
        for key in numbers.keys() & set(args):
            odds = [True, "x", [True], {}]
            odds += [2**70, -(2**70)] if isinstance(numbers[key], int) else []
            good = _event(kind, 20, args | {key: 1})
            wrong = [_event(kind, 30 + row, args | {key: odd}) for row, odd in enumerate(odds)]
            quality = _trace({}, [good, *wrong]).quality
            assert quality.counts.get("argument_value") == len(odds), (kind, key)
            assert quality.examples["argument_value"][0] == f"{key}: true"


@pytest.mark.parametrize("is_summary", [False, True], ids=["whole", "summary"])
def test_one_odd_rank_costs_the_others_nothing(tmp_path: Path, is_summary: bool) -> None:
    good = {name: _trace(_rank(number), _events()) for number, name in enumerate(("r0", "r1"))}
    headers = [header for header in _odd_headers() if header["deviceProperties"]]
    for number, header in enumerate(headers[is_summary::2]):
        odd = _trace(header, _events())
        if is_summary:
            folder = tmp_path / str(number)
            folder.mkdir()
            save_summary(odd, folder)
            odd = load_summary(folder)
        view = run_view(all_views()["distributed"], {**good, "odd": odd}, EVERYTHING)
        assert set(view.tables["overlap"].frame["worker"]) == {"r0", "r1", "odd"}


def _rank(number: int) -> dict[str, Any]:
    return with_odd(("distributedInfo", "rank"), number)
