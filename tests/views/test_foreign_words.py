"""Texts about a recording use the words of its devices: no text of any view, finding or link about
a recording of one vendor's devices has another vendor's words (``tests/data/foreign_words.toml``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.consistency.recordings import FILES, opened
from tests.detectors.scenes import GEMM, awaited, device, launched, one_step
from tests.helpers.traces import Event, memcpy, op
from torch_tb_profiler.analysis.recording.device_terms import device_terms
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import evidence_tables
from torch_tb_profiler.knowledge.advice import entries
from torch_tb_profiler.knowledge.device_terms import DeviceTerms, device_kinds
from torch_tb_profiler.loading.queries.views import run_view, trace_view
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.device_words import missing_reason_of
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import TableSpec, View
from torch_tb_profiler.views.timeline.tracks import assign_tracks

DATA = Path(__file__).parents[1] / "data" / "foreign_words.toml"
WORDS: dict[str, dict[str, list[str]]] = msgspec.toml.decode(DATA.read_bytes())
PROSE_KEYS = ("title", "meaning", "remedy", "check", "reason", "text", "url", "device", "gpu")


def foreign_words(text: str, kind: DeviceTerms) -> list[str]:
    """The words of other vendors in a text."""
    words = WORDS[kind.name]
    own = text
    for word in words["same"]:
        own = re.sub(word, "", own)
    return [word for word in words["foreign"] if re.search(word, own)]


def declared(spec: TableSpec) -> Iterator[str]:
    yield from (spec.title, spec.help, spec.when_empty)
    for column in spec.columns:
        yield from (column.title, column.help)


def texts(view: View) -> Iterator[str]:
    yield view.answer or ""
    for table in view.tables.values():
        yield from declared(table.spec)
        yield from table.null_reasons.values()
        for key in PROSE_KEYS:
            if key in table.frame and str(table.frame.schema[key]) == "String":
                yield from table.frame[key].drop_nulls().unique().to_list()
    for series in view.series.values():
        yield from (series.title, series.x_title, series.y_title)
    for fact in view.facts:
        yield from (fact.title, fact.scope or "", fact.help, fact.reason or "")
    for note in view.notes:
        if "same_time" not in note.evidence:  # else it may quote names of the trace
            yield note.text
        yield str(note.evidence.get("title", ""))
        yield str(note.evidence.get("links", ""))
        yield from _inside(note.evidence.get("table"))


def _inside(value: object) -> Iterator[str]:
    """The texts of the declaration of a table, not its keys and units."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("title", "help", "null_reasons", "columns"):
                yield from [item] if isinstance(item, str) else _inside(item)
            elif isinstance(item, str) and " " in item:
                yield item
    elif isinstance(value, list):
        for item in value:
            yield from _inside(item)


def shown(trace: Trace) -> Iterator[tuple[str, str]]:
    """View → each text of it."""
    for spec in all_views().values():
        if spec.scope == "pair":
            continue
        reason = missing_reason_of(spec, trace)
        if reason is not None:
            yield spec.name, reason
        elif spec.scope == "trace":
            yield from ((spec.name, text) for text in texts(trace_view(spec, trace, Selection())))
        else:
            result = run_view(spec, {"rank0": trace}, Selection())
            yield from ((spec.name, text) for text in texts(result))
    yield from (("timeline", group.title) for group in assign_tracks(trace).groups)


def assert_own_words(trace: Trace, kind: DeviceTerms) -> None:
    odd = {
        (view, text): words for view, text in shown(trace) if (words := foreign_words(text, kind))
    }
    assert not odd, f"{len(odd)} texts:\n" + "\n".join(
        f"{k}: {v}" for k, v in list(odd.items())[:30]
    )


KINDS = pytest.mark.parametrize("kind", device_kinds().values(), ids=lambda kind: kind.name)


def test_the_words_of_every_kind_are_listed() -> None:
    assert set(WORDS) == set(device_kinds())


def test_foreign_words_are_recognized() -> None:
    amd, npu = device_kinds()["AMD"], device_kinds()["Ascend"]
    assert foreign_words("5 SMs idle; use a CUDA graph", amd)
    assert not foreign_words("5 SMEM; ProfilerActivity.CUDA", amd)
    assert foreign_words("GPU 9", npu)
    assert foreign_words("https://docs.nvidia.com/", npu)


@KINDS
def test_what_is_declared_is_in_the_words_of_the_devices(kind: DeviceTerms) -> None:
    specs = [table for spec in all_views().values() for table in spec.tables]
    specs += evidence_tables().values()
    written = [text for spec in specs for text in declared(spec)]
    reasons = (column.null_reason for spec in specs for column in spec.columns)
    written += [reason for reason in reasons if isinstance(reason, str)]
    for known in entries().values():
        written += [known.title, *known.texts.values()]
    odd = {text: words for text in written if (words := foreign_words(kind.localize(text), kind))}
    assert not odd, f"{len(odd)} texts:\n" + "\n".join(f"{k}: {v}" for k, v in odd.items())


@KINDS
@pytest.mark.parametrize("by", ["label", "model"])
def test_a_recording_is_shown_in_the_words_of_its_devices(kind: DeviceTerms, by: str) -> None:
    events: list[Event] = [
        op("aten::mm", 0, 20), *launched(GEMM, 30, 400, 1, launch_at=5),
        op("aten::copy_", 440, 20), *launched("other", 500, 300, 2), memcpy(850, 50),
    ]  # fmt: skip
    events = awaited(events, 40)
    header: dict[str, Any] = {}
    if by == "model":
        header["deviceProperties"] = [device(name=kind.examples[0])]
    else:
        label = re.sub(r"\(([^|)]*)[^)]*\)\??", "\\1", kind.labels.replace(r"( \d+)?", " 0"))
        event = {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": label}}
        events.append(event)
    trace = one_step(events, **header)
    assert device_terms(trace) is kind
    assert_own_words(trace, kind)


@pytest.mark.parametrize("name", FILES)
def test_recordings_of_other_devices(name: str) -> None:
    kind = device_terms(opened(name))
    if kind is None:
        pytest.skip("NVIDIA's or unknown devices")
    assert_own_words(opened(name), kind)
