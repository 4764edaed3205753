"""Runs the real command line on damaged files of every format there is, alone and among good ranks.

Seeds are the files of ``samples/``, ``tests/data`` and, where it stands beside the checkout, the
shared corpus: traces of every kind and what lies beside them (SQLite, CSV, pickles, protobuf).
Damages are of bytes, and of structure: values of the header and of arguments of any type, deep
nesting, keys twice. Every command must end with exit code 0 or 3, in time, without a traceback,
without a logged error and without unpickling anything.

    python bench/fuzz_formats.py --seconds 900
"""

from __future__ import annotations

import gzip
import io
import json
import logging
import math
import pickle
import random
import resource
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, redirect_stderr, redirect_stdout
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.helpers import rocprof_files  # noqa: E402
from torch_tb_profiler.cli import main as command_line  # noqa: E402

CORPUS = ROOT.parent / "shared" / "corpus"
FOLDERS = (ROOT / "samples", ROOT / "tests" / "data", CORPUS)
MAX_SEED_BYTES = 1 << 15
"""Of larger files that are no small traces, so much is taken."""
MAX_RSS_MB = 1024

ODD: tuple[Any, ...] = (
    True, False, None, 0, -1, 1.5, 1e308, float("nan"), 2**31, 2**53 + 1, 2**63, 2**70, -(2**70),
    "", "x", "1", "0x7", "N/A", "\ud800", "\x1b[31m\0", "n" * 5000, [], {}, [True], [[1]], [None],
    {"a": {"b": []}}, [{}], list(range(300)), "9" * 400,
)  # fmt: skip

GOOD = json.dumps(
    {
        "distributedInfo": {"rank": 0, "world_size": 2, "backend": "nccl"},
        "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "nccl:all_reduce", "pid": 1, "tid": 1, "ts": 10,
             "dur": 5, "args": {"Collective name": "allreduce", "In msg nelems": 4,
                                "dtype": "Float", "Group size": 2}}
        ],
    }
).encode()  # fmt: skip
"""The rank beside the damaged one, and the other side of a comparison."""


Mutated = Callable[[bytes, bytes, random.Random], bytes]
"""Damages bytes; the second ones lend parts."""
Alarm = Callable[[float], AbstractContextManager[None]]
"""Raises inside after some seconds."""


@dataclass(frozen=True)
class Seed:
    """One file to damage: its name, bytes and, of a small trace in JSON, what they say."""

    name: str
    data: bytes
    document: Any = None


def seed_files(
    traces: list[bytes],
    small_trace: Callable[[dict[str, Any]], bytes],
    max_file_bytes: float = math.inf,
) -> list[Seed]:
    """Files of every format, cut where they are large.

    Args:
        traces: Small traces.
        small_trace: Makes one of a decoded trace.
        max_file_bytes: Larger files are left out; decoding them takes most of the time.
    """
    found = [Seed("seed.json", data, _json(data)) for data in traces]
    found += [Seed(f"made.{suffix}", data) for suffix, data in _made().items()]
    with tempfile.TemporaryDirectory() as written:
        for path in rocprof_files.write_all(Path(written)):
            found.append(Seed(path.name, path.read_bytes(), _json(path.read_bytes())))
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if not path.is_file() or path.stat().st_size > max_file_bytes:
                continue
            data = path.read_bytes()
            document = _json(data)
            if isinstance(document, dict) and isinstance(document.get("traceEvents"), list):
                data = small_trace(document)
                found.append(Seed(path.name.removesuffix(".gz"), data, _json(data)))
            else:
                found.append(Seed(path.name, data[:MAX_SEED_BYTES]))
    return found


def _json(data: bytes) -> Any:
    """What a file says, None when it is no whole JSON, plain or packed."""
    try:
        return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (ValueError, RecursionError, OSError, EOFError, zlib.error):
        return None


def _made() -> dict[str, bytes]:
    """The beginnings of formats that a checkout alone has no file of."""
    return {
        "pickle": pickle.dumps({"segments": [{"address": 1, "blocks": []}], "device_traces": [[]]}),
        "pkl": pickle.dumps(Path("a"), protocol=0),
        "sqlite": b"SQLite format 3\0" + bytes(range(200)) * 20,
        "pftrace": b"\x0a\x10\x08\x01\x12\x0c" + b"\x0a\x05hello" * 50,
        "csv": b"Step,Type,Computing(us)\n1,rank,5\n" * 20,
        "zip": b"PK\x03\x04" + b"\0" * 100,
        "json.gz": gzip.compress(GOOD),
    }


def damaged(seed: Seed, other: bytes, chance: random.Random, mutated: Mutated) -> bytes:
    """The bytes of ``seed`` with damages to their structure, or by ``mutated`` to the bytes."""
    if seed.document is None or chance.random() < 0.4:
        return mutated(seed.data, other, chance)
    document = deepcopy(seed.document)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        _wrong_value(document, chance)
    text = json.dumps(document)
    if chance.random() < 0.2:
        text = _keys_twice(text, chance)
    if chance.random() < 0.1:
        depth = chance.choice((10, 900, 5000))
        text = text.replace("1", "[" * depth + "1" + "]" * depth, 1)
    data = text.encode("utf-8", "surrogatepass")
    return gzip.compress(data, 1) if chance.random() < 0.05 else data


def _wrong_value(document: Any, chance: random.Random) -> None:
    """Put an odd value at some place; the header is as likely as all events."""
    inner = document
    if isinstance(document, dict) and chance.random() < 0.5:
        header = [key for key in document if key != "traceEvents"]
        key: Any = chance.choice(header or ["distributedInfo"])
    else:
        key = next(iter(_keys(document, chance)), None)
    while key is not None:
        below = inner[key] if isinstance(inner, list) else inner.get(key)
        deeper = next(iter(_keys(below, chance)), None)
        if deeper is None or chance.random() < 0.3:
            inner[key] = deepcopy(chance.choice(ODD))
            return
        inner, key = below, deeper


def _keys(value: Any, chance: random.Random) -> list[Any]:
    """One key or position of a value, none of a plain or empty one."""
    if isinstance(value, dict) and value:
        return [chance.choice(list(value))]
    return [chance.randrange(len(value))] if isinstance(value, list) and value else []


def _keys_twice(text: str, chance: random.Random) -> str:
    at = text.find('": ', chance.randrange(len(text)))
    start = text.rfind('"', 0, at) if at > 0 else -1
    if start < 0:
        return text
    return f"{text[:start]}{text[start : at + 3]}{json.dumps(chance.choice(ODD))}, {text[start:]}"


def commands(folder: Path, seed: Seed, data: bytes, chance: random.Random) -> Iterator[list[str]]:
    """Lay the damaged file into ``folder`` and give what is typed about it."""
    good, bad = folder / "rank0.pt.trace.json", folder / "rank1.pt.trace.json"
    kind = chance.choice(("json", "json", "table", "files", "compare", "ranks", "ranks", "cache"))
    if kind in ("compare", "ranks", "cache"):
        good.write_bytes(GOOD)
    else:
        bad = folder / seed.name
    bad.write_bytes(data)
    report = ["report", str(bad), "--view", "all", "--workers", "1"]
    if kind in ("json", "table"):
        yield [*report, "--no-cache", "--format", kind]
    elif kind == "files":
        out = ["--output", str(folder / "out"), "--format", chance.choice(("csv", "md"))]
        yield [*report, "--no-cache", *out]
    elif kind == "compare":
        pair = chance.sample([str(good), str(bad)], 2)
        yield ["compare", *pair, "--no-cache", "--workers", "1", "--format", "json"]
    elif kind == "ranks":
        yield [*_instead(report, folder), "--no-cache", "--format", "json"]
    else:
        cache = ["--cache-dir", str(folder / "cache")]
        yield ["ingest", str(folder), "--workers", "1", *cache]
        yield [*_instead(report, folder), *cache, "--format", "json"]


def _instead(report: list[str], place: Path) -> list[str]:
    return [report[0], str(place), *report[2:]]


class Watch(logging.Handler):
    """What must not happen while a command runs: errors in logs, classes that are unpickled."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []
        self._is_on = False
        sys.addaudithook(self._audit)  # for good

    def __enter__(self) -> Watch:
        self.said.clear()
        self._is_on = True
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_on = False
        logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Remember an error."""
        if record.exc_info or record.levelno >= logging.ERROR:
            self.said.append(f"logged: {record.getMessage()}")

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._is_on and event == "pickle.find_class" and not _is_answer(str(arguments[0])):
            self.said.append(f"unpickled: {arguments}")


def _is_answer(module: str) -> bool:
    """Whether a class is one of those in which worker processes of this one answer; a file that
    were unpickled would not stop at them."""
    return module.startswith("torch_tb_profiler.") or module == "concurrent.futures.process"


class WrongEndError(Exception):
    """A command ended as none may."""


def run(arguments: list[str], watch: Watch) -> int:
    """Run one command here.

    Raises:
        WrongEndError: exit code, output or logs are not as they must be.
        Exception: whatever the command let through.
    """
    bytes_out, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(bytes_out, "utf-8")
    with watch, redirect_stdout(out), redirect_stderr(err):
        code = command_line(arguments)
        out.flush()
    if code not in (0, 3):
        raise WrongEndError(f"exit code {code}: {err.getvalue()[-300:]}")
    for word in ("Traceback", "fault of torch-tb-profiler", "internal"):
        if word in err.getvalue():
            raise WrongEndError(f"{word}: {err.getvalue()[-2000:]}")
    if watch.said:
        raise WrongEndError("; ".join(watch.said)[:300])
    if code == 3 and "error: " not in err.getvalue() and "failed" not in err.getvalue():
        raise WrongEndError(f"no reason is told: {err.getvalue()[-300:]}")
    printed = bytes_out.getvalue()
    if printed and "json" in arguments:
        json.loads(printed)
    return code


def process_peak_mb() -> float:
    """The most memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass
class Tally:
    """What came of all inputs. Memory that the process had taken before is none of theirs."""

    inputs: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    peak_mb: float = 0.0
    before_mb: float = field(default_factory=process_peak_mb)


@dataclass(frozen=True)
class Options:
    """How long to go on, and what is too much.

    Attributes:
        inputs: Damaged files at most.
        seconds: After which no further file is taken.
        seed: Of the damages.
        alarm_s: What a command may take.
        keep: Folder for one input of each failure.
    """

    inputs: int
    seconds: float
    seed: int
    alarm_s: float
    keep: Path


def fuzz_formats(pool: list[Seed], options: Options, mutated: Mutated, alarm: Alarm) -> Tally:
    """Run commands on damaged files and count how they end."""
    chance = random.Random(options.seed)
    tally, watch = Tally(), Watch()
    begun_s = time.perf_counter()
    for number in range(options.inputs):
        if time.perf_counter() - begun_s > options.seconds:
            break
        one, other = chance.choice(pool), chance.choice(pool)
        data = damaged(one, other.data, chance, mutated)
        tally.inputs += 1
        with tempfile.TemporaryDirectory(prefix="fuzz", ignore_cleanup_errors=True) as folder:
            for arguments in commands(Path(folder), one, data, chance):
                if _is_new_failure(arguments, watch, options.alarm_s, tally, alarm):
                    options.keep.mkdir(parents=True, exist_ok=True)
                    name = f"failure_{options.seed}_{number}_{one.name}"
                    (options.keep / name).write_bytes(data)
    return tally


def _is_new_failure(
    arguments: list[str], watch: Watch, alarm_s: float, tally: Tally, alarm: Alarm
) -> bool:
    """Run one command; whether it failed as none did before."""
    begun_s = time.perf_counter()
    sign = ""
    try:
        with alarm(alarm_s):
            tally.codes[run(arguments, watch)] += 1
        tally.peak_mb = process_peak_mb()
        if tally.peak_mb - tally.before_mb > MAX_RSS_MB:
            raise WrongEndError("too much memory")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # panics of native libraries are no Exception
        sign = _sign(error)
        tally.failures[sign] += 1
        if tally.failures[sign] == 1:
            print(f"FAILED {' '.join(arguments)}: {sign}: {str(error)[:1500]}", flush=True)
    tally.slowest_s = max(tally.slowest_s, time.perf_counter() - begun_s)
    return tally.failures[sign] == 1


def _sign(error: BaseException) -> str:
    """What tells one failure from another."""
    frames = traceback.extract_tb(error.__traceback__)
    last = ([frame for frame in frames if "torch_tb" in frame.filename] or frames)[-1]
    text = str(error)[:60] if isinstance(error, WrongEndError) else ""
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno} {text}".strip()
