"""``completion``: the scripts work in the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.cli.arguments import SHELLS

Run = Callable[..., Done]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_the_script(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert done.code == 0
    assert all(word in done.out for word in ("report", "compare", "names", "fail-on"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("re", {"record", "report"}),
        ("report --for", {"--format", "--formats", "--force", "--forward-start"}),
        ("report --format m", {"md"}),
        ("report lo", {"logs"}),
        ("report logs tr", {"trace.json"}),
        ("compare lo", {"logs"}),
        ("compare logs tr", {"trace.json"}),
        ("open tr", {"trace.json"}),
        ("report trace.json --output lo", {"logs"}),
        ("report trace.json --rules tr", {"trace.json"}),
    ],
)
def test_bash_completes(run: Run, tmp_path: Path, typed: str, completed: set[str]) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "trace.json").touch()
    script = tmp_path / "script"
    script.write_text(run("completion", "bash").out)
    words = ["torch-tb-profiler", *typed.split()]
    requested = f"""
        source "{script}"
        COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}
        _shtab_torch_tb_profiler torch-tb-profiler "{words[-1]}" "{words[-2]}"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", requested], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert set(done.stdout.split()) == completed


def test_an_unknown_shell_is_2(run: Run) -> None:
    assert run("completion", "cmd").code == 2
