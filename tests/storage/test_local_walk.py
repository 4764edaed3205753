"""Cases: links out of the logdir are skipped with a hint at the option to follow them; followed,
they are read once, even in circles; links inside the logdir list nothing twice; skipped files have
their reason and may be opened, or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.discovered import looked_into
from torch_tb_profiler.storage import local_walk, skipped_files
from torch_tb_profiler.storage.discovery import Discovery
from torch_tb_profiler.storage.locations import file_state, open_location
from torch_tb_profiler.storage.skipped_files import SkippedFiles

TRACE = '{"schemaVersion": 1, "traceEvents": [{"ph": "X", "ts": 1}]}'


def write(path: Path, text: str = TRACE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    write(outside / "deep" / "rank0.json")
    write(outside / "w.pt.trace.json")
    folder = tmp_path / "logs"
    write(folder / "a" / "w.pt.trace.json")
    for link, target in [
        ("away", outside),
        ("again", outside),
        ("a/up", folder),
        ("out.json", outside / "deep" / "rank0.json"),
        ("out.pt.trace.json", outside / "w.pt.trace.json"),
        ("inside.json", folder / "a" / "w.pt.trace.json"),
    ]:
        (folder / link).symlink_to(target)
    (outside / "back").symlink_to(folder)
    (outside / "deep" / "circle").symlink_to(outside)
    return folder


def found(folder: Path, *, follows_links: bool) -> Discovery:
    return looked_into(open_location(str(folder)), follows_links=follows_links)


def test_links_out_are_left_out_with_the_option_that_follows_them(logdir: Path) -> None:
    discovery = found(logdir, follows_links=False)
    assert [file.path for file in discovery.files] == ["a/w.pt.trace.json", "inside.json"]
    links = {one.name: one for one in discovery.skipped.listed}
    assert set(links) == {"again", "away", "out.json", "out.pt.trace.json"}
    assert {(one.reason, one.can_open) for one in links.values()} == {("link_out", False)}
    assert all("--follow-links" in one.text for one in links.values())
    assert len(discovery.skipped.sentences) == 3  # files without a trace name are not reported


def test_followed_links_are_read_each_folder_once(logdir: Path) -> None:
    discovery = found(logdir, follows_links=True)
    paths = {file.path for file in discovery.files}
    behind = {path for path in paths if path.startswith(("away", "again"))}
    assert {path.partition("/")[2] for path in behind} == {"w.pt.trace.json", "deep/rank0.json"}
    assert len(behind) == 2
    assert paths - behind == {
        "a/w.pt.trace.json",
        "inside.json",
        "out.json",
        "out.pt.trace.json",
    }
    assert all(file_state(file.location) == file.state for file in discovery.files)
    assert discovery.skipped.listed == []


def test_a_discovered_file_may_not_become_a_link_that_leads_out(
    logdir: Path, tmp_path: Path
) -> None:
    discovery = found(logdir, follows_links=True)
    inside = next(file for file in discovery.files if file.path == "a/w.pt.trace.json")
    assert inside.location.root == str(logdir)


def test_links_to_very_many_folders_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_walk, "MAX_LINKED_FOLDERS", 5)
    for number in range(20):
        write(tmp_path / "outside" / str(number) / "w.pt.trace.json")
    write(tmp_path / "logs" / "w.pt.trace.json")
    (tmp_path / "logs" / "away").symlink_to(tmp_path / "outside")
    discovery = found(tmp_path / "logs", follows_links=True)
    assert len(discovery.files) == 5
    assert discovery.skipped.counts["link_out"] == 16


def test_what_is_left_out_is_listed_with_its_reason(tmp_path: Path) -> None:
    write(tmp_path / "w.pt.trace.json")
    write(tmp_path / "config.json", "{}")
    write(tmp_path / "snapshot.json", '{"segments": [], "blocks": []}')
    (tmp_path / "dangling.json").symlink_to(tmp_path / "nowhere.json")
    listed = found(tmp_path, follows_links=False).skipped.listed
    assert [(one.name, one.reason, one.can_open) for one in listed] == [
        ("dangling.json", "unreadable", False),
        ("snapshot.json", "memory_snapshot", True),
        ("config.json", "not_a_trace", True),
    ]


def test_lists_are_bounded_and_counts_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skipped_files, "MAX_LISTED", 3)
    monkeypatch.setattr(skipped_files, "MAX_SENTENCES", 2)
    others = SkippedFiles()
    place = open_location("/x")
    for number in range(5):
        others.add(f"{number}.json", "not_a_trace", "It is none.", place)
        others.report(f"{number}.link", "link_out", "It leads out.")
    assert [one.name for one in others.listed] == ["0.link", "1.link", "2.link"]
    assert others.counts == {"not_a_trace": 5, "link_out": 5}
    assert len(others.sentences) == 2
    assert len(others.openable) == 5
    copied = others.copy()
    copied.report("more", "link_out", "It leads out.")
    assert others.counts["link_out"] == 5
