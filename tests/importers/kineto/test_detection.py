"""Cases: traces of several tools by their head alone, also with metadata before the events, marks
and blanks; what is no trace, by what it is; JSON of all kinds; heads that are too short to tell.
"""

from __future__ import annotations

import codecs
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.importers import TraceFormatError, detect_format, import_trace
from torch_tb_profiler.storage.format_detection import FormatDetection

EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}


def detect(content: Any, name: str = "x.json", *, is_whole: bool = True) -> FormatDetection:
    head = content if isinstance(content, bytes) else json.dumps(content).encode()
    return detect_format(head, name, is_whole)


@pytest.mark.parametrize(
    "content",
    [
        {"schemaVersion": 1, "traceEvents": [EVENT]},
        {"traceEvents": []},
        {"data": {"traceEvents": [EVENT]}},
        {"metadata": {"nodes": [{"rf_id": 1}]}, "traceEvents": [EVENT]},
        {"environment": {"PATH": "x" * 5000}, "traceEvents": [EVENT]},
        {"schemaVersion": "1.0.3", "displayTimeUnit": "ms", "traceEvents": [EVENT]},
        [{"name": "process_name", "pid": 3, "tid": 0, "args": {}, "ph": "M"}, EVENT],
        b'\n\n  { "schemaVersion": 1,\n "deviceProperties": [ {"id": 0',
        b'{"schemaVersion": 1, "distributedInfo": {"backend": "nccl"',
        codecs.BOM_UTF8 + json.dumps({"traceEvents": [EVENT]}).encode(),
        codecs.BOM_UTF16_LE + json.dumps({"traceEvents": [EVENT]}).encode("utf-16-le"),
    ],
)
def test_traces(content: Any) -> None:
    assert detect(content, is_whole=False).is_trace


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({}, "not_a_trace"),
        ([], "not_a_trace"),
        ({"schemaVersion": 2, "images": []}, "not_a_trace"),
        ({"model_type": "llama", "trace": "traceEvents"}, "not_a_trace"),
        ({"weight_map": {}}, "not_a_trace"),
        ({"cells": [], "nbformat": 4}, "not_a_trace"),
        ({"$schema": "https://www.speedscope.app/file-format-schema.json"}, "not_a_trace"),
        ({"nodes": [{"id": 1, "callFrame": {}}], "startTime": 1}, "not_a_trace"),
        ({"text": '"traceEvents": ['}, "not_a_trace"),
        ([{"instruction": "add", "ph": 7.1, "ts": 1}], "not_a_trace"),
        ([{"ph": "acid", "name": "x"}], "not_a_trace"),
        (["ph", "ts"], "not_a_trace"),
        ({"segments": [{"blocks": []}], "device_traces": []}, "memory_snapshot"),
        ([[1795226172591309, 1795226172591309], [[0, 1]]], "memory_timeline"),
        ([[-1, 1, 864, 0], [-1, 1, 32, 0]], "memory_timeline"),
        (b"", "empty_file"),
        (b" \n ", "empty_file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "lfs_pointer"),
        (b"<!DOCTYPE html><html>", "html_page"),
        (b"hello", "not_json"),
        (b"\x80\x04\x95", "not_json"),
    ],
)
def test_other_files_are_named(content: Any, reason: str) -> None:
    detection = detect(content)
    assert (detection.is_trace, detection.reason) == (False, reason)
    assert detection.text.startswith(("is ", "holds "))
    assert detection.text.endswith(".")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"nodes": [{"id": 1, "callFrame": {}}]}, "a CPU profile of a JavaScript program"),
        ({"images": []}, "JSON but not a profiler trace"),
    ],
)
def test_what_a_file_is_opened_by_name_is_the_error(content: Any, message: str) -> None:
    with pytest.raises(TraceFormatError, match=f"a.json is {message}"):
        import_trace([json.dumps(content).encode()], name="a.json")


def test_an_overlay_on_a_trace_is_detected_by_its_name() -> None:
    assert detect({"traceEvents": [EVENT]}, "overlaid_critical_path_rank0.json").reason == "overlay"
    assert detect({"traceEvents": [EVENT]}, "rank0.json").is_trace


def test_rank_and_world_size_are_read_from_the_head() -> None:
    info = {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"ranks": [0, 1]}]}
    header = {"schemaVersion": 1, "rank": 9, "distributedInfo": info, "traceEvents": [EVENT]}
    assert (detect(header).rank, detect(header).world_size) == (3, 8)
    info["rank"] = "three"
    assert detect(header).rank is None
    assert detect({"traceEvents": [EVENT]}).world_size is None


def test_a_head_without_evidence_needs_more() -> None:
    head = b'{"environment": {"A": "' + b"x" * 1000
    assert detect(head, is_whole=False).needs_more
    assert not detect(head, is_whole=True).needs_more
    assert not detect(b"[" + b"1," * 1000, is_whole=False).needs_more


def test_other_endings_are_rejected() -> None:
    assert not detect({"traceEvents": [EVENT]}, "x.txt").is_trace


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_json_without_events_is_not_a_trace(value: Any) -> None:
    assert not detect(value).is_trace


@given(st.binary())
def test_any_bytes_are_classified(data: bytes) -> None:
    assert isinstance(detect(data), FormatDetection)
    assert isinstance(detect(b"{" + data, is_whole=False), FormatDetection)
