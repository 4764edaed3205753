"""Damage to cache entries, in a folder and in buckets, changes no answer and is no error.

``bench/bit_flips.py`` does the same with thousands of damages, in processes of their own.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from bench.cache_damages import DAMAGES, Case, Scene
from torch_tb_profiler.storage.cache_location import CACHE_VARIABLE
from torch_tb_profiler.storage.signing import KEY_VARIABLE

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
EVERY_TABLE = "overview,operators,kernels,memory,modules"
"""Views that need every table of a trace between them."""


def two_ranks(sample: str, folder: Path) -> None:
    """Copy the first files of a sample."""
    for file in sorted((SAMPLES / sample).glob("*.json*"))[:2]:
        shutil.copy(file, folder)


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the scenes set is taken back."""
    for name in ("XDG_CACHE_HOME", KEY_VARIABLE, CACHE_VARIABLE):
        monkeypatch.setenv(name, "")


@pytest.mark.parametrize(
    ("sample", "place", "seed"),
    [
        ("torch_compile_triton", "folder", 0),
        ("cpu_ddp4_gloo", "folder", 10),
        ("cpu_ddp4_gloo", "bucket", 20),
        ("torch_compile_triton", "signed bucket", 30),
    ],
)
def test_no_damage_changes_an_answer(tmp_path: Path, sample: str, place: str, seed: int) -> None:
    scene = Scene(tmp_path, place, EVERY_TABLE)
    scene.prepare(partial(two_ranks, sample))
    shutil.copytree(tmp_path / "whole", tmp_path / "cache")
    assert scene.answer() == ((tmp_path / "answers").read_bytes(), 0)  # whole, none is broken
    noticed = 0
    for kind in DAMAGES:
        for number in range(seed, seed + (2 if kind == "one bit" else 1)):
            outcome, broken = scene.play(Case("", kind, number))
            assert outcome == "same", (kind, number)
            noticed += broken > 0
    # Of 9: the others are missing files, and those that hit an object nobody asks for; which one
    # that is follows from its name, a digest of the place of the file.
    assert noticed >= 2


def test_a_cache_holds_traces_and_summaries(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "folder")
    scene.prepare(partial(two_ranks, "cpu_ddp4_gloo"))
    names = [path.name for path in (tmp_path / "whole").rglob("*")]
    assert names.count("trace.json") == names.count("summary.msgpack") == 2
