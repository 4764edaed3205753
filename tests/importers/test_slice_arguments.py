"""Rows of the table ``arguments``, from readers to the built trace and the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.traces import columns, kernel, op
from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.importers.cutting import RecordedTimes as Times
from torch_tb_profiler.importers.cutting import Window, cut, keep_slices
from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.limiting import keep_within_budget
from torch_tb_profiler.importers.slice_arguments import ArgumentRows, add_arguments, one_argument
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.cache import load_trace, save_trace
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.model import Trace, schema_of

GIVEN: dict[str, dict[str, Any]] = {
    "c": {"waves": 12.0, "queued": "yes"},
    "b": {"waves": 3.0},
    "a": {"queued": "no", "big": str(2**60 + 1)},
}


def events() -> EventColumns:
    """Kernels a, b and c, the last one first in the file, with the arguments of ``GIVEN``."""
    built = columns([kernel("c", 30, 5), kernel("b", 20, 5), op("x", 0, 50), kernel("a", 10, 5)])
    texts = Interner((text, code) for code, text in enumerate(built.strings))
    rows = ArgumentRows(texts.__getitem__)
    rows.add(0, "waves", 12)
    rows.add(0, "queued", "yes")
    rows.add(0, "queued", None)
    rows.add(0, "waves", float("nan"))
    rows.add(3, "queued", "no")
    rows.add(3, "big", 2**60 + 1)
    waves = one_argument(np.array([1]), texts["waves"], values=np.array([3.0]))
    built.strings[:] = list(texts)
    add_arguments(built, [rows.table(), waves])
    return built


def given(trace: Trace) -> dict[str, dict[str, Any]]:
    """Arguments by name of the slice, as ``GIVEN``."""
    assert trace.arguments.schema == schema_of("arguments")
    assert trace.arguments["slice"].is_sorted()
    read: dict[str, dict[str, Any]] = {}
    for row in trace.arguments.iter_rows(named=True):
        name = trace.text(trace.slices["name_code"][row["slice"]])
        key, text = trace.text(row["key_code"]), trace.text(row["text_code"])
        assert name is not None
        assert key is not None
        assert (row["value"] is None) != (text is None)
        read.setdefault(name, {})[key] = row["value"] if text is None else text
    return read


def test_arguments_follow_their_slices(tmp_path: Path) -> None:
    built = build_trace(events())
    assert given(built) == GIVEN
    save_trace(built, tmp_path)
    assert given(load_trace(tmp_path)) == GIVEN


def test_a_recording_without_arguments_has_an_empty_table() -> None:
    built = build_trace(columns([kernel("a", 0, 1)]))
    assert built.arguments.is_empty()
    assert built.arguments.schema == schema_of("arguments")


def test_a_value_is_a_number_or_a_text() -> None:
    with pytest.raises(TypeError, match="list"):
        ArgumentRows(Interner().__getitem__).add(0, "dims", [1, 2])


def test_arguments_of_slices_that_are_left_out_are_left_out() -> None:
    cut_off = cut(events(), Window(19_000, 29_000, 29_000), Times(0, 50_000, ()), "x.json")
    assert given(build_trace(cut_off)) == {"b": GIVEN["b"]}
    whole = events()
    keep_slices(whole, np.array([True, False, True, True]))
    assert given(build_trace(whole)) == {"c": GIVEN["c"], "a": GIVEN["a"]}


def test_a_deep_trace_loses_arguments_with_its_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "levels=1")
    deep = columns([op(name, at, 90 - 2 * at) for at, name in enumerate("pqr")])
    deep.strings.append("key")
    key = len(deep.strings) - 1
    add_arguments(deep, [one_argument(np.arange(3), key, values=np.array([1.0, 2.0, 3.0]))])
    assert given(build_trace(deep)) == {"p": {"key": 1.0}, "r": {"key": 3.0}}


def test_the_last_arguments_beyond_the_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "arguments=2")
    limited = events()
    keep_within_budget(limited)
    built = build_trace(limited)
    assert given(built) == {"c": GIVEN["c"]}
    assert built.quality.counts["arguments_left_out"] == 3


def test_the_rarest_names_beyond_the_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "argument_names=2")
    limited = events()
    keep_within_budget(limited)
    built = build_trace(limited)
    assert given(built) == {**GIVEN, "a": {"queued": "no"}}
    assert built.quality.counts["arguments_left_out"] == 1
