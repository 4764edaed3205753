"""A recording twice in a row, the second time twice as slow: what every table must say then."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

import pytest

from tests.helpers.traces import trace as build
from tests.reference.modules import Modules
from tests.reference.test_reports import FILES, MEASURES, OWN_KEYS, Row, rows
from tests.reference.walk import Event, Walk
from tests.views import reference
from torch_tb_profiler.analysis.steps.iterations.split import split_iterations
from torch_tb_profiler.trace.model import Trace

KEY = "batch"
"""A range that is there once in every step."""

SLOWER = 2
EACH = {"total": 1 + SLOWER, "mean": (1 + SLOWER) / 2, "min": 1, "max": SLOWER}
"""Figure over both → how many times that of the first."""


def again(events: list[Event], offset_us: float) -> list[Event]:
    """The same a second time: later, slower, with ids and a step of its own."""
    origin = min(event["ts"] for event in events)
    found = copy.deepcopy(events)
    for event in found:
        event["ts"] = offset_us + (event["ts"] - origin) * SLOWER
        event["dur"] *= SLOWER
        if event["name"].startswith("ProfilerStep#"):
            event["name"] = "ProfilerStep#7"
        args: dict[str, Any] = event.get("args", {})
        for key in ("correlation", "External id", "Python id", "Python parent id"):
            if args.get(key) is not None:
                args[key] += 10**7
    return found


@lru_cache
def twice() -> tuple[Trace, Walk]:
    """Both, and the walk over the first."""
    once = [
        event
        for event in reference.load(FILES["inference"])
        if event.get("ph") == "X" and event["cat"] not in ("Trace", "overhead")
    ]
    origin = min(event["ts"] for event in once)
    for event in once:  # whole ns, so that nothing is rounded when it is doubled
        event["ts"] = round((event["ts"] - origin) * 1000) / 1000
        event["dur"] = round(event["dur"] * 1000) / 1000
    step = next(event for event in once if event["name"].startswith("ProfilerStep#"))
    once.append({**step, "name": KEY, "ts": step["ts"] + 0.001, "dur": step["dur"] - 0.001})
    end = max(event["ts"] + event["dur"] for event in once)
    second = again(once, end + 1000)
    return build([*copy.deepcopy(once), *second]), Walk(once)


def assert_figures(row: Row, measure: str, first_ns: float) -> None:
    for word, times in EACH.items():
        key = f"{measure}_{word}_us"
        shown = row[key] if key in row else row[OWN_KEYS[key]]
        assert shown == pytest.approx(first_ns * times / 1000, abs=2e-3), (row, key)


def test_groups_per_iteration() -> None:
    recorded, walk = twice()
    groups = {row["path"]: row for row in rows(recorded, "groups", "groups", "modules")
              if row["kind"] == "group"}  # fmt: skip
    expected = Modules(walk).times()
    assert set(groups) == set(expected)
    for path, times in expected.items():
        assert (groups[path]["calls"], groups[path]["iterations"]) == (2 * times.calls, 2)
        values = (times.cpu, times.gpu, times.overhead, times.idle)
        for measure, value in zip(MEASURES, values, strict=True):
            assert_figures(groups[path], measure, value)


def test_operators_at_their_places_are_those_of_the_other_iteration() -> None:
    recorded, walk = twice()
    operators = {
        row["name"].removeprefix(f"/{KEY}"): row
        for row in rows(recorded, "operators", "operators", "path")
        if row["kind"] == "operator"
    }
    expected = walk.times(Modules(walk).path)
    assert set(operators) == set(expected)
    for path, times in expected.items():
        assert operators[str(path)]["calls"] == 2 * times.calls
        for measure, figures in zip(MEASURES, times[1:], strict=True):
            total = operators[str(path)][OWN_KEYS.get(f"{measure}_total_us", f"{measure}_total_us")]
            assert total == pytest.approx(figures.total * EACH["total"] / 1000, abs=2e-3)


def test_iterations_have_their_own() -> None:
    recorded, walk = twice()
    first, second = rows(recorded, "iterations", "iterations")
    assert (first["iteration"], second["iteration"]) == (6, 7)
    assert first["kernels"] == second["kernels"] == len(walk.kernel_calls()) - 1
    parts = ("tensor_core_us", "other_kernels_us", "memory_us", "gpu_time_mean_us")
    for key in parts:
        assert second[key] == pytest.approx(SLOWER * first[key])
    for row in (first, second):
        moments = sum(row[key] for key in (*parts[:3], "cpu_us", "other_us"))
        assert moments == pytest.approx(row["duration_us"])


TABLES = {
    "groups": ("groups", "modules"),
    "operators": ("operators", "name"),
    "operator_types": ("operator_types", None),
    "kernels": ("kernels", None),
}


@pytest.mark.parametrize("view", TABLES)
def test_a_key_node_once_in_every_step_cuts_as_the_steps_do(view: str) -> None:
    """It ends with its step; what is behind the last one is an iteration of its own. Work between
    the steps is of one: in no group, and outside of all."""
    recorded, _ = twice()
    table, group_by = TABLES[view]
    by_steps = rows(recorded, view, table, group_by)
    by_key = rows(split_iterations(recorded, f"name:{KEY}"), view, table, group_by, steps="0:1")
    assert _without_outside(by_key) == _without_outside(by_steps)


def _without_outside(found: list[Row]) -> list[Row]:
    return [row for row in found if row.get("kind") != "outside"]
