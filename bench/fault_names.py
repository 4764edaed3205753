"""Faults of what lies in a folder: journals beside a database, names that mean something else."""

from __future__ import annotations

import os
import random
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path

from fault_scene import SAMPLES, VIEWS, Scene, has_no_crash, is_refused, is_right
from make_nsys import nsys_database

SEED = 31
ROLLBACK_MAGIC = bytes.fromhex("d9d505f920a163d7")
NOISE = random.Random(SEED).randbytes(100_000)
SPARSE_BYTES = 20 << 30
FOLDERS = 1500
READABLE = 40
"""Of the folders; the others hold a damaged trace, which takes no time of its own."""

NAMES = (
    b"a\nb", b"-rf", b"..\\..\\x", b"..%2f..%2fetc", b"\xff\xfe\x80", "\u202egnp.exe".encode(),
    b"a\x1b[2J\x07", b"con", b" ", b"'; drop table x; --", b"$(id)", b"`id`", b"x" * 255,
    b"<img src=x onerror=alert(1)>", b"\x01\x7f", b"\xed\xa0\x80", b"=cmd|'/C calc'!A0", b"*", b"~",
    "\u00fc".encode(), "u\u0308".encode(), b"CON.txt", b"...",
)  # fmt: skip


def _noise(path: Path) -> None:
    path.write_bytes(NOISE)


def _link_to_itself(path: Path) -> None:
    path.symlink_to(path)


NO_JOURNALS: tuple[Callable[[Path], None], ...] = (
    Path.touch, Path.mkdir, os.mkfifo, _link_to_itself,
)  # fmt: skip


def journals_beside_a_database(scene: Scene) -> None:
    """What lies where SQLite keeps a journal is read as one only if it is a file with content."""
    folder = scene.traces / "nsys"
    folder.mkdir()
    database = shutil.copy(nsys_database(300, graphs=False), folder / "a.sqlite")
    truth = scene.truth()
    harmless = [(make, ending) for make in NO_JOURNALS for ending in ("-journal", "-wal", "-shm")]
    for make, ending in [(_noise, "-shm"), *harmless]:
        companion = Path(f"{database}{ending}")
        make(companion)
        is_right(scene.report("--no-cache"), truth)
        _remove(companion)
    for ending, head in (("-journal", ROLLBACK_MAGIC), ("-wal", NOISE)):
        companion = Path(f"{database}{ending}")
        with companion.open("wb") as file:
            file.write(head)
            file.truncate(SPARSE_BYTES)
        is_refused(scene.report("--no-cache"), "a.sqlite", ending)
        _remove(companion)


def hostile_names(scene: Scene) -> None:
    """A folder of hostile names, reported into files: none lies elsewhere or has such a name."""
    (source,) = (SAMPLES / "h100_bert_small").glob("*.gz")
    whole = source.read_bytes()
    for number in range(FOLDERS):
        name = NAMES[number % len(NAMES)]
        if number >= len(NAMES):
            name = name[:240] + b"%d" % number
        run = os.path.join(os.fsencode(scene.traces), name)
        os.makedirs(run, exist_ok=True)
        content = whole if number < READABLE else b"{"
        ending = b".pt.trace.json.gz" if number < READABLE else b".pt.trace.json"
        with open(os.path.join(run, b"w\x1b%d" % number + ending), "wb") as file:
            file.write(content)
    before = set(scene.folder.iterdir())
    output = scene.folder / "out"
    for form in ("json", "csv", "html"):
        ended = scene.run(
            "report", str(scene.traces), "--view", VIEWS, "--format", form, "--output", str(output),
        )  # fmt: skip
        has_no_crash(ended.err)
        assert ended.code == 3, ended.err[-2000:]  # the damaged ones
        assert not any(ord(letter) < 32 and letter != "\n" for letter in ended.err), form
        assert "\u202e" not in ended.err, form
    assert set(scene.folder.iterdir()) - before <= {output, scene.cache}
    written = [path.name for path in output.rglob("*")]
    assert len(written) >= READABLE * 2
    for plain in written:
        is_plain = all(unicodedata.category(letter)[0] not in "CZ" for letter in plain)
        assert is_plain, ascii(plain)
        assert not plain.startswith(("-", ".")), ascii(plain)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()
