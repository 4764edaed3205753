"""Caches of recordings, damages to their files, and what a user sees then."""

from __future__ import annotations

import io
import logging
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from torch_tb_profiler.cli import main as torch_tb_profiler
from torch_tb_profiler.loading.opening.open_file import wait_until_cached
from torch_tb_profiler.storage.signing import KEY_VARIABLE

SIGNING_KEY = "a key of the benchmark, no secret"


@dataclass(frozen=True)
class Case:
    """One damage.

    Attributes:
        scene: Name of the :class:`Scene`.
        kind: One of :data:`DAMAGES`.
        seed: Decides the file and the place in it.
        number: Index of the file among all of them; None lets the seed decide.
    """

    scene: str
    kind: str
    seed: int
    number: int | None = None


@dataclass(frozen=True)
class Scene:
    """One recording with a cache.

    Attributes:
        folder: With ``logs``, the cache as it was written in ``whole``, the cache that is used
            and damaged in ``cache``, and ``answers``.
        place: Where the cache is: ``folder``, ``bucket`` or ``signed bucket``.
        views: What is asked for.
    """

    folder: Path
    place: str
    views: str = "all"

    def prepare(self, write: Callable[[Path], None]) -> None:
        """Let ``write`` put the recording into a folder; make the cache and the answers."""
        (self.folder / "logs").mkdir(parents=True)
        write(self.folder / "logs")
        self.answer()
        answer, _ = self.answer()
        (self.folder / "answers").write_bytes(answer)
        (self.folder / "cache").rename(self.folder / "whole")

    def play(self, case: Case) -> tuple[str, int]:
        """Damage the cache and ask again.

        Returns:
            ``same``, ``changed`` or ``failed``, and how many entries were noticed as broken.
        """
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        shutil.copytree(self.folder / "whole", self.folder / "cache")
        chance = random.Random(case.seed)
        files = self.files("cache")
        file = chance.choice(files) if case.number is None else files[case.number]
        DAMAGES[case.kind](file, files, chance)
        answer, broken = self.answer()
        whole = (self.folder / "answers").read_bytes()
        if answer == whole:
            return "same", broken
        has_same_code = answer.partition(b"\n")[0] == whole.partition(b"\n")[0]
        return ("changed" if has_same_code else "failed"), broken

    def files(self, copy: str = "whole") -> list[Path]:
        """All files of the entries of a copy of the cache."""
        whole = self.folder / copy
        return sorted(path for path in whole.rglob("*") if self._is_kept(path, whole))

    def _is_kept(self, path: Path, whole: Path) -> bool:
        below = path.relative_to(whole).parts
        return path.is_file() and not {"tmp", "pins"} & set(below)

    def answer(self) -> tuple[bytes, int]:
        """Exit code and output of reports with every view, and broken entries on the way."""
        shutil.rmtree(self.folder / "home", ignore_errors=True)
        cache = str(self.folder / "cache")
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "home")  # what is fetched from a bucket
        os.environ.pop(KEY_VARIABLE, None)
        if self.place != "folder":
            cache = f"local://{cache}"
        if self.place == "signed bucket":
            os.environ[KEY_VARIABLE] = SIGNING_KEY
        out = io.TextIOWrapper(io.BytesIO())
        errors = io.StringIO()
        with warnings() as messages, redirect_stdout(out), redirect_stderr(errors):
            code = 0
            for views in ("distributed", self.views):  # alone it reads the summaries
                arguments = ["report", str(self.folder / "logs"), f"--view={views}"]
                options = ["--format=json", f"--cache-dir={cache}", "--workers=1"]
                code = max(code, torch_tb_profiler([*arguments, *options]))
            wait_until_cached()
        out.flush()
        assert isinstance(out.buffer, io.BytesIO)
        if "Traceback" in errors.getvalue():
            code = 1
        broken = sum("broken" in message for message in messages)
        return b"%d\n" % code + out.buffer.getvalue(), broken


@contextmanager
def warnings() -> Iterator[list[str]]:
    """What the package logs meanwhile."""
    messages: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("torch_tb_profiler")
    logger.addHandler(handler)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)


def _flip(file: Path, bits: int, chance: random.Random) -> None:
    content = bytearray(file.read_bytes() or b"\0")
    for _ in range(bits):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)


def _one_bit(file: Path, _files: Sequence[Path], chance: random.Random) -> None:
    _flip(file, 1, chance)


def _bits(file: Path, _files: Sequence[Path], chance: random.Random) -> None:
    _flip(file, chance.randrange(2, 20), chance)


def _block(file: Path, _files: Sequence[Path], chance: random.Random) -> None:
    """Zeros, or noise, of the size of what disks write at once."""
    content = bytearray(file.read_bytes())
    start = chance.randrange(len(content) or 1)
    size = min(chance.choice((8, 512, 4096)), len(content) - start)
    block = bytes(size) if chance.random() < 0.6 else chance.randbytes(size)
    if content[start : start + size] == block:
        return _flip(file, 1, chance)
    content[start : start + size] = block
    file.write_bytes(content)
    return None


def _cut(file: Path, _files: Sequence[Path], chance: random.Random) -> None:
    os.truncate(file, chance.choice((0, chance.randrange(file.stat().st_size or 1))))


def _longer(file: Path, _files: Sequence[Path], chance: random.Random) -> None:
    with file.open("ab") as end:
        end.write(chance.randbytes(chance.choice((1, 8, 4096))))


def _missing(file: Path, _files: Sequence[Path], _chance: random.Random) -> None:
    file.unlink()


def _swap(file: Path, files: Sequence[Path], chance: random.Random) -> None:
    """Two files change places: those of one name of two entries where there are some."""
    others = [other for other in files if other.name == file.name and other != file]
    others = others or [path for path in files if path != file]
    if not others:
        return _one_bit(file, files, chance)
    other = chance.choice(others)
    content = file.read_bytes()
    file.write_bytes(other.read_bytes())
    other.write_bytes(content)
    return None


def _other_entry(file: Path, files: Sequence[Path], chance: random.Random) -> None:
    """All files of an entry are those of another, its seal too."""
    others = [other for other in files if other.name == file.name and other != file]
    if not others or file.name.endswith(".tar.gz") or file.parent.parent.name == "signed":
        return _swap(file, files, chance)
    source = chance.choice(others).parent
    shutil.rmtree(file.parent)
    shutil.copytree(source, file.parent)
    return None


DAMAGES: dict[str, Callable[[Path, Sequence[Path], random.Random], None]] = {
    "one bit": _one_bit,
    "several bits": _bits,
    "a block": _block,
    "cut": _cut,
    "longer": _longer,
    "missing": _missing,
    "swapped": _swap,
    "of another entry": _other_entry,
}
WEIGHTS = (50, 20, 10, 8, 2, 2, 5, 3)
"""How many of a hundred damages are of each kind."""
