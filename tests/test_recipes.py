"""The recipes of ``docs/development.md`` work: each is followed to the letter in a copy of the
project, and what it says must pass is run there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "development.md"
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_COPIED = (".*", "node_modules", "static", "build", "dist", "out")
"""Compiled modules are copied: each command would compile the package again."""

TIMEOUT_S = 300


@dataclass(frozen=True)
class Block:
    """A fenced block: what it is, the file it is about, its text."""

    kind: str
    path: str
    text: str


def recipes() -> dict[str, list[Block]]:
    """Title → blocks, of the sections that have commands."""
    section = GUIDE.read_text(encoding="utf-8").partition("\n## To add\n")[2].partition("\n## ")[0]
    parts = [part.partition("\n") for part in section.split("\n### ")[1:]]
    blocks = {title: [Block(*each) for each in BLOCK.findall(text)] for title, _, text in parts}
    return {title: parts for title, parts in blocks.items() if any(b.kind == "sh" for b in parts)}


def apply_diff(folder: Path, text: str) -> None:
    """Change a file: the lines with a space and a minus stand there once, in this order; those with
    a space and a plus take their place. The last may be the beginning of a line."""
    head, _, body = text.partition("\n")
    path = folder / head.removeprefix("--- ")
    lines = body.splitlines()
    before = "\n".join(line[1:] for line in lines if line[:1] != "+")
    after = "\n".join(line[1:] for line in lines if line[:1] != "-")
    content = path.read_text(encoding="utf-8")
    count = content.count(before)
    assert count == 1, f"{path.name} has the lines of a change {count} times:\n{before}"
    path.write_text(content.replace(before, after), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project."""
    folder = tmp_path / "project"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
    return folder


def test_there_are_four_recipes() -> None:
    assert list(recipes()) == ["A column", "A detector", "A view", "A format"]


@pytest.mark.parametrize("title", recipes())
def test_a_recipe_can_be_followed(title: str, project: Path) -> None:
    options = "-p no:cacheprovider --hypothesis-profile=brief"
    environment = {**os.environ, "PYTHONPATH": str(project), "PYTEST_ADDOPTS": options}
    for block in recipes()[title]:
        if block.kind == "diff":
            apply_diff(project, block.text)
        elif block.path:
            (project / block.path).parent.mkdir(parents=True, exist_ok=True)
            (project / block.path).write_text(block.text, encoding="utf-8")
        else:
            for command in block.text.splitlines():
                words = [sys.executable if w == "python" else w for w in shlex.split(command)]
                done = subprocess.run(
                    words, cwd=project, env=environment, capture_output=True, text=True,
                    timeout=TIMEOUT_S, check=False,
                )  # fmt: skip
                assert done.returncode == 0, (
                    f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
                )
