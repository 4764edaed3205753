"""The loader: what a damaged knowledge file says, and that what it keeps is never outdated."""

from __future__ import annotations

import os
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import pytest

from torch_tb_profiler.knowledge import files


class _Names(msgspec.Struct):
    names: dict[str, int]


def test_a_file_that_breaks_its_schema_is_named_with_the_position() -> None:
    with pytest.raises(files.KnowledgeError, match=r"devices\.toml: .*int.*\$\.names"):
        files.load("devices.toml", _Names)


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what Python keeps."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    return tmp_path / "__pycache__"


def test_what_was_parsed_is_not_parsed_again_until_the_file_changes(
    tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "names.toml"
    path.write_text("[names]\none = 1\n")
    assert files.load_file(path, _Names).names == {"one": 1}
    (kept,) = compiled.iterdir()
    assert kept.name.startswith("names.toml.")  # not that of a module names.py
    with monkeypatch.context() as patched:
        patched.setattr(msgspec.toml, "decode", None)
        assert files.load_file(path, _Names).names == {"one": 1}
    path.write_text("[names]\ntwo = 22\n")
    assert files.load_file(path, _Names).names == {"two": 22}
    path.write_text("[names]\ntwo = 33\n")
    os.utime(path, (1, 1))
    assert files.load_file(path, _Names).names == {"two": 33}


def test_where_nothing_can_be_kept_the_file_is_parsed(
    tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "names.toml"
    path.write_text("[names]\none = 1\n")
    compiled.write_text("no folder")
    assert files.load_file(path, _Names).names == {"one": 1}
    compiled.unlink()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert files.load_file(path, _Names).names == {"one": 1}
    assert not compiled.exists()


def test_every_file_gives_the_values_of_its_text(
    tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    for path in Path(files.__file__).parent.glob("*.toml"):
        expected = msgspec.toml.decode(path.read_bytes())
        assert files.load_file(path, dict[str, Any]) == expected
        assert files.load_file(path, dict[str, Any]) == expected  # now as it was kept
    assert not compiled.exists()


def test_the_files_travel_with_the_package() -> None:
    folder = resources.files("torch_tb_profiler.knowledge")
    assert {item.name for item in folder.iterdir() if item.name.endswith(".toml")} >= {
        "kernels.toml",
        "operators.toml",
        "communication.toml",
        "dtypes.toml",
        "gpus.toml",
        "devices.toml",
    }
