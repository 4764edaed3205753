"""``scrub``: the list as text and JSON, exit codes, what is refused."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Done

WriteTrace = Callable[..., Path]
Run = Callable[..., Done]


def test_the_list_says_what_was_removed_and_what_is_left(
    tmp_path: Path, write_trace: WriteTrace, run: Run
) -> None:
    source = write_trace(
        tmp_path / "in" / "gpu17_4711.1700000000.pt.trace.json",
        names=("load /home/annlee/secret.bin", "my_range"),
        host_name="gpu17",
    )
    done = run("scrub", source.parent, tmp_path / "copy")
    assert done.code == 0
    assert "host names (" in done.out
    assert "absolute paths (" in done.out
    assert "dates and times" in done.out
    assert "annlee" not in done.out + done.err
    assert "gpu17" not in done.out


def test_the_list_as_json_holds_no_private_name(
    tmp_path: Path, write_trace: WriteTrace, run: Run
) -> None:
    source = write_trace(tmp_path / "in" / "gpu17_4711.pt.trace.json", host_name="gpu17")
    (source.parent / "gpu17_notes.txt").write_text("x")
    done = run("scrub", source.parent, tmp_path / "copy", "--format", "json")
    assert done.json["files"][0]["name"].endswith(".pt.trace.json")
    assert [each["is_recording"] for each in done.json["omitted"]] == [False]
    assert {each["kind"] for each in done.json["removed"]} == {"host", "run"}
    assert "gpu17" not in done.out
    assert "gpu17_notes.txt is not in the copy" in done.err


def test_a_recording_that_is_not_copied_is_an_exit_code(
    tmp_path: Path, write_trace: WriteTrace, run: Run
) -> None:
    write_trace(tmp_path / "in" / "trace.json")
    (tmp_path / "in" / "rank1.pickle").write_bytes(
        pickle.dumps({"segments": [], "device_traces": [os.system]})
    )
    assert run("scrub", tmp_path / "in", tmp_path / "copy").code == 3
    assert (tmp_path / "copy" / "trace.json").exists()


def test_wrong_requests(tmp_path: Path, write_trace: WriteTrace, run: Run) -> None:
    source = write_trace(tmp_path / "in" / "trace.json")
    assert run("scrub", tmp_path / "missing", tmp_path / "copy").code != 0
    assert run("scrub", "s3://bucket/x", tmp_path / "copy").code == 2
    done = run("scrub", source.parent, source.parent / "copy")
    assert done.code == 2
    assert "inside" in done.err
    assert json.loads(source.read_text())
