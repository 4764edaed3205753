"""Names of hosts and users that one text gives away are removed from all: whatever the form and the
encoding of the file that gives them away."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from torch_tb_profiler import scrub

EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}


def _document(given: str, escaped: Callable[[str], str] = str) -> str:
    header = {"schemaVersion": 1, "given": given, "note": "seen on QUUX17 today"}
    return escaped(json.dumps({**header, "traceEvents": [EVENT]}))


@pytest.mark.parametrize(
    "text",
    [
        _document("/home/quux17/x"),
        _document("/home/quux17/x", lambda text: text.replace("/", "\\/")),
        _document("/home/quux17/x", lambda text: text.replace("/home", "\\u002fhome")),
        _document("ann@quux17"),
        _document("quux17.lab.corp"),
        _document('{"host": "quux17"}'),
        _document("{'host': 'quux17'}"),
        _document("?path=%2Fhome%2Fquux17%2Fx"),
        _document("SLURM_JOB_USER=quux17"),
    ],
    ids=lambda text: text[30:70],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_json(text: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(text.encode(encoding))
    scrub(tmp_path / "in.json", tmp_path / "copy.json")
    assert "quux17" not in (tmp_path / "copy.json").read_text().lower()


def test_pickles(tmp_path: Path) -> None:
    snapshot = {"segments": [], "device_traces": [[]], "host": "quux17", "note": "on QUUX17 today"}
    (tmp_path / "in.pickle").write_bytes(pickle.dumps(snapshot))
    scrub(tmp_path / "in.pickle", tmp_path / "copy.pickle")
    assert b"quux17" not in (tmp_path / "copy.pickle").read_bytes().lower()


@pytest.mark.parametrize("text", ["allreduce-top1@17148521525495523210", "memcpy@GLIBC_2.14"])
def test_symbols_are_no_names(text: str, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(_document(text))
    scrub(tmp_path / "in.json", tmp_path / "copy.json")
    assert "QUUX17" in (tmp_path / "copy.json").read_text()
    assert json.loads((tmp_path / "copy.json").read_text())["given"] == text
