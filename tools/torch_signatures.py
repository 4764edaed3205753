"""Writes what the releases of torch have of all that the recorder's hooks expect
(``recorder/torch_api/hooks.json``) to ``tests/recorder/torch_api/signatures.json``.

    python tools/torch_signatures.py [--sources FOLDER]

Downloads one wheel after another (60 to 90 MB each: those of macOS are the smallest) and writes
names of parameters and attributes: no code. ``--sources`` takes unpacked wheels, in folders named
by version. Run it when the table has a new target, and for each new release of torch.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torch_tb_profiler.recorder.torch_api.expectations import load_hooks

OUTPUT = Path(__file__).resolve().parent.parent / "tests/recorder/torch_api/signatures.json"
VERSIONS = (
    "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1",
    "2.10.0", "2.11.0", "2.12.0", "2.13.0", "2.14.0", "2.15.0",
)  # fmt: skip
"""The last patch of each minor version."""

PLATFORMS = ("macosx_11_0_arm64", "macosx_14_0_arm64")

Read = Callable[[str], str | None]
"""The source of a file of torch; None if there is no such file."""

Facts = dict[str, Any]
"""``exists``, and for a class or function of the file itself ``parameters`` and ``names``: those of
its names that the table asks for."""


def main() -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sources", type=Path)
    sources = parser.parse_args().sources
    wanted = wanted_names()
    history: dict[str, list[Facts]] = {target: [] for target in wanted}
    for version in VERSIONS:
        print(f"torch {version}", flush=True)
        for target, facts in described(version, wanted, sources).items():
            rows = history[target]
            if (
                not rows
                or {key: value for key, value in rows[-1].items() if key != "since"} != facts
            ):
                rows.append({"since": version.rpartition(".")[0], **facts})
    lines = [
        f"  {json.dumps(target)}: [\n"
        + ",\n".join(f"   {json.dumps(row)}" for row in rows)
        + "\n  ]"
        for target, rows in history.items()
    ]
    head = f'{{\n "versions": {json.dumps(VERSIONS)},\n "targets": {{\n'
    OUTPUT.write_text(head + ",\n".join(lines) + "\n }\n}\n", encoding="utf-8")
    return 0


def wanted_names() -> dict[str, set[str]]:
    """Target → the names of its attributes that the table asks for."""
    wanted: dict[str, set[str]] = {}
    for hook in load_hooks().values():
        for key, expected in hook["needs"].items():
            names = wanted.setdefault(key.partition(">=")[0], set())
            for each in expected.get("names", ()):
                names.update(each.partition(">=")[0].split("|"))
    return wanted


def described(version: str, wanted: dict[str, set[str]], sources: Path | None) -> dict[str, Facts]:
    """The facts of all targets in a version.

    Raises:
        subprocess.CalledProcessError: there is no wheel of it.
    """
    if sources is not None:
        folder = sources / version
        return {target: facts(target, names, _read_in(folder)) for target, names in wanted.items()}
    with tempfile.TemporaryDirectory() as name:
        _download(version, Path(name))
        (wheel,) = Path(name).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            read = _read_of(archive)
            return {target: facts(target, names, read) for target, names in wanted.items()}


def _download(version: str, folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    of_python = ["--python-version", "3.11", "--implementation", "cp", "--only-binary=:all:"]
    for platform in PLATFORMS:
        command = [*pip, *of_python, "--platform", platform, "-d", str(folder), f"torch=={version}"]
        if subprocess.run(command, check=platform == PLATFORMS[-1]).returncode == 0:
            return


def _read_in(folder: Path) -> Read:
    def read(path: str) -> str | None:
        file = folder / path
        return file.read_text(encoding="utf-8") if file.is_file() else None

    return read


def _read_of(archive: zipfile.ZipFile) -> Read:
    present = set(archive.namelist())
    return lambda path: archive.read(path).decode() if path in present else None


def facts(target: str, names: set[str], read: Read) -> Facts:
    """The facts of a target."""
    module, _, path = target.partition(":")
    file = module.replace(".", "/")
    source = read(f"{file}.py") or read(f"{file}/__init__.py")
    if source is None:
        return {"exists": False}
    node: ast.AST = ast.parse(source)
    for name in path.split("."):
        own = [each for each in _definitions(node) if name in _names_defined(each)]
        if not own:
            return {"exists": False}
        node = own[-1]
    if isinstance(node, ast.ClassDef):
        return {"exists": True, "names": sorted(names & set(_names_used(node)))}
    if isinstance(node, ast.FunctionDef):
        listed = node.args
        parameters = [each.arg for each in (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)]
        some = {"parameters": None if listed.vararg or listed.kwarg else parameters}
        return {"exists": True, **some, "names": sorted(names & set(_names_used(node)))}
    return {"exists": True}


def _definitions(node: ast.AST) -> Iterator[ast.stmt]:
    """What a module or class defines, also under conditions."""
    for each in getattr(node, "body", ()):
        yield each
        if isinstance(each, ast.If | ast.Try):
            yield from _definitions(each)
            yield from _definitions(ast.Module(each.orelse, []))


def _names_defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {each.asname or each.name for each in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {each.id for each in targets if isinstance(each, ast.Name)}


def _names_used(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute):
            yield each.attr
        elif isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.FunctionDef):
            yield each.name


if __name__ == "__main__":
    sys.exit(main())
