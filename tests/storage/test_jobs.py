"""Jobs that were recorded into one folder: worked examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.discovered import discover
from torch_tb_profiler.storage.locations import open_location


def runs(logdir: Path, *names: str) -> set[tuple[str, str, str]]:
    for name in names:
        file = logdir / name
        if not name.endswith(".json"):
            file = file / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    files = discover(open_location(str(logdir))).files
    return {(each.run, each.worker, each.span) for each in files}


RANKS = ("log/n1_11_20250109074804100_ascend_pt", "log/n2_11_20250109074901500_ascend_pt")
LATER = "log/n1_{}_20250109075304100_ascend_pt"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (RANKS, {("log", "n1_11", "1"), ("log", "n2_11", "1")}),
        (
            (*RANKS, LATER.format(11)),
            {("log", "n1_11", "1"), ("log", "n1_11", "2"), ("log", "n2_11", "1")},
        ),
        (
            (*RANKS, LATER.format(22), "log/rank0_ascend_pt", "log/w.pt.trace.json"),
            {
                ("log/20250109074804", "n1_11", "1"),
                ("log/20250109074804", "n2_11", "1"),
                ("log/20250109075304", "n1_22", "1"),
                ("log", "rank0", "default"),
                ("log", "w", "default"),
            },
        ),
        (
            ("n1_1_20250109074804_ascend_pt", "n1_2_20250110074804_ascend_pt"),
            {("20250109074804", "n1_1", "1"), ("20250110074804", "n1_2", "1")},
        ),
        (
            ("log/w_1.1711022308840235.pt.trace.json", "log/w_2.1811022308840235.pt.trace.json"),
            {("log", "w_1", "1"), ("log", "w_2", "1")},  # no dates
        ),
        (
            ("log/a_20259909074804100_ascend_pt", RANKS[0]),
            {("log", "a", "1"), ("log", "n1_11", "1")},
        ),
    ],
    ids=["ranks", "spans", "two jobs", "in the logdir", "numbers", "no such month"],
)
def test_jobs_of_one_folder(
    tmp_path: Path, names: tuple[str, ...], expected: set[tuple[str, str, str]]
) -> None:
    assert runs(tmp_path, *names) == expected
