"""Which files of a folder are Paddle's, whose, and which of two exports is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import paddle_protobuf as pb
from tests.helpers.discovered import looked_into
from torch_tb_profiler.importers import trace_names
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.storage.names import TraceName

DATA = pb.recording(pb.tree([pb.Node("ProfileStep#1", 2, 1000, 9000)]))
JSON = b'{"displayTimeUnit": "ms", "schemaVersion": "1.0.2", "traceEvents": [{}]}'
STAMP = "2026_11_22_22_18_05_123456"
HOST = "host_npid_7"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"{HOST}_time_{STAMP}.paddle_trace.pb", TraceName(HOST, STAMP)),
        (f"{HOST}_time_{STAMP}.paddle_trace.json.gz", TraceName(HOST, STAMP)),
        (f"{HOST}_time_{STAMP}.pb", TraceName(HOST, STAMP)),
        ("w0.paddle_trace.pb", TraceName("w0", None)),
        ("a_time_b.paddle_trace.json", TraceName("a_time_b", None)),
        ("frozen_graph.pb", None),
    ],
)
def test_worker_and_span_come_from_the_name(name: str, expected: TraceName | None) -> None:
    assert trace_names().parse_file(name) == expected


def test_the_protobuf_export_replaces_the_json_export(tmp_path: Path) -> None:
    for name, data in (
        ("w0.paddle_trace.pb", DATA),
        ("w0.paddle_trace.json", JSON),
        (f"{HOST}_time_{STAMP}.pb", DATA),
        (f"{HOST}_time_{STAMP}.paddle_trace.json", JSON),
        ("alone.paddle_trace.json", JSON),
        ("graph.pb", b"\x0a\x05\x0a\x03abc"),
    ):
        (tmp_path / name).write_bytes(data)

    listing = looked_into(open_location(str(tmp_path)))

    assert {(file.worker, file.path, file.format) for file in listing.files} == {
        ("alone", "alone.paddle_trace.json", "paddle"),
        (HOST, f"{HOST}_time_{STAMP}.pb", "paddle"),
        ("w0", "w0.paddle_trace.pb", "paddle"),
    }
    assert listing.skipped.counts == {"companion": 2, "other_protobuf": 1}
