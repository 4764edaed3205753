"""The program runs through, and finds nothing on a few servers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "bench" / "first_requests.py"


def test_a_few_servers_survive_their_first_requests(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    faces = ("--serve", "1", "--cold", "0", "--tensorboard", "0", "--runs", "3")
    command = [sys.executable, str(PROGRAM), *faces, "--json", str(figures)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    values = {figure["name"]: figure["value"] for figure in json.loads(figures.read_text())}
    assert values["serve: answers"] == 16
