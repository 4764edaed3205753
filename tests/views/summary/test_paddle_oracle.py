"""Our summary says what Paddle printed of its own recordings, cell by cell and in its order.

* ``oracle/w0`` and ``w2`` of the corpus: Paddle 3.3.1, loaders with 0 and 2 workers.
* ``nested``: Paddle 3.3.1: layers in layers, ranges in ranges of the same name, operators in
  operators, phases in phases, communication, memory, and a second thread.
* ``device``: made-up nodes of three threads and two GPUs (kernels, copies and memsets on several
  streams, memory of three places), read and printed by Paddle 2.6.2.
"""

from __future__ import annotations

import gzip
import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.importers.kineto.reference import read_bytes, read_file
from tests.views.summary.paddle_tables import Printed, numbers, peaks, tables
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.cli.summary_options import in_order, order_for_all
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.summary.view import SPEC, summary

DATA = Path(__file__).parents[2] / "data" / "paddle"
FIGURES = ("total_us", "mean_us", "max_us", "min_us", "pct")
NUMBER = 0.0051
"""Half of the last digit printed."""

ROUNDED = 0.0151
"""Likewise, and the few ns that starts of single precision in JSON lose."""

Row = dict[str, Any]


class Recording(NamedTuple):
    """A recording and what Paddle printed of it, threads merged and apart."""

    trace: Trace
    texts: dict[bool, str]
    within_us: float

    def ours(self, *, apart: bool) -> View:
        """Our tables, with the parts of operators where they were printed."""
        has_parts = any(row.indent for row in self.theirs(apart=apart)["Operator"])
        group_by = "name" + "+thread" * apart + "+parts" * has_parts
        return summary(self.trace, Selection(group_by=group_by))

    def theirs(self, *, apart: bool) -> dict[str, list[Printed]]:
        """Paddle's."""
        return tables(self.texts[apart])


NAMES = ("w0.json", "w0.pb", "w2.json", "w2.pb", "nested.json", "nested.pb", "device.pb")


@pytest.fixture(scope="module", params=NAMES)
def recording(request: pytest.FixtureRequest, corpus: Path) -> Recording:
    name, _, ending = str(request.param).partition(".")
    within = ROUNDED if ending == "json" else NUMBER
    endings = {False: "summary_us.txt", True: "summary_threads_us.txt"}
    if name.startswith("w"):
        folder = corpus / "paddle_3.3.1" / "oracle"
        trace = build_trace(read_file(folder / f"{name}.paddle_trace.{ending}"))
        texts = {
            apart: (folder / f"{name}.{each}").read_text("utf-8") for apart, each in endings.items()
        }
        return Recording(trace, texts, within)
    trace = build_trace(read_bytes(unpacked(f"{name}.paddle_trace.{ending}")))
    texts = {apart: unpacked(f"{name}.{each}").decode() for apart, each in endings.items()}
    return Recording(trace, texts, within)


def unpacked(name: str) -> bytes:
    return gzip.decompress((DATA / f"{name}.gz").read_bytes())


def rows_of(view: View, table: str) -> list[Row]:
    rows: list[Row] = view.tables[table].frame.rows(named=True)
    return rows


def differences(recording: Recording, row: Row, side: str, cell: str) -> Iterator[str]:
    """What differs of the five figures of a side; Paddle prints 0 for what is not known."""
    for figure, expected in zip(FIGURES, numbers(cell), strict=True):
        value = row[f"{side}_{figure}"]
        within = NUMBER if figure == "pct" else recording.within_us
        if value is None:
            if expected not in (None, 0):
                yield f"{row['name']}: {side} {figure} is null, not {expected}"
        elif expected is None or abs(value - expected) > within:
            yield f"{row['name']}: {side} {figure} is {value}, not {expected}"


def assert_calls(recording: Recording, own: list[Row], theirs: list[Printed]) -> None:
    """The same rows in the same order, with the same figures."""
    assert [row["name"] for row in own] == [row.name for row in theirs]
    assert [row["calls"] for row in own] == [row.calls for row in theirs]
    found = [
        text
        for row, printed in zip(own, theirs, strict=True)
        for side, cell in zip(("cpu", "gpu"), printed.cells[2:4], strict=True)
        for text in differences(recording, row, side, cell)
    ]
    assert found == []


def test_device(recording: Recording) -> None:
    own = [
        (row["device"], row["utilization_pct"])
        for row in rows_of(recording.ours(apart=False), "device")
    ]
    theirs = [(row.name, float(row.cells[1])) for row in recording.theirs(apart=False)["Device"]]
    assert [name for name, _ in own] == [name for name, _ in theirs]
    assert [pct for _, pct in own] == pytest.approx([pct for _, pct in theirs], abs=NUMBER)


def test_overview(recording: Recording) -> None:
    own = rows_of(recording.ours(apart=False), "overview")
    theirs = recording.theirs(apart=False)["Overview"]
    assert [(row["type"], row["calls"]) for row in own] == [(row.name, row.calls) for row in theirs]
    for row, printed in zip(own, theirs, strict=True):
        time, pct = map(float, printed.cells[2:])
        assert row["time_us"] == pytest.approx(time, abs=recording.within_us), row
        assert row["pct"] == pytest.approx(pct, abs=NUMBER), row


@pytest.mark.parametrize("apart", [False, True])
def test_calls(recording: Recording, apart: bool) -> None:
    view, theirs = recording.ours(apart=apart), recording.theirs(apart=apart)
    for table, title in (("model", "Model"), ("memory_manipulation", "Memory Manipulation")):
        assert_calls(recording, rows_of(view, table), theirs.get(title, []))
    own, printed = rows_of(view, "user_defined"), theirs.get("UserDefined", [])
    assert_calls(recording, own, printed)
    assert [row["thread"] for row in own] == [row.thread or "all" for row in printed]


@pytest.mark.parametrize("apart", [False, True])
def test_operators_with_their_parts(recording: Recording, apart: bool) -> None:
    own = rows_of(recording.ours(apart=apart), "operator")
    theirs = recording.theirs(apart=apart)["Operator"]
    if not any(row.indent for row in theirs):  # the corpus has them by mean
        own.sort(key=lambda row: -row["cpu_mean_us"])
    # Paddle cuts names of parts and adds dots.
    cut = [row._replace(cells=[_whole(row.name, each), *row.cells[1:]])
           for row, each in zip(theirs, own, strict=True)]  # fmt: skip
    assert_calls(recording, own, cut)
    depth: dict[str | None, int] = {None: -2}
    for row, printed in zip(own, theirs, strict=True):
        depth[row["path"]] = depth[row["parent"]] + 2
        assert (depth[row["path"]], row["thread"]) == (printed.indent, printed.thread)


def _whole(printed: str, row: Row) -> str:
    is_cut = printed.endswith("...") and str(row["name"]).startswith(printed[:-3])
    return str(row["name"]) if is_cut else printed


def test_kernels(recording: Recording) -> None:
    own = rows_of(recording.ours(apart=False), "kernel")
    theirs = recording.theirs(apart=False).get("Kernel", [])
    assert [(row["name"], row["calls"]) for row in own] == [(row.name, row.calls) for row in theirs]
    for row, printed in zip(own, theirs, strict=True):
        assert list(differences(recording, row, "gpu", printed.cells[2])) == []


def test_distributed(recording: Recording) -> None:
    own = rows_of(recording.ours(apart=False), "distributed")
    theirs = recording.theirs(apart=False).get("Distribution", [])
    assert [row["name"] for row in own] == [row.name for row in theirs]
    for row, printed in zip(own, theirs, strict=True):
        total, pct = map(float, printed.cells[1:])
        assert (row["total_us"] or 0) == pytest.approx(total, abs=recording.within_us)
        assert (row["pct"] or 0) == pytest.approx(pct, abs=NUMBER)


def test_memory(recording: Recording) -> None:
    """Equal to the byte, row by row."""
    view, theirs = recording.ours(apart=False), recording.theirs(apart=False)
    places = {label(title): rows for title, rows in theirs.items() if title.startswith("Memory ")
              and title != "Memory Manipulation"}  # fmt: skip
    assert places
    own: dict[str, list[list[Any]]] = {}
    for device, name, kind, *sizes in view.tables["memory"].frame.select(
        "device", "name", "type", "allocation_count", "free_count", "allocation_bytes",
        "free_bytes", "increase_bytes",
    ).rows():  # fmt: skip
        own.setdefault(device, []).append([name, kind, *sizes])
    assert own == {
        place: [[*row.cells[:2], *map(int, row.cells[2:])] for row in rows]
        for place, rows in places.items()
    }
    stated = {row[0]: row[1:] for row in view.tables["memory_peaks"].frame.rows()}
    assert stated == {label(place): found for place, found in peaks(recording.texts[False]).items()}


def label(title: str) -> str:
    """``"Memory gpu:0"`` → ``"GPU 0"``."""
    return title.removeprefix("Memory ").upper().replace(":", " ")


@pytest.mark.parametrize("ending", ["json", "pb"])
def test_orders(ending: str) -> None:
    """Every one of Paddle's ``SortedKeys``, under its own name and ours."""
    trace = build_trace(read_bytes(unpacked(f"nested.paddle_trace.{ending}")))
    orders = json.loads((DATA / "nested.orders.json").read_text("utf-8"))
    assert len(orders) == 8
    subject = Subject()
    result = ViewResult(SPEC, summary(trace, Selection()), subject)
    for key, expected in orders.items():
        for name in (key, f"{key[:3]}-{key[3:]}".lower()):
            order = order_for_all(SPEC, Namespace(sort=name, table=None))
            assert order is not None
            found = in_order(result, order).view
            for table, names in expected.items():
                assert [row["name"] for row in rows_of(found, table)] == names, (name, table)
