"""Journals are appended to by several processes, and write to no other file."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

from torch_tb_profiler.recorder.run_folder.journal import JournalWriter, append_to


def journal_lines(journal: JournalWriter) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(journal.path).read_text().splitlines()]


def opened_in(folder: Path) -> JournalWriter:
    journal = JournalWriter(str(folder), "host_1")
    journal.open({"kind": "header"}, "rank0", "rank0_host_1")
    return journal


def test_no_file_is_created_before_any_activity(tmp_path: Path) -> None:
    journal = JournalWriter(str(tmp_path / "run"), "host_1")
    journal.write({"kind": "missing"})
    assert not (tmp_path / "run").exists()
    journal.open({"kind": "header"}, "rank0", "rank0_host_1")
    assert journal.path.endswith("rank0.record.jsonl")
    journal.write({"kind": "end"})
    assert [line["kind"] for line in journal_lines(journal)] == ["header", "missing", "end"]


def test_two_processes_of_one_name_get_separate_files(tmp_path: Path) -> None:
    """A process that becomes another program has its id twice."""
    journals = [JournalWriter(str(tmp_path), f"host_{pid}") for pid in (1, 2, 2)]
    for journal in journals:
        journal.open({"kind": "header"}, "rank0", f"rank0_{journal.worker}")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "rank0.record.jsonl",
        "rank0_host_2-2.record.jsonl",
        "rank0_host_2.record.jsonl",
    ]
    assert not any(journal.problem for journal in journals)


def test_a_program_that_closes_all_descriptors_keeps_its_files(tmp_path: Path) -> None:
    journal = opened_in(tmp_path)
    opened = int(journal._file or 0)
    os.close(opened)
    own = os.open(tmp_path / "own.txt", os.O_WRONLY | os.O_CREAT)
    assert own == opened  # the lowest free number
    journal.write({"kind": "steps"})
    journal.write({"kind": "end"})
    journal.close()
    os.write(own, b"mine")
    os.close(own)
    assert (tmp_path / "own.txt").read_text() == "mine"
    assert [line["kind"] for line in journal_lines(journal)] == ["header", "steps", "end"]


def test_lines_of_threads_and_processes_do_not_interleave(tmp_path: Path) -> None:
    journal = opened_in(tmp_path)

    def report(number: int) -> None:
        for index in range(50):
            journal.write({"kind": "work", "who": number, "index": index, "text": "x" * 999})
            append_to(journal.path, {"kind": "other", "who": number, "index": index})

    threads = [threading.Thread(target=report, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result = sorted(
        (line["kind"], line["who"], line["index"]) for line in journal_lines(journal)[1:]
    )
    assert result == sorted(
        (kind, who, index) for kind in ("work", "other") for who in range(16) for index in range(50)
    )


def test_write_failures_are_problems_not_exceptions(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    journal = opened_in(tmp_path / "run")
    journal.write({"kind": "missing"})
    journal.write({"bad": object()})
    assert journal.problem is not None
    assert not append_to(str(tmp_path / "none.record.jsonl"), {"kind": "end"})
