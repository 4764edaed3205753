"""Requested arguments of ``.pftrace`` files, compared with the JSON of the same recording."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.importers.argument_names import ArgumentListing, ListingLimits
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import Reading, ReadOptions
from torch_tb_profiler.importers.registry import import_source, importer_of
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.knowledge.arguments import is_secret
from torch_tb_profiler.trace.columns import EventColumns

DATA = Path(__file__).parents[2] / "data" / "pftrace"
CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "pftrace"
TWINS = [
    (DATA / "cpu.pftrace.gz", DATA / "cpu.pt.trace.json.gz"),
    *(
        (path, path.with_name(path.name.replace(".pftrace.", ".pt.trace.json.")))
        for path in CORPUS.glob("torch2141_synthetic_gpu.pftrace.gz")
    ),
]
NUMBERS = ("Ev Idx", "Record function id", "External id")
LISTS = ("Input Strides", "Input Dims")


def read(path: Path, *names: str) -> EventColumns:
    reading = Reading(ReadOptions(arguments=names), is_secret=is_secret)
    return import_source(Source(path.name, [path.read_bytes()]), reading)


def rows(columns: EventColumns, *names: str) -> Counter[tuple[str, str, Any]]:
    table, strings = columns.tables["arguments"], columns.strings
    slices = columns.tables["slices"]["name_code"][table["slice"]].tolist()
    values = zip(table["value"].tolist(), table["text_code"].tolist(), strict=True)
    keys = [strings[code] for code in table["key_code"].tolist()]
    found = [
        (strings[name], key, json.loads(strings[text]) if text >= 0 else value)
        for name, key, (value, text) in zip(slices, keys, values, strict=True)
        if key in names
    ]
    return Counter((name, key, str(value)) for name, key, value in found)


def written(path: Path, *names: str) -> Counter[tuple[str, str, Any]]:
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return Counter(
        (event["name"], name, str(float(value) if isinstance(value, int) else value))
        for event in events
        if event.get("ph") == "X" and event.get("cat") != "cpu_instant_event"
        for name, value in event.get("args", {}).items()
        if name in names
    )


@pytest.mark.parametrize("twins", TWINS, ids=lambda twins: twins[0].name)
def test_arguments_are_those_of_the_twin_in_json(twins: tuple[Path, Path]) -> None:
    names = (*NUMBERS, *LISTS)
    given, expected = rows(read(twins[0], *names), *names), written(twins[1], *names)
    assert given.total() > 200
    # The window of a .pftrace may lack events at its edges; what it has is the same.
    assert not given - expected
    assert given.total() > 0.95 * expected.total()


def test_nothing_else_is_read(tmp_path: Path) -> None:
    columns = read(TWINS[0][0], "Ev Idx", "no such")
    keys = {columns.strings[code] for code in columns.tables["arguments"]["key_code"].tolist()}
    assert "Input Dims" not in keys
    assert columns.quality.examples["argument_absent"] == ["no such"]
    plain = read(TWINS[0][0])
    for name in ("slices", "operator", "device"):
        for column, values in plain.tables[name].items():
            if not column.endswith("_code"):
                assert (columns.tables[name][column] == values).all() or values.dtype.kind == "f"


WHOLE = ListingLimits(1 << 28, 60.0)


def listing(path: Path, limits: ListingLimits = WHOLE) -> ArgumentListing:
    source = Source(path.name, [path.read_bytes()])
    listed = importer_of(source).list_arguments(source, is_secret, limits)
    assert listed is not None
    return listed


def test_the_list_has_the_names_of_the_twin() -> None:
    listed = listing(TWINS[0][0])
    events = json.loads(gzip.decompress(TWINS[0][1].read_bytes()))["traceEvents"]
    names = {name for e in events if e["ph"] == "X" for name in e.get("args", {})}
    assert {"Ev Idx", "Input Dims", "Input Strides"} <= set(listed.arguments) & names
    assert listed.arguments["Ev Idx"].numbers == listed.arguments["Ev Idx"].count
    assert "Input Dims" in listed.in_model
    assert "Ev Idx" not in listed.in_model
    assert not listed.is_sample
    assert listing(TWINS[0][0], ListingLimits(0, 0.0)).is_sample


@pytest.mark.parametrize("cut", [100, 1000, 5000])
def test_damaged_files_are_read_as_far_as_they_go(cut: int) -> None:
    data = gzip.decompress(TWINS[0][0].read_bytes())
    damaged = data[:cut] + bytes(reversed(data[cut : cut + 40])) + data[cut + 40 : -cut]
    reading = Reading(ReadOptions(arguments=NUMBERS))
    with suppress(TraceFormatError):
        import_source(Source("x.pftrace", [damaged]), reading)
