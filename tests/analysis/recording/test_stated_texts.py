"""Cases: directions of copies that only their arguments have, wherever directions are used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from torch_tb_profiler.analysis.idle.waits import Wait, copy_directions
from torch_tb_profiler.analysis.kernels.copies import copy_calls
from torch_tb_profiler.analysis.recording.stated_texts import copy_texts, stated_texts
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace


def trace(*copies: tuple[str, dict[str, Any]]) -> Trace:
    events = [
        {"ph": "X", "cat": "gpu_memcpy", "name": name, "pid": 0, "tid": 7, "ts": 10 * number,
         "dur": 5, "args": {"device": 0, "stream": 7, "bytes": 8, **args}}
        for number, (name, args) in enumerate(copies)
    ]  # fmt: skip
    text = json.dumps({"traceEvents": events}).encode()
    return build_trace(import_trace([text], name="x"))


FETCH = {"copy kind": "DtoH", "src kind": "device", "dst kind": "pageable"}
UPLOAD = {"copy kind": "HtoD", "src kind": "pinned", "dst kind": "device"}
PEER = {"copy kind": "PtoP", "src kind": "device", "dst kind": "device"}


def test_texts_are_joined_in_the_order_of_the_keys() -> None:
    built = trace(("Memcpy", FETCH), ("Memcpy", {}), ("Memcpy", UPLOAD))
    keys = ("dst kind", "copy kind")
    assert stated_texts(built, keys).rows() == [(0, "pageable DtoH"), (2, "device HtoD")]
    assert stated_texts(built, ("nothing",)).is_empty()


def test_equal_copies_share_their_texts() -> None:
    built = trace(("Memcpy", FETCH), ("Memcpy", UPLOAD), ("Memcpy", FETCH), ("Memcpy", {}))
    texts = copy_texts(built, built.device_work)
    assert len(texts.names) == 3
    assert [texts.stated[row] for row in texts.index] == [
        "DtoH device pageable", "HtoD pinned device", "DtoH device pageable", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("copy", "direction", "kind"),
    [
        (("Memcpy", FETCH), Wait.FETCH, ("DtoH", "pageable")),
        (("Memcpy", UPLOAD), Wait.UPLOAD, ("HtoD", "pinned")),
        (("Memcpy", PEER), Wait.COPY, ("PtoP", None)),
        (("Memcpy", {}), Wait.COPY, (None, None)),
        (("Memcpy DtoH (Device -> Pinned)", {}), Wait.FETCH, ("DtoH", "pinned")),
    ],
)
def test_directions(
    copy: tuple[str, dict[str, Any]], direction: Wait, kind: tuple[str | None, str | None]
) -> None:
    built = trace(copy)
    assert built.device_work["category"].to_list() == [Category.MEMCPY]
    assert copy_directions(built, built.device_work).tolist() == [direction]
    assert copy_calls(built).select("kind", "host_memory").row(0) == kind


def test_no_copies() -> None:
    built = trace()
    assert copy_directions(built, built.device_work).tolist() == []
