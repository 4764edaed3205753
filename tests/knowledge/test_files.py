"""The loader: what a damaged knowledge file says."""

from __future__ import annotations

from importlib import resources

import msgspec
import pytest

from torch_tb_profiler.knowledge import files


class _Names(msgspec.Struct):
    names: dict[str, int]


def test_a_file_that_breaks_its_schema_is_named_with_the_position() -> None:
    with pytest.raises(files.KnowledgeError, match=r"devices\.toml: .*int.*\$\.names"):
        files.load("devices.toml", _Names)


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
