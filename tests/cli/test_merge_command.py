"""``merge``: the file, packed or on stdout; what is refused; and what is said of the clocks."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from torch_tb_profiler.cli import main


def test_chosen_ranks_are_written_packed(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new" / "merged.json.gz"
    command = ["merge", str(samples / "dlrm_8_ranks"), "--no-cache", "--ranks", "0-1"]
    assert main([*command, "--output", str(target)]) == 0
    document = json.loads(gzip.decompress(target.read_bytes()))
    assert [each["rank"] for each in document["mergedRanks"]] == [0, 1]
    assert "2 ranks of dlrm_8_ranks, clocks aligned within" in capsys.readouterr().err
    assert main([*command, "--output", str(target)]) == 2
    assert "is not overwritten" in capsys.readouterr().err
    assert main([*command, "--output", str(target), "--force"]) == 0


def test_ranks_that_nothing_connects_are_named(
    tmp_path: Path, write_trace: object, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert callable(write_trace)
    for rank in range(2):
        info = {"rank": rank, "world_size": 2}
        write_trace(tmp_path / f"w{rank}.1.pt.trace.json", distributedInfo=info)
    assert main(["merge", str(tmp_path), "--no-cache", "--output", "-"]) == 0
    out, err = capsysbinary.readouterr()
    assert len(json.loads(out)["mergedRanks"]) == 2
    assert b"w1: no collective connects their clocks with that of w0" in err


@pytest.mark.parametrize(("ranks", "code"), [("7-9", 2), ("nobody", 2)])
def test_unknown_ranks_are_refused_and_leave_no_file(
    samples: Path, tmp_path: Path, ranks: str, code: int
) -> None:
    target = tmp_path / "merged.json"
    command = ["merge", str(samples / "cpu_ddp4_gloo"), "--no-cache", "--ranks", ranks]
    assert main([*command, "--output", str(target)]) == code
    assert not target.exists()
