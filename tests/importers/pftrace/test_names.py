"""A recording that lies in a folder twice, as .pftrace and as JSON, is shown once."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.discovered import looked_into
from torch_tb_profiler.storage.locations import open_location

DATA = Path(__file__).resolve().parents[2] / "data" / "pftrace"
PFTRACE = (DATA / "cpu.pftrace.gz").read_bytes()
JSON = (DATA / "cpu.pt.trace.json.gz").read_bytes()


def test_the_json_replaces_the_pftrace_of_the_same_name(tmp_path: Path) -> None:
    for name, data in (
        ("host_1.1699.pftrace.gz", PFTRACE),
        ("host_1.1699.pt.trace.json.gz", JSON),
        ("host_1.1700.pftrace.gz", PFTRACE),
        ("w0.pftrace", PFTRACE),
        ("w0.json.gz", JSON),
        ("w1.perfetto-trace", PFTRACE),
        ("w1.json", b'{"rank": 1}'),
    ):
        (tmp_path / name).write_bytes(data)

    listing = looked_into(open_location(str(tmp_path)))

    assert {(file.path, file.format) for file in listing.files} == {
        ("host_1.1699.pt.trace.json.gz", "kineto"),
        ("host_1.1700.pftrace.gz", "pftrace"),
        ("w0.json.gz", "kineto"),
        ("w1.perfetto-trace", "pftrace"),
    }
    assert listing.skipped.counts == {"companion": 2, "not_a_trace": 1}
    text = (
        "w0.pftrace is the same recording as w0.json.gz, which has more detail; only that one is "
    )
    assert f"{text}shown." in [each.text for each in listing.skipped.listed]
    assert "w0.pftrace" in listing.skipped.openable
