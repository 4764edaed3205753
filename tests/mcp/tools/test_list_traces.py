"""Cases: every file with its size on disk; filter and paging; a broken file; skipped files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.helpers.mcp_answers import Ask, asking, opened, rows_of

Writer = Callable[..., Path]


def test_every_recording_with_its_size_on_disk(ask: Ask, samples: Path) -> None:
    rows = rows_of(ask("list_traces", max_chars=20_000), "trace")
    sizes = sorted(path.stat().st_size for path in samples.glob("*/*.json.gz"))
    assert sorted(int(row["size_bytes"]) for row in rows) == sizes
    assert {row["format"] for row in rows} == {"PyTorch"}
    text = ask("list_traces")
    assert text.startswith(f"{len(sizes)} recordings in 9 runs of 19 workers.")


def test_filter_and_paging(ask: Ask) -> None:
    text = ask("list_traces", filter="DLRM")
    names = [row["trace"] for row in rows_of(text, "trace")]
    assert names == [f"dlrm_8_ranks/worker{rank}_step_12" for rank in range(8)]
    text = ask("list_traces", filter="dlrm", offset=6)
    assert [row["trace"] for row in rows_of(text, "trace")] == names[6:]
    text = ask("list_traces", max_chars=1_000)
    shown = len(rows_of(text, "trace"))
    assert 0 < shown < 20
    assert f"{20 - shown} recordings; ask with offset={shown}" in text


def test_nothing_has_the_name(ask: Ask) -> None:
    assert "0 have 'nothing' in their name" in ask("list_traces", filter="nothing")


def test_steps_and_state_are_those_of_what_was_read(tmp_path: Path, write_trace: Writer) -> None:
    write_trace(tmp_path / "good" / "w.pt.trace.json")
    broken = tmp_path / "bad" / "w.pt.trace.json"
    broken.parent.mkdir()
    broken.write_text("no trace")
    (tmp_path / "notes.txt").write_text("notes")
    with opened(tmp_path) as context:
        ask = asking(context)
        rows = {row["trace"]: row for row in rows_of(ask("list_traces"), "trace")}
        assert rows["good"]["steps"] == "null"
        assert rows["good"]["state"] == "not read yet"
        ask("verdict", trace="good")
        rows = {row["trace"]: row for row in rows_of(ask("list_traces"), "trace")}
        assert rows["good"]["steps"] == "1"
        assert rows["good"]["state"] == "ready"


def test_the_filter_looks_in_the_whole_name_and_the_file(ask: Ask) -> None:
    """The file of the first span of the ResNet has 1623143089861 in its name."""
    names = [row["trace"] for row in rows_of(ask("list_traces", filter="nw2/nw2"), "trace")]
    assert names == ["cpu_slowloader_nw2"]
    names = [row["trace"] for row in rows_of(ask("list_traces", filter="1623143089861"), "trace")]
    assert names == ["kineto_resnet50_nw0/worker0/1"]
