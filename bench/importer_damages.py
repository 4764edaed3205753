"""Damages recordings of the formats that are no Chrome JSON; imports, builds and shows them here.

Bytes of a file are changed, cut, doubled and spliced; cells, columns and tables of a database are
changed in SQL; files of a folder are lost, emptied or exchanged. Every input is imported. Those
whose outcome is new, and every n-th other one, are built and shown in the overview. An input fails
when anything but ``TraceFormatError`` is raised, or when it takes too long.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.registry import import_source
from torch_tb_profiler.importers.source import Folder, Source
from torch_tb_profiler.loading.queries.views import trace_view, view_spec
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns

SQLITE = (".sqlite", ".db", ".rpd")
MOST_NEW_SHOWN = 3000

Mutated = Callable[[bytes, bytes, random.Random], bytes]
"""Damages text; the second ones lend parts."""
Alarm = Callable[[float], AbstractContextManager[None]]
"""Raises inside after some seconds."""


@dataclass(frozen=True)
class Recording:
    """One recording: a file, or a folder of some.

    Attributes:
        format: As figures call it.
        name: Of the file or folder.
        files: Path in the folder → content; of a file alone its own name.
        is_folder: Whether it is a folder.
    """

    format: str
    name: str
    files: dict[str, bytes]
    is_folder: bool = False


@dataclass(frozen=True)
class Options:
    """How long to go on, and what is too much.

    Attributes:
        inputs: Damaged recordings at most.
        seconds: After which no further one is taken.
        seed: Of the damages.
        show_each: Every n-th input is built and shown whatever it is.
        alarm_s: What one may take.
        keep: Folder for one input of each failure.
    """

    inputs: int
    seconds: float
    seed: int
    show_each: int
    alarm_s: float
    keep: Path


TEXTS = (".csv", ".json", ".jsonl", ".txt")
BYTES = bytes((0, 1, 0x7F, 0x80, 0xFF, 8, 10, 18, 26))

ODD_CELLS: tuple[Any, ...] = (
    None, 0, -1, 1, 2**31, 2**32 + 1, 2**53 + 1, 2**63 - 1, -(2**63), 1.5, -1e308, float("inf"),
    "", "x", "17", "1e5", "aten::mm, seq = 3", "{'op': 'x', 'args': [{'shape': (1,)}]}", "a\0b",
    "n" * 5000, b"", b"\xff\x00", "[[1, 2]]", "ProfilerStep#1",
)  # fmt: skip


def damaged(
    one: Recording, other: Recording, chance: random.Random, mutated: Mutated
) -> dict[str, bytes | None]:
    """The files that are other than in ``one``; None for those that are gone."""
    name = chance.choice(list(one.files))
    if one.is_folder and chance.random() < 0.1:
        twin = chance.choice(list(one.files))
        return {name: chance.choice((None, b"", one.files[twin]))}
    lent = other.files[chance.choice(list(other.files))]
    suffix, data = Path(name).suffix, one.files[name]
    if suffix in SQLITE and chance.random() < 0.7:
        return {name: changed_in_sql(data, chance)}
    return {name: (mutated if suffix in TEXTS else changed_bytes)(data, lent, chance)}


def changed_bytes(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Bytes with one to six damages; ``other`` lends parts."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        at = chance.randrange(len(made) + 1)
        size = chance.choice((1, 1, 2, 8, 100))
        part = made[at : at + size]
        match chance.randrange(7):
            case 0 | 1 if part:
                made[at] = chance.choice((made[at] ^ (1 << chance.randrange(8)), *BYTES))
            case 2:
                del made[at : at + size]
            case 3:
                made[at:at] = part * chance.choice((1, 3))
            case 4:
                start = chance.randrange(len(other) + 1)
                made[at : at + size] = other[start : start + chance.choice((size, 300))]
            case 5:
                made[at:at] = bytes((0xFF,)) * chance.choice((3, 9, 10)) + b"\x01"
            case _:
                del made[at if chance.random() < 0.2 else len(made) :]
    return bytes(made)


def changed_in_sql(data: bytes, chance: random.Random) -> bytes:
    """A database with other cells, columns or tables."""
    with tempfile.NamedTemporaryFile(dir=_memory_folder(), suffix=".db") as copy:
        copy.write(data)
        copy.flush()
        with closing(sqlite3.connect(copy.name, isolation_level=None)) as file:
            file.execute("PRAGMA synchronous = OFF")
            file.execute("PRAGMA journal_mode = OFF")
            for _ in range(chance.choice((1, 1, 2, 4, 10))):
                with suppress(sqlite3.Error):  # an odd cell that its column refuses
                    _change(file, chance)
        return Path(copy.name).read_bytes()


def _change(file: sqlite3.Connection, chance: random.Random) -> None:
    tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE rootpage > 0")]
    if not tables:
        return
    table = chance.choice(tables)
    columns = [row[1] for row in file.execute(f'PRAGMA table_info("{table}")')]
    if not columns:
        return
    column = chance.choice(columns)
    where = "1" if chance.random() < 0.3 else "abs(random()) % 4 = 0"
    kind = chance.randrange(12)
    if kind < 6:
        file.execute(
            f'UPDATE "{table}" SET "{column}" = ? WHERE {where}', (chance.choice(ODD_CELLS),)
        )
    elif kind == 6:
        source = chance.choice(columns)
        file.execute(f'UPDATE "{table}" SET "{column}" = "{source}" WHERE {where}')
    elif kind == 7:
        file.execute(f'DELETE FROM "{table}" WHERE {where}')
    elif kind == 8:
        file.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}"')
    elif kind == 9:
        file.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "other"')
    elif kind == 10:
        file.execute(f'DROP TABLE "{table}"')
    else:
        file.execute(f'UPDATE "{table}" SET "{column}" = -"{column}" WHERE {where}')


def _memory_folder() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@contextmanager
def opened(one: Recording, changes: dict[str, bytes | None]) -> Iterator[Source | Folder]:
    """The recording with its changes, on this machine."""
    with tempfile.TemporaryDirectory(dir=_memory_folder()) as above:
        place = Path(above) / one.name if one.is_folder else Path(above)
        files = {name: data for name, data in {**one.files, **changes}.items() if data is not None}
        for name, data in files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        openers = {
            name: partial(Source, str(place / name), [data], path=str(place / name))
            for name, data in files.items()
        }
        if one.is_folder:
            yield Folder(str(place), openers, path=str(place))
        elif openers:
            yield next(iter(openers.values()))()


@dataclass
class Tally:
    """What came of the inputs of one format."""

    inputs: int = 0
    refused: int = 0
    shown: int = 0
    outcomes: set[object] = field(default_factory=set)
    failures: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0


def read_and_show(source: Source | Folder, tally: Tally, *, show_each: int) -> None:
    """Import, and build and show what is new."""
    try:
        columns = import_source(source)
    except TraceFormatError as error:
        tally.refused += 1
        tally.outcomes.add(error.code)
        return
    found = _outcome(columns)
    is_new = found not in tally.outcomes and len(tally.outcomes) < MOST_NEW_SHOWN
    tally.outcomes.add(found)
    if is_new or tally.inputs % show_each == 0:
        tally.shown += 1
        trace = build_trace(columns)
        spec = view_spec("overview")
        if spec.missing(trace) is None:
            trace_view(spec, trace, Selection())


def _outcome(columns: EventColumns) -> object:
    tables = [name for name, table in columns.tables.items() if next(iter(table.values())).size]
    return columns.format, tuple(sorted(tables)), tuple(sorted(columns.quality.counts))


def fuzz_importer(pool: list[Recording], options: Options, mutated: Mutated, alarm: Alarm) -> Tally:
    """Damage the recordings of one format and count what comes of it."""
    chance, tally = random.Random(options.seed), Tally()
    begun_s = time.perf_counter()
    while tally.inputs < options.inputs and time.perf_counter() - begun_s < options.seconds:
        one, other = chance.choice(pool), chance.choice(pool)
        changes = damaged(one, other, chance, mutated)
        tally.inputs += 1
        input_begun_s = time.perf_counter()
        try:
            with alarm(options.alarm_s), opened(one, changes) as source:
                read_and_show(source, tally, show_each=options.show_each)
        except Exception as error:
            _remember(error, tally, one, changes, options.keep)
        tally.slowest_s = max(tally.slowest_s, time.perf_counter() - input_begun_s)
    return tally


def _remember(
    error: Exception, tally: Tally, one: Recording, changes: dict[str, bytes | None], keep: Path
) -> None:
    """Count a failure; the first of its kind is told and kept."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "torch_tb" in frame.filename] or list(frames)
    sign = f"{type(error).__name__} at {Path(own[-1].filename).name}:{own[-1].lineno}"
    tally.failures[sign] += 1
    if tally.failures[sign] > 1:
        return
    print(f"FAILED {one.format} {one.name}: {sign}: {str(error)[:200]}", flush=True)
    folder = keep / f"{one.format}_{len(tally.failures)}"
    for name, data in {**one.files, **changes}.items():
        if data is not None:
            path = folder / one.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
