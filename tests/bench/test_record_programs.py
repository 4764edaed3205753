"""The programs that are recorded exist, and steps that are not the true ones are seen."""

from __future__ import annotations

import ast
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

NAMED = ("loops.py", "endings.py", "frameworks.py")
"""Programs of several functions, of which an argument names one."""

BENCH = Path(__file__).parent.parent.parent / "bench"


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    import record_programs  # type: ignore[import-not-found]  # noqa: PLC0415

    return record_programs


def test_every_program_exists(programs: Any) -> None:
    missing = []
    for name, program in programs.CASES.items():
        for script, function in pairwise((*program.command, "")):
            if script.endswith(".py"):
                tree = ast.parse((BENCH / "programs" / script).read_text())
                functions = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
                if script in NAMED and function not in functions:
                    missing.append(name)
    assert not missing


@pytest.mark.parametrize(
    ("ends", "seen"),
    [
        ([20, 40, 60], []),
        ([20, 40], ["2 steps recorded, 3 taken"]),
        ([20, 40, 60, 80], ["4 steps recorded, 3 taken"]),
        ([20, 80, 90], ["step 1 ends 42.0 ms after its optimizer begins"]),
    ],
)
def test_steps_that_are_not_the_true_ones_are_seen(
    programs: Any, ends: list[int], seen: list[str]
) -> None:
    ms = 1_000_000
    steps = [[10 * ms, 18 * ms], [22 * ms, 38 * ms], [43 * ms, 58 * ms], [63 * ms, None]]
    truth = {"steps": steps, "ended": 70 * ms}
    some = programs.CASES["plain"]
    assert list(programs._differences(some, truth, [each * ms for each in ends])) == seen
