"""Damaged files: each of ``malformed_derived`` and ``torch213_malformed``.

The truth is the undamaged original (``torch_compile_triton``) with the damage applied to its rows.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.importers.kineto.reference import (
    Rows,
    actual,
    document,
    expected,
    read_bytes,
    read_file,
)
from torch_tb_profiler.importers import TraceFormatError
from torch_tb_profiler.importers.kineto.info import RECORDER
from torch_tb_profiler.trace.info import TraceInfo

ROOT = Path(__file__).resolve().parents[3]
DERIVED = ROOT / "tests" / "data" / "malformed_derived"
TORCH213 = ROOT / "tests" / "data" / "torch213_malformed"
ORIGINAL = ROOT / "samples" / "torch_compile_triton" / "rank0.pt.trace.json.gz"

MANIFEST = [case["file"] for case in json.loads((DERIVED / "manifest.json").read_text())["cases"]]

UNHARMED: dict[str, dict[str, int]] = {
    "gzip_no_suffix.json": {},
    "plain_with_gz_suffix.json.gz": {},
    "bom.json": {},
    "crlf.json": {},
    "utf16.json": {"utf16": 1},
    "concatenated.json": {"trailing_data": 1},
    "control_chars.json": {"control_characters": 1},
    "unescaped_quote.json": {"quote_repaired": 1},
    "empty_last_event.json": {"empty_event": 1},
    "string_ts.json": {"string_time": 232},
    "inf_bandwidth.json": {"not_a_number": 1},
    "nan_values.json": {"not_a_number": 2},
    "empty_value.json": {"empty_value": 1},
    "duplicate_keys.json": {},
    "trailing_comma.json": {"trailing_comma": 1},
}
"""Files whose damage harms no row, with what the quality report says."""

REFUSED = {
    "empty_file.json": "empty_file",
    "html_error_page.json": "html_page",
    "lfs_pointer.json.gz": "lfs_pointer",
}


@pytest.fixture(scope="module")
def original() -> Rows:
    return expected(document(ORIGINAL))


def _change_slices(rows: Rows, change: Callable[[int, tuple[Any, ...]], tuple[Any, ...]]) -> Rows:
    return rows | {"slices": [change(at, row) for at, row in enumerate(rows["slices"])]}


def _renamed(row: int, name: str, at: int, values: tuple[Any, ...]) -> tuple[Any, ...]:
    return (values[0], name, *values[2:]) if at == row else values


@pytest.mark.parametrize("name", UNHARMED)
def test_harmless_damage_loses_nothing(name: str, original: Rows) -> None:
    columns = read_file(DERIVED / name)

    assert actual(columns) == original
    assert columns.quality.counts == UNHARMED[name]


@pytest.mark.parametrize("name", REFUSED)
def test_other_files_are_rejected_with_the_reason(name: str) -> None:
    with pytest.raises(TraceFormatError) as error:
        read_file(DERIVED / name)

    assert error.value.code == REFUSED[name]


def _whole_events(text: str) -> list[dict[str, Any]]:
    """The complete events of a cut file, one by one with the standard library."""
    decoder = json.JSONDecoder(parse_float=Decimal)
    at = text.index("[", text.index('"traceEvents"')) + 1
    events = []
    while (start := text.find("{", at)) >= 0:
        try:
            event, at = decoder.raw_decode(text, start)
        except ValueError:
            break
        events.append(event)
    return events


@pytest.mark.parametrize(
    ("name", "issues"),
    [
        ("trunc_mid_event.json", {"truncated": 1}),
        ("trunc_after_comma.json", {"truncated": 1}),
        ("trunc_gzip.json.gz", {"truncated": 1, "gzip_truncated": 1}),
    ],
)
def test_a_truncated_file_keeps_its_whole_events(name: str, issues: dict[str, int]) -> None:
    data = (DERIVED / name).read_bytes()
    if name.endswith(".gz"):
        data = zlib.decompressobj(31).decompress(data)
    events = _whole_events(data.decode("utf-8", "ignore"))

    columns = read_file(DERIVED / name)

    assert len(events) > 50
    assert actual(columns) == expected(
        {"traceEvents": events, "baseTimeNanoseconds": columns.base_ns}
    )
    assert columns.base_ns == document(ORIGINAL)["baseTimeNanoseconds"]
    assert columns.quality.counts == issues


def test_names_with_bad_bytes_and_backslashes(original: Rows) -> None:
    names = {
        "non_utf8_name.json": (6, "aten::\ufffd\ufffdmm"),
        "windows_backslash.json": (0, "C:\\Users\\me\\x.py(3): TorchDynamo Cache Lookup"),
    }
    issues = {"non_utf8_name.json": "bad_encoding", "windows_backslash.json": "backslash_repaired"}
    for file, (row, name) in names.items():
        columns = read_file(DERIVED / file)

        wanted = _change_slices(original, partial(_renamed, row, name))
        assert actual(columns) == wanted
        assert columns.quality.counts == {issues[file]: 1}


def test_impossible_durations(original: Rows) -> None:
    def zero(*rows: int) -> Rows:
        return _change_slices(original, lambda at, r: (*r[:5], 0, *r[6:]) if at in rows else r)

    kernels = [at for at, row in enumerate(original["slices"]) if row[0] == "kernel"]
    negative = read_file(DERIVED / "negative_dur.json")
    assert actual(negative) == zero(*kernels)
    assert negative.quality.counts == {"negative_duration": 12}

    missing = read_file(DERIVED / "missing_dur.json")
    without = [
        at
        for at, event in enumerate(
            e for e in document(DERIVED / "missing_dur.json")["traceEvents"] if e["ph"] == "X"
        )
        if event.get("dur") is None
    ]
    assert actual(missing) == zero(*without)
    assert missing.quality.counts == {"missing_duration": 3}


def test_a_huge_duration_ends_with_the_recording(original: Rows) -> None:
    columns = read_file(DERIVED / "huge_dur.json")
    end = max(row[4] + row[5] for row in original["slices"])

    assert actual(columns) == _change_slices(
        original, lambda at, r: (*r[:5], end - r[4], *r[6:]) if at == 0 else r
    )
    assert columns.quality.counts == {"huge_duration": 1}


def test_times_beyond_a_double_are_exact(original: Rows) -> None:
    columns = read_file(DERIVED / "absolute_ns_ts.json")
    text = (DERIVED / "absolute_ns_ts.json").read_text()
    events = json.loads(text, parse_float=str)["traceEvents"]

    starts = [int(e["ts"].replace(".", "")) for e in events if e["ph"] == "X"]

    assert all(len(str(start)) == 19 for start in starts)
    assert [row[4] for row in actual(columns)["slices"]] == starts
    assert [row[5] for row in actual(columns)["slices"]] == [r[5] for r in original["slices"]]


def test_a_bare_list_has_everything_but_the_header(original: Rows) -> None:
    columns = read_file(DERIVED / "list_top_level.json")
    base = document(ORIGINAL)["baseTimeNanoseconds"]

    assert columns.info == TraceInfo(recorder=RECORDER)
    assert columns.base_ns == 0
    assert actual(columns)["slices"] == [
        (*row[:4], row[4] - base, *row[5:]) for row in original["slices"]
    ]


def test_odd_ids_are_text(original: Rows) -> None:
    columns = read_file(DERIVED / "odd_ids.json")

    def renamed(_: int, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*row[:3], f"stream {row[3]}", *row[4:]) if row[0] == "kernel" else row

    assert actual(columns) == _change_slices(original, renamed)
    assert columns.quality.counts == {}


def test_without_arguments_kernels_get_device_and_stream_from_their_row(original: Rows) -> None:
    columns = read_file(DERIVED / "no_args.json")

    rows = actual(columns)

    assert [row[:6] for row in rows["slices"]] == [row[:6] for row in original["slices"]]
    assert rows["operator"] == []
    assert [row[1:3] for row in rows["device"]] == [row[1:3] for row in original["device"]]


def test_begin_end_pairs_become_slices(original: Rows) -> None:
    columns = read_file(DERIVED / "begin_end_pairs.json")
    rows = actual(columns)

    assert columns.quality.counts == {}
    assert len(rows["slices"]) == len(original["slices"])
    for row, wanted in zip(sorted(rows["slices"], key=str), sorted(original["slices"], key=str),
                           strict=True):  # fmt: skip
        assert row[:5] == wanted[:5]
        assert abs(row[5] - wanted[5]) <= 1
    assert [row[1:] for row in rows["operator"]] == [row[1:] for row in original["operator"]]


def test_duplicates_overlaps_and_missing_launches_are_read(original: Rows) -> None:
    for name in ("duplicate_events.json", "overlap_kernels.json", "gpu_only.json"):
        columns = read_file(DERIVED / name)

        assert actual(columns) == expected(document(DERIVED / name)), name
        assert columns.quality.counts == {}


def test_an_empty_recording_is_an_empty_trace() -> None:
    columns = read_file(DERIVED / "empty_events.json")

    assert all(len(rows) == 0 for rows in actual(columns).values())
    assert columns.info.devices[0].name == "AMD Instinct MI300X"
    assert columns.quality.counts == {}


def test_every_derived_file_is_tested_here() -> None:
    source = Path(__file__).read_text()
    assert [name for name in MANIFEST if name not in source] == []
    assert len(MANIFEST) == 35


@pytest.mark.parametrize(
    ("name", "row_name", "issue"),
    [
        ("quote.json", 'my_range "q" x', "quote_repaired"),
        ("quote_dict.json", '{"device": "cpu", "n": [1, 2]}', "quote_repaired"),
        ("quote_end.json", 'ends with "quote"', "quote_repaired"),
        ("quote_tricky.json", 'a", "pid": 5, "x": "b', "ambiguous_name"),
    ],
)
def test_quotes_that_torch_writes_into_names(name: str, row_name: str, issue: str) -> None:
    columns = read_file(TORCH213 / name)
    slices = actual(columns)["slices"]
    text = (TORCH213 / name).read_text()

    assert len(slices) == len(re.findall(r'"ph": "X"', text))
    assert slices[0][1] == row_name
    assert slices[0][2:4] == slices[1][2:4]
    assert columns.quality.counts == {issue: 1}


def test_quotes_in_user_metadata() -> None:
    columns = read_file(TORCH213 / "add_metadata_quotes.json")
    text = (TORCH213 / "add_metadata_quotes.json").read_text()

    assert columns.info.host_name == "vm"
    assert columns.base_ns == 1790857026000000000
    assert "user_str" not in str(columns.info)
    assert len(actual(columns)["slices"]) == len(re.findall(r'"ph": "X"', text))
    assert columns.quality.counts == {"quote_repaired": 1}


def test_two_gzip_members_are_one_file(original: Rows) -> None:
    text = gzip.decompress(ORIGINAL.read_bytes())
    half = len(text) // 2

    columns = read_bytes(gzip.compress(text[:half]) + gzip.compress(text[half:]))

    assert actual(columns) == original
