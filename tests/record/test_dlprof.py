"""``dlprof`` with a program: recorded and reported by one command line of DLProf's."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "programs" / "plain.py"
TIMEOUT_S = 300


def test_a_program_is_recorded_and_its_iterations_reported(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch_tb_profiler", "dlprof", "-v", "quiet", "--mode=pytorch"]
    command += [
        "--iter_start=3",
        "--iter_stop=6",
        "--reports=summary,detail,group_node",
        "--profile_name=p",
    ]
    command += ["--dump_model_data=true", "--output_path=out", sys.executable, str(PROGRAM)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "[record]" not in done.stderr
    out = tmp_path / "out"
    assert sorted(os.listdir(out)) == [
        "nsys_profile",
        "p_detail.csv",
        "p_group_node.csv",
        "p_model_data.json",
        "p_summary.csv",
    ]
    summary = (out / "p_summary.csv").read_text()
    assert "Iteration Start,3\nIteration Stop,6\n" in summary
    assert list((tmp_path / "event_files").rglob("events.out.tfevents.*"))
    with (out / "p_detail.csv").open(newline="") as file:
        detail = list(csv.DictReader(file))
    with (out / "p_group_node.csv").open(newline="") as file:
        groups = {row["Name"]: row for row in csv.DictReader(file)}
    assert any(name.endswith("/Linear_0") for name in groups), groups.keys()
    data = json.loads((out / "p_model_data.json").read_text())["model_data"]
    assert {row["iteration"] for row in data["iterations"]} == {3, 4, 5, 6}
    calls = [row["calls"] for row in data["operator_calls"]]
    assert sum(calls) == sum(int(row["No. Calls"]) for row in detail)
