"""Cases: entries survive packing; hostile members, headers, sizes and counts are rejected; a bomb
is stopped; damaged or truncated data is broken, wherever the damage is."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from pathlib import Path

import pytest

from torch_tb_profiler.storage.entry_manifest import BrokenEntryError
from torch_tb_profiler.storage.packing import MAX_FILES, pack, unpack

LIMIT = 1 << 20


def packed(folder: Path) -> io.BytesIO:
    buffer = io.BytesIO()
    pack(folder, buffer)
    buffer.seek(0)
    return buffer


def tarred(*members: tuple[tarfile.TarInfo, bytes], end: bytes = bytes(1024)) -> io.BytesIO:
    """Members as they are, whatever :mod:`tarfile` would make of them."""
    parts = []
    for member, content in members:
        parts += [member.tobuf(tarfile.GNU_FORMAT), content, bytes(-len(content) % 512)]
    return io.BytesIO(gzip.compress(b"".join(parts) + end))


def member(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info


def test_an_entry_survives_packing(tmp_path: Path) -> None:
    entry, again = tmp_path / "entry", tmp_path / "again"
    entry.mkdir()
    again.mkdir()
    files = {"a.arrow": b"x" * 100_000, "trace.json": b"{}", "empty": b"", "big": b"y" * 3_000_001}
    for name, content in files.items():
        (entry / name).write_bytes(content)
    buffer = packed(entry)
    unpack(buffer, again, 10 * LIMIT)
    assert {file.name: file.read_bytes() for file in again.iterdir()} == files
    assert len(buffer.getvalue()) < 50_000
    with tarfile.open(fileobj=io.BytesIO(buffer.getvalue())) as tar:  # others can read it as well
        assert {info.uname for info in tar} == {""}


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/b", "..", r"a\b", "", "a\nb", "ä"])
def test_hostile_names_stay_out(tmp_path: Path, name: str) -> None:
    with pytest.raises(BrokenEntryError, match="unlike any entry"):
        unpack(tarred((member(name, 1), b"x")), tmp_path, LIMIT)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE,
        tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
    ],
)  # fmt: skip
def test_only_plain_files_are_members(tmp_path: Path, kind: bytes) -> None:
    info = member("a", kind=kind)
    info.linkname = "/etc/passwd"
    with pytest.raises(BrokenEntryError, match="unlike any entry"):
        unpack(tarred((info, b"")), tmp_path, LIMIT)
    assert list(tmp_path.iterdir()) == []


def test_what_is_too_large_is_given_up(tmp_path: Path) -> None:
    bomb = io.BytesIO(gzip.compress(member("a", 1 << 33).tobuf(tarfile.GNU_FORMAT) + bytes(LIMIT)))
    many = [(member(f"{number}"), b"") for number in range(MAX_FILES + 1)]
    together = [(member(f"{number}", LIMIT // 2), bytes(LIMIT // 2)) for number in range(3)]
    for content in (bomb, tarred(*many), tarred(*together)):
        with pytest.raises(BrokenEntryError, match="more than"):
            unpack(content, tmp_path, LIMIT)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= LIMIT


def test_odd_members_are_broken(tmp_path: Path) -> None:
    for content in (
        tarred((member("a"), b""), (member("a"), b"")),
        tarred((member("a", -1), b"")),
        tarred((member("a", 700), b"x"), end=b""),
        io.BytesIO(gzip.compress(b"no tar" * 200)),
        io.BytesIO(b"\x1f\x8b no gzip"),
        io.BytesIO(b""),
    ):
        with pytest.raises(BrokenEntryError):
            unpack(content, tmp_path, LIMIT)


def test_damage_anywhere_is_broken_or_harmless(tmp_path: Path) -> None:
    entry = tmp_path / "entry"
    entry.mkdir()
    (entry / "data").write_bytes(random.Random(1).randbytes(3000))
    whole = packed(entry).getvalue()
    chance = random.Random(2)
    for number in range(300):
        content = bytearray(whole)
        if number % 3:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        else:
            del content[chance.randrange(len(content)) :]
        folder = tmp_path / f"{number}"
        folder.mkdir()
        try:
            unpack(io.BytesIO(content), folder, LIMIT)
        except BrokenEntryError:
            continue
        assert [file.name for file in folder.iterdir()] != []
