"""Cases: runs, workers and spans from folders and names; numeric order of stamps, .json next to
.json.gz, links in circles and out of the logdir, unreadable folders, undecodable names, one listing
call for a remote logdir, directly named files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fsspec
import pytest

from tests.helpers.discovered import discover, file_as_span
from torch_tb_profiler.importers import trace_names
from torch_tb_profiler.storage.discovery import no_traces_error
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import Location, open_location


def place(folder: Path, *names: str) -> Location:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    return open_location(str(folder))


def spans(location: Location) -> list[tuple[str, str, str, str]]:
    return [
        (file.run, file.worker, file.span, file.location.name) for file in discover(location).files
    ]


def test_each_folder_with_traces_is_a_run(tmp_path: Path) -> None:
    logdir = place(
        tmp_path / "logs", "top.pt.trace.json", "a/w.pt.trace.json", "a/b/c/w.pt.trace.json.gz"
    )
    (tmp_path / "logs" / "empty").mkdir()
    (tmp_path / "logs" / "a" / "events.out.tfevents.1").write_text("x")
    assert spans(logdir) == [
        ("a", "w", "default", "w.pt.trace.json"),
        ("a/b/c", "w", "default", "w.pt.trace.json.gz"),
        ("logs", "top", "default", "top.pt.trace.json"),
    ]


def test_the_logdirs_own_run_keeps_apart_from_a_folder_of_its_name(tmp_path: Path) -> None:
    logdir = place(tmp_path / "x", "w.pt.trace.json", "x/w.pt.trace.json")
    assert [file[0] for file in spans(logdir)] == [".", "x"]


def test_spans_are_numbered_in_order_of_time(tmp_path: Path) -> None:
    stamps = ["1000", "999", "20", "3"]
    logdir = place(tmp_path, *(f"w.{s}.pt.trace.json" for s in stamps), "w.pt.trace.json")
    assert [(span, name) for _, _, span, name in spans(logdir)] == [
        ("default", "w.pt.trace.json"),
        ("1", "w.3.pt.trace.json"),
        ("2", "w.20.pt.trace.json"),
        ("3", "w.999.pt.trace.json"),
        ("4", "w.1000.pt.trace.json"),
    ]


def test_json_and_gzip_of_one_stamp_are_two_spans(tmp_path: Path) -> None:
    names = ["w.5.pt.trace.json", "w.5.pt.trace.json.gz", "w.6.pt.trace.json.gz"]
    logdir = place(tmp_path, *names, "v.pt.trace.json", "v.pt.trace.json.gz")
    assert [(worker, span) for _, worker, span, _ in spans(logdir)] == [
        ("v", "default"),
        ("v", "default-gz"),
        ("w", "1"),
        ("w", "1-gz"),
        ("w", "2"),
    ]


def test_links_in_circles_end_and_links_out_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    place(outside, "secret.pt.trace.json")
    logdir = place(tmp_path / "logs", "a/w.pt.trace.json")
    for link, target in [
        ("a/up", tmp_path / "logs"),
        ("a/self", tmp_path / "logs" / "a"),
        ("away", outside),
        ("a/stolen.pt.trace.json", outside / "secret.pt.trace.json"),
        ("a/passwd.pt.trace.json", Path("/etc/passwd")),
        ("a/dangling.pt.trace.json", tmp_path / "logs" / "nowhere"),
        ("a/alias.pt.trace.json", tmp_path / "logs" / "a" / "w.pt.trace.json"),
    ]:
        (tmp_path / "logs" / link).symlink_to(target)
    found = discover(logdir)
    assert [(file.run, file.worker) for file in found.files] == [("a", "alias"), ("a", "w")]
    told = " ".join(found.skipped.sentences)
    for name in ("away", "stolen.pt.trace.json", "passwd.pt.trace.json", "dangling"):
        assert name in told


def test_a_logdir_that_is_itself_a_link_is_walked(tmp_path: Path) -> None:
    place(tmp_path / "real", "w.pt.trace.json")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert len(discover(open_location(str(tmp_path / "link"))).files) == 1


def test_special_files_are_no_traces(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pt.trace.json")
    (tmp_path / "folder.pt.trace.json").mkdir()
    discovery = discover(open_location(str(tmp_path)))
    assert discovery.files == []
    (listed,) = discovery.skipped.listed
    assert (listed.name, listed.can_open) == ("pipe.pt.trace.json", False)
    assert "is a pipe" in listed.text


def test_names_that_are_not_utf8_become_valid_text(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/w\xff.pt.trace.json"
    Path(os.fsdecode(raw)).write_text("{}")
    (file,) = discover(open_location(str(tmp_path))).files
    assert file.worker == "w�"
    assert os.path.exists(file.location.path)


def test_a_folder_deeper_than_a_path_can_be_is_left_out(tmp_path: Path) -> None:
    logdir = place(tmp_path, "a/w.pt.trace.json")
    name = b"\xff" * 250
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(18):
        os.mkdir(name, dir_fd=folder)
        below = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    found = discover(logdir)
    assert [file.run for file in found.files] == ["a"]
    (told,) = found.skipped.sentences
    assert "File name too long" in told
    told.encode()


FLICKER = """
import os, sys, time
folder, until_s = sys.argv[1], time.monotonic() + 60
while time.monotonic() < until_s:
    os.makedirs(f"{folder}/b/c", exist_ok=True)
    os.symlink("../../a/w.pt.trace.json", f"{folder}/b/c/l.pt.trace.json")
    open(f"{folder}/b/c/v.pt.trace.json", "w").write("{}")
    for name in ("l", "v"):
        os.unlink(f"{folder}/b/c/{name}.pt.trace.json")
    os.rmdir(f"{folder}/b/c")
    open(f"{folder}/b/c", "w").close()
    os.unlink(f"{folder}/b/c")
    os.rmdir(f"{folder}/b")
"""


def test_folders_that_come_and_go_during_a_scan_cost_their_own_runs(tmp_path: Path) -> None:
    logdir = place(tmp_path, "a/w.pt.trace.json")
    told: set[str] = set()
    with subprocess.Popen([sys.executable, "-c", FLICKER, str(tmp_path)]) as flicker:
        until_s = time.monotonic() + 60
        while len(told) < 2 and time.monotonic() < until_s:
            found = discover(logdir)
            assert "a" in [file.run for file in found.files]
            told.update(found.skipped.sentences)
        flicker.kill()
    assert all("/b" in sentence or sentence.startswith("b/") for sentence in told)
    assert told


def test_a_logdir_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="does not exist") as caught:
        discover(open_location(str(tmp_path / "nowhere")))
    assert caught.value.code == "not_found"


def test_the_error_for_a_folder_without_traces_lists_what_was_searched(tmp_path: Path) -> None:
    logdir = place(tmp_path, "step5.json")
    error = no_traces_error(logdir, trace_names(), discover(logdir))
    assert "holds no trace" in error.message
    assert error.hint is not None
    assert "*.pt.trace.json" in error.hint
    assert "step5.json" in error.hint


def test_a_folder_of_links_says_how_they_are_followed(tmp_path: Path) -> None:
    place(tmp_path / "elsewhere", "t.json")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "t.json").symlink_to(tmp_path / "elsewhere" / "t.json")
    logdir = open_location(str(tmp_path / "logs"))
    hint = no_traces_error(logdir, trace_names(), discover(logdir)).hint
    assert hint is not None
    assert hint.count("t.json is a link that leads out") == 1
    assert "--follow-links" in hint


def test_files_that_may_be_traces_are_named_first(tmp_path: Path) -> None:
    others = ("profiler_info.json", "profiler_metadata.json", "settings.json", "trace_view.json")
    logdir = place(tmp_path, *others)
    hint = no_traces_error(logdir, trace_names(), discover(logdir)).hint
    assert hint is not None
    assert "(trace_view.json, " in hint


@pytest.mark.parametrize(
    ("name", "run", "worker", "span"),
    [
        ("exp/w.12.pt.trace.json", "exp", "w", "1"),
        ("exp/profile.json.gz", "exp", "profile", "default"),
    ],
)
def test_a_directly_named_file(tmp_path: Path, name: str, run: str, worker: str, span: str) -> None:
    place(tmp_path, name)
    file = file_as_span(open_location(str(tmp_path / name)))
    assert (file.run, file.worker, file.span) == (run, worker, span)
    assert file.state.size_bytes == 2


def test_a_store_of_folders_gets_one_request_per_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = fsspec.filesystem("memory")
    for name in ("a/w.2.pt.trace.json", "a/w.10.pt.trace.json.gz", "b/c/v.pt.trace.json", "x.txt"):
        memory.pipe(f"/discovery/{name}", b"{}")
    calls: list[str] = []
    ls = type(memory).ls

    def counted(self: Any, path: str, **options: Any) -> Any:
        calls.append(path)
        return ls(self, path, **options)

    monkeypatch.setattr(type(memory), "ls", counted)
    assert spans(open_location("memory://discovery")) == [
        ("a", "w", "1", "w.2.pt.trace.json"),
        ("a", "w", "2", "w.10.pt.trace.json.gz"),
        ("b/c", "v", "default", "v.pt.trace.json"),
    ]
    assert sorted(calls) == [f"/discovery{below}" for below in ("", "/a", "/b", "/b/c")]


def test_a_remote_logdir_that_does_not_exist() -> None:
    with pytest.raises(StorageError) as caught:
        discover(open_location("memory://no-such-folder"))
    assert caught.value.code == "not_found"
