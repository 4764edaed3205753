"""The quick ones of the faults that ``bench/faults.py`` makes; the program makes them all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
QUICK = ("no home", "full in the cache", "of another user", "deleted while", "C`")


@pytest.mark.skipif(sys.platform != "linux", reason="faults are made with what Linux has")
@pytest.mark.parametrize("name", QUICK)
def test_a_fault_does_not_fell_it(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "bench/faults.py", "--only", name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " of 1 hold" in done.stdout
