"""Requested arguments of Kineto's JSON, compared with what ``json`` reads, by both decoders."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.importers.kineto import reader
from torch_tb_profiler.importers.protocol import Reading, ReadOptions
from torch_tb_profiler.importers.registry import import_source
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.knowledge.arguments import is_secret
from torch_tb_profiler.trace.columns import EventColumns

SAMPLE = Path(__file__).parents[3] / "samples" / "torch_compile_triton" / "rank0.pt.trace.json.gz"

Rows = list[tuple[str, str, Any]]


@pytest.fixture(params=["compiled", "python"])
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(reader, "native_decoder", lambda _boundaries: None)


def read(text: str, *names: str, part: Any = None) -> EventColumns:
    reading = Reading(ReadOptions(arguments=tuple(sorted(names)), part=part), is_secret=is_secret)
    return import_source(Source("x.pt.trace.json", [text.encode()]), reading)


def rows(columns: EventColumns) -> Rows:
    """(name of the slice, key, value) in order of the file."""
    table, strings = columns.tables["arguments"], columns.strings
    slice_names = columns.tables["slices"]["name_code"][table["slice"]].tolist()
    values = [
        strings[text] if text >= 0 else value
        for value, text in zip(table["value"].tolist(), table["text_code"].tolist(), strict=True)
    ]
    keys = table["key_code"].tolist()
    return [
        (strings[name], strings[key], value)
        for name, key, value in zip(slice_names, keys, values, strict=True)
    ]


def expected(events: Iterable[dict[str, Any]], *names: str) -> Rows:
    result: Rows = []
    for event in events:
        if event.get("ph") != "X" or event.get("cat") == "cpu_instant_event":
            continue
        for name in names:
            value = event.get("args", {}).get(name)
            if value is not None:
                result.append(
                    (event["name"], name, value if isinstance(value, str) else float(value))
                )
    return result


@pytest.mark.usefixtures("decoder")
def test_a_recording_has_the_arguments_that_json_reads() -> None:
    text = gzip.decompress(SAMPLE.read_bytes()).decode()
    names = ("cid", "kernel_hash", "num_warps", "ptr")
    read_rows = rows(read(text, *names))
    assert len(read_rows) > 50
    assert {key for _, key, _ in read_rows} == set(names)
    assert sorted(read_rows, key=str) == sorted(
        expected(json.loads(text)["traceEvents"], *names), key=str
    )


def events(*arguments: Any, phase: str = "X") -> str:
    listed = [
        {"ph": phase, "cat": "kernel", "name": f"k{number}", "pid": 0, "tid": 7,
         "ts": 10 * number, "dur": 5, "args": {"device": 0, "stream": 7, **given}}
        for number, given in enumerate(arguments)
    ]  # fmt: skip
    return json.dumps({"traceEvents": listed})


@pytest.mark.usefixtures("decoder")
def test_values_of_every_type() -> None:
    text = events(
        {"v": 3}, {"v": -0.5}, {"v": True}, {"v": None}, {"v": "text"}, {"v": ""},
        {"v": [1, {"a": "b"}]}, {"v": 2**60 + 1}, {"w": 1}, {"v": "text"}, {"v": 1e300},
    )  # fmt: skip
    columns = read(text, "v")
    assert rows(columns) == [
        ("k0", "v", 3.0), ("k1", "v", -0.5), ("k2", "v", 1.0), ("k4", "v", "text"),
        ("k5", "v", ""), ("k6", "v", '[1, {"a": "b"}]'), ("k7", "v", str(2**60 + 1)),
        ("k9", "v", "text"), ("k10", "v", "1e+300"),
    ]  # fmt: skip


@pytest.mark.usefixtures("decoder")
def test_secrets_are_not_read_and_long_texts_are_cut() -> None:
    text = events({"api_key": "abc", "v": "x" * 20_000}, {"v": "ghp_" + "a1" * 18})
    columns = read(text, "api_key", "v")
    assert rows(columns) == [("k0", "v", "x" * 10_000)]
    assert columns.quality.counts["secret_argument"] == 2
    assert columns.quality.counts["text_cut"] == 1


def test_an_argument_that_no_slice_has_is_named() -> None:
    columns = read(events({"v": 1}), "v", "w")
    assert columns.quality.counts["argument_absent"] == 1
    assert columns.quality.examples["argument_absent"] == ["w"]


@pytest.mark.usefixtures("decoder")
def test_a_slice_of_two_events_has_the_arguments_of_its_begin() -> None:
    begin = {"ph": "B", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "args": {"v": 4}}
    end = {"ph": "E", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 9, "args": {"v": 5}}
    text = json.dumps({"traceEvents": [begin, end]})
    assert rows(read(text, "v")) == [("k", "v", 4.0)]


@pytest.mark.usefixtures("decoder")
def test_damage_costs_only_the_damaged_event() -> None:
    text = events({"v": 1}, {"v": 2}, {"v": 3})
    damaged = text.replace('"v": 2', '"v": 2, "w": }')
    assert [row for row in rows(read(damaged, "v")) if row[0] != "k1"] == [
        ("k0", "v", 1.0),
        ("k2", "v", 3.0),
    ]
    assert rows(read(text[: text.index('"name": "k2"')], "v"))[:2] == [
        ("k0", "v", 1.0),
        ("k1", "v", 2.0),
    ]


@pytest.mark.usefixtures("decoder")
def test_an_argument_that_is_read_anyway_is_there_once() -> None:
    copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 1,
            "dur": 2, "args": {"copy kind": "HtoD", "bytes": 8}}  # fmt: skip
    text = json.dumps({"traceEvents": [copy]})
    assert rows(read(text)) == [("Memcpy HtoD", "copy kind", "HtoD")]
    assert rows(read(text, "copy kind", "bytes")) == [
        ("Memcpy HtoD", "bytes", 8.0), ("Memcpy HtoD", "copy kind", "HtoD"),
    ]  # fmt: skip


def test_nothing_is_read_without_a_request() -> None:
    assert not len(read(events({"v": 1})).tables["arguments"]["slice"])
