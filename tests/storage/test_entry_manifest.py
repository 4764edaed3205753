"""Cases: a sealed folder is valid; every flipped bit is detected, in the manifest too; truncated,
missing, added, swapped files, links and pipes; the entry of another name; an invalid manifest;
errors of a reader, panics included, mean a broken entry, an interrupt does not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from isal import isal_zlib

from torch_tb_profiler.storage.entry_manifest import (
    MANIFEST,
    MAX_MANIFEST_BYTES,
    BrokenEntryError,
    read_entry,
    seal,
    verify,
    verify_sizes,
)

NAME = "k" * 40
FILES = {"a.arrow": bytes(range(200)), "trace.json": b"{}", "empty": b""}


@pytest.fixture(name="entry")
def sealed_entry(tmp_path: Path) -> Path:
    folder = tmp_path / "entry"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    seal(folder, NAME)
    return folder


def test_a_sealed_folder_is_whole(entry: Path) -> None:
    verify(entry, NAME)
    assert set(verify_sizes(entry, NAME)) == set(FILES)
    assert read_entry(entry, NAME, lambda folder: (folder / "trace.json").read_text()) == "{}"


def test_every_flipped_bit_is_noticed(entry: Path) -> None:
    for file in sorted(entry.iterdir()):
        content = file.read_bytes()
        for bit in range(len(content) * 8):
            changed = bytearray(content)
            changed[bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            with pytest.raises(BrokenEntryError):
                verify(entry, NAME)
        file.write_bytes(content)
    verify(entry, NAME)


def swap(entry: Path) -> None:
    other = entry.parent / "other"
    shutil.copytree(entry, other)
    (other / "trace.json").write_bytes(b"[]")
    seal(other, NAME)
    shutil.copy(other / "trace.json", entry / "trace.json")


def link(entry: Path) -> None:
    (entry / "trace.json").rename(entry.parent / "outside")
    (entry / "trace.json").symlink_to(entry.parent / "outside")


def pipe(entry: Path) -> None:
    (entry / "trace.json").unlink()
    os.mkfifo(entry / "trace.json")


def manifest_pipe(entry: Path) -> None:
    (entry / MANIFEST).unlink()
    os.mkfifo(entry / MANIFEST)


def forge(text: bytes) -> Callable[[Path], object]:
    line = f"{isal_zlib.crc32(text):08x}\n".encode()
    return lambda entry: (entry / MANIFEST).write_bytes(line + text)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda entry: os.truncate(entry / "a.arrow", 150),
    "longer": lambda entry: os.truncate(entry / "a.arrow", 250),
    "zeros": lambda entry: (entry / "a.arrow").write_bytes(bytes(len(FILES["a.arrow"]))),
    "missing": lambda entry: (entry / "empty").unlink(),
    "added": lambda entry: (entry / "more").touch(),
    "a folder": lambda entry: (entry / "more").mkdir(),
    "of another entry": swap,
    "a link": link,
    "a pipe": pipe,
    "no seal": lambda entry: (entry / MANIFEST).unlink(),
    "a pipe as seal": manifest_pipe,
    "cut seal": lambda entry: os.truncate(entry / MANIFEST, 30),
    "empty seal": lambda entry: os.truncate(entry / MANIFEST, 0),
    "endless seal": lambda entry: os.truncate(entry / MANIFEST, MAX_MANIFEST_BYTES * 50),
    "forged: null": forge(b"null"),
    "forged: deep": forge(b"[" * 100_000),
    "forged: infinite": forge(b'{"version":1,"name":"x","files":{"a":[1e999,0]}}'),
    "forged: numbers": forge(b'{"version":1,"name":"x","files":{"a":["x",0]}}'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damages_are_noticed(entry: Path, damage: str) -> None:
    DAMAGES[damage](entry)
    with pytest.raises(BrokenEntryError):
        verify(entry, NAME)


def test_the_entry_of_another_name_is_not_this_one(entry: Path) -> None:
    with pytest.raises(BrokenEntryError, match="another entry"):
        verify_sizes(entry, "x" * 40)


def panic(_folder: Path) -> None:
    raise pl.exceptions.PanicException("as the library does")


def lack_memory(_folder: Path) -> None:
    raise MemoryError


def fail(_folder: Path) -> None:
    raise AttributeError("anything")


@pytest.mark.parametrize("read", [panic, lack_memory, fail])
def test_a_reader_that_fails_means_a_broken_entry(
    entry: Path, read: Callable[[Path], None]
) -> None:
    with pytest.raises(BrokenEntryError):
        read_entry(entry, NAME, read)


def test_an_interrupt_is_no_broken_entry(entry: Path) -> None:
    def interrupt(_folder: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_entry(entry, NAME, interrupt)
