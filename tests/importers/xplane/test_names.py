"""Names of profiles, and what lies beside them in a folder of XProf."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import xplane as xp
from tests.helpers.discovered import looked_into
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.importers.registry import detect_format
from torch_tb_profiler.importers.xplane import is_space
from torch_tb_profiler.storage.locations import open_location

RUN = "plugins/profile/2026_11_29_02_54_54"


def test_the_hosts_of_a_folder_are_workers_of_one_run(tmp_path: Path) -> None:
    folder = tmp_path / RUN
    folder.mkdir(parents=True)
    for host in ("10.0.0.1", "host.b"):
        (folder / f"{host}.xplane.pb").write_bytes(xp.tpu_file())
        (folder / f"{host}.trace.json.gz").write_bytes(b'{"traceEvents": []}')
        (folder / f"{host}.op_stats.pb").write_bytes(b"\x0a\x03abc")
    (folder / "jit_f.hlo_proto.pb").write_bytes(b"\x0a\x03abc")
    (folder / "10.0.0.1.tracetable").write_bytes(b"x")

    listing = looked_into(open_location(str(tmp_path)))

    assert {(each.run, each.worker, each.format) for each in listing.files} == {
        (RUN, "10.0.0.1", "xplane"),
        (RUN, "host.b", "xplane"),
    }
    assert listing.skipped.counts == {"companion": 2, "other_protobuf": 3}
    texts = " ".join(each.text for each in listing.skipped.listed)
    assert "an HLO program, which XProf computed" in texts


def test_a_profile_is_recognized_by_its_planes_whatever_its_name() -> None:
    assert is_space(xp.tpu_file()[:4096], "a.bin")
    assert is_space(xp.space(xp.environment_plane()), "a.bin")
    assert not is_space(b"\x0a\x10\x08\x01\x12\x0chello world!", "a.pftrace")
    assert detect_format(xp.gpu_file(), "host.xplane.pb", True).is_trace


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "lfs_pointer"),
        (b"<!DOCTYPE html><html></html>", "html_page"),
        (xp.tpu_file().decode("utf-8", "replace").encode(), "saved_as_text"),
        (xp.space(xp.environment_plane()), "no_events"),
        (b"\x0a\x7f" * 40, "not_a_trace"),
    ],
)
def test_the_reason_is_named(data: bytes, code: str) -> None:
    with pytest.raises(TraceFormatError) as error:
        import_trace([data], name="some/host.xplane.pb")
    assert error.value.code == code
    assert "host.xplane.pb" in error.value.message


def test_a_profile_saved_as_text_is_listed_as_such() -> None:
    data = xp.tpu_file().decode("utf-8", "replace").encode()
    detection = detect_format(data, "host.xplane.pb", True)
    assert (detection.is_trace, detection.reason) == (False, "saved_as_text")
