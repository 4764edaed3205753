"""Whether the compiled decoder answers as the one in Python, on mutated pieces of recordings.

    python bench/fuzz_decoder.py --pieces 10000000 --seed 1      equal columns, or it says where not
    python bench/fuzz_decoder.py --coverage 600 --seed 1         guided by coverage, with sanitizer

Seeds are small pieces of every sample (and recording under ``--recordings``), one for each set of
keys. A mutated piece that the compiled decoder hands back costs nothing; of the others many are
joined, and both decoders must make equal columns, texts, tracks and counts of problems of them.
With ``--coverage``, ``native/fuzz`` mutates under the address sanitizer and keeps pieces that reach
new branches; these are compared too. The exit code is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from torch_tb_profiler.importers.kineto.batch import EventBatch, build_batch
from torch_tb_profiler.importers.kineto.decode import decode_events
from torch_tb_profiler.importers.kineto.event_arrays import decode_arrays
from torch_tb_profiler.importers.kineto.event_structs import StructEvents
from torch_tb_profiler.importers.kineto.native import NativeDecoder, native_status
from torch_tb_profiler.importers.kineto.native_answer import EVENTS, UNKNOWN_PAIRS, OddPieceError
from torch_tb_profiler.importers.kineto.native_plan import current_plan
from torch_tb_profiler.importers.kineto.pieces import EventPieces

ROOT = Path(__file__).resolve().parent.parent
HARNESS = ROOT / "native" / "fuzz"
TARGET = "x86_64-unknown-linux-gnu"
FLAGS = (
    "-Zsanitizer=address -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 "
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
)
HEAD = struct.Struct("<QQ")
SEED_BYTES = 300
MAX_TEXT_BYTES = 8 << 20
MAX_SEED_BYTES = 6000
MAX_SEEDS = 4000
JOINED = 400
"""Accepted pieces that are compared at once."""

KEYS = re.compile(rb'"([^"\\]{1,40})"\s*:|"(?:cat|ph)"\s*:\s*"([^"]*)"')
VALUE = re.compile(rb":\s*([^,{}\[\]]+)")
WORDS = (
    b"null", b"true", b"-0", b"0", b"00", b"-1", b"1.5", b"1e3", b"1e400", b"1.", b"5.0",
    b"-2.50", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808",
    b"123456789012345678", b"1234567890123456789", b"18446744073709551615",
    b"1234567890123456789012", b"0.0005", b"0.00050000000000000001", b"1234567890123456.9995",
    b"12345678901234567.5", b"4.9e-324", b'"7"', b'"0x1f"', b'"N/A"', b'"nan"', b'"inf"',
    b'"1.5"', b'""', b'" 12 "', b'"\\u0041b"', b'"\\ud800"', b'"\\ud83d\\ude00"', b'"a\\"b"',
    b'"\xc3\xa9"', b'"\xff"', b'"\x01"', b"{}", b"[]", b"[1, [2]]",
    b'{"limitingFactors": ["REGS", 3]}', b'["x"]', b"[[2, 3], []]", b"False", b'"X"', b'"B"',
    b'"E"', b'"i"', b'"M"', b'"s"', b'"f"', b'"C"', b'"kernel"', b'"cpu_op"',
    b'"python_function"', b'"cuda_runtime"', b'"fwdbwd"', b'"[memory]"', b'"cpu_instant_event"',
)  # fmt: skip
MEMBERS = (
    b'"ph": "X"', b'"cat": "kernel"', b'"pid": 3', b'"tid": "stream 7"', b'"ts": 12.345',
    b'"dur": 3', b'"id": 9', b'"name": "n"', b'"args": {"correlation": 5}',
    b'"graph node id": 3', b'"flops": 2e9', b'"Collective name": "allreduce"',
    b'"In msg nelems": 12', b'"python_caller_id": 2', b'"Seq": 1', b'"Call stack": "a;b;"',
    b'"occupancy": {"limitingFactors": 2}', b'"Python module id": 4', b'"annotation": "x"',
    b'"own key": "y"', b'"graph id": 1', b'"Input Dims": [[1,\n2]]',
)  # fmt: skip


def seeds(folders: Sequence[Path]) -> list[bytes]:
    """Small pieces of all recordings, one for each set of keys and categories."""
    chosen: dict[frozenset[bytes], bytes] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.json*")):
            for piece in _pieces(path):
                signature = frozenset(word for match in KEYS.findall(piece) for word in match)
                chosen.setdefault(signature, piece)
    return list(chosen.values())[:MAX_SEEDS]


def _pieces(path: Path) -> Iterator[bytes]:
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(content, MAX_TEXT_BYTES)
    content = content[:MAX_TEXT_BYTES]
    chunks = (content[at : at + SEED_BYTES] for at in range(0, len(content), SEED_BYTES))
    pieces = EventPieces(chunks, SEED_BYTES)
    if pieces.has_events:
        yield from (p.text for p in pieces if not p.is_last and len(p.text) <= MAX_SEED_BYTES)


def mutated(piece: bytes, draw: random.Random) -> bytes:
    """The piece, changed in one to three places."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        piece = _changed(piece, draw)
    return piece


def _changed(piece: bytes, draw: random.Random) -> bytes:
    what = draw.random()
    if what < 0.55:
        values = list(VALUE.finditer(piece))
        if values:
            start, end = draw.choice(values).span(1)
            return piece[:start] + draw.choice(WORDS) + piece[end:]
    at = draw.randrange(len(piece) + 1)
    if what < 0.75:
        comma = piece.find(b",", at)
        return piece if comma < 0 else piece[:comma] + b", " + draw.choice(MEMBERS) + piece[comma:]
    if what < 0.85:
        return piece[:at] + draw.randbytes(1) + piece[at + 1 :]
    if what < 0.93:
        return piece[:at] + piece[at + draw.randrange(1, 40) :]
    end = at + draw.randrange(1, 200)
    return piece[:at] + piece[at:end] + b"," + piece[at:end] + piece[end:]


class Comparison:
    """Compares both decoders; remembers what differed.

    Attributes:
        counts: ``pieces``, and of them ``handed_back``.
        different: Pieces of which the decoders say something else.
    """

    def __init__(self, decoder: NativeDecoder) -> None:
        self.counts: Counter[str] = Counter()
        self.different: list[bytes] = []
        self._decoder = decoder
        self._accepted: list[bytes] = []
        self._plan = current_plan()

    def add(self, piece: bytes) -> None:
        """Compare a piece, soon."""
        self.counts["pieces"] += 1
        status, _ = HEAD.unpack_from(self._decoder.decode(piece, self._plan))
        if status not in (EVENTS, UNKNOWN_PAIRS):
            self.counts["handed_back"] += 1
            return
        self._accepted.append(piece)
        if len(self._accepted) >= JOINED:
            self.finish()

    def finish(self) -> None:
        """Compare what waits."""
        accepted, self._accepted = self._accepted, []
        self._compare(accepted)

    def _compare(self, pieces: list[bytes]) -> None:
        if not pieces or self._is_same(pieces):
            return
        if len(pieces) == 1:
            self.different.append(pieces[0])
            return
        middle = len(pieces) // 2
        self._compare(pieces[:middle])
        self._compare(pieces[middle:])

    def _is_same(self, pieces: list[bytes]) -> bool:
        bodies = [piece.strip()[1:-1] for piece in pieces]
        text = b"[" + b",".join(body for body in bodies if body.strip()) + b"]"
        try:
            batch = build_batch(decode_arrays(self._decoder, text))
        except OddPieceError:
            return len(pieces) == 1  # odd values are only decoded with the columns
        events = decode_events(text)
        if events is None:
            return False
        return difference(batch, build_batch(StructEvents(events))) is None


def difference(one: EventBatch, other: EventBatch) -> str | None:
    """What differs between two batches; None if nothing does."""
    for name in ("strings", "tracks", "declared", "quality", "has_fraction"):
        if getattr(one, name) != getattr(other, name):
            return name
    if list(one.tables) != list(other.tables):
        return "tables"
    for name, parts in one.tables.items():
        others = other.tables[name]
        if len(parts) != len(others):
            return name
        for part, part_of_other in zip(parts, others, strict=True):
            for column, values in part.items():
                given = part_of_other[column]
                is_float = values.dtype.kind == "f"
                same = np.array_equal(values, given, equal_nan=is_float)
                if values.dtype != given.dtype or not same:
                    return f"{name}.{column}"
    return None


def fuzz(pieces: list[bytes], count: int, seed: int) -> tuple[Counter[str], list[bytes]]:
    """Compare mutated pieces in this process."""
    decoder = native_status().decoder
    assert decoder is not None
    draw = random.Random(seed)
    comparison = Comparison(decoder)
    for _ in range(count):
        comparison.add(mutated(draw.choice(pieces), draw))
    comparison.finish()
    return comparison.counts, comparison.different


def guided(pieces: list[bytes], seconds: int, seed: int) -> list[bytes]:
    """Pieces that reached new branches, from ``native/fuzz``.

    Raises:
        subprocess.CalledProcessError: it does not build, or stopped at a fault.
    """
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": FLAGS}
    build = ["cargo", "build", "--quiet", "--release", "--target", TARGET]
    subprocess.run(build, cwd=HARNESS, env=environment, check=True)
    program = HARNESS / "target" / TARGET / "release" / "fuzz-decoder"
    with tempfile.TemporaryDirectory(prefix="fuzz_decoder_") as name:
        folder = Path(name)
        for part in ("seeds", "reached"):
            (folder / part).mkdir()
        for index, piece in enumerate(pieces):
            (folder / "seeds" / f"{index:05d}").write_bytes(piece)
        (folder / "plan").write_bytes(current_plan())
        paths = [str(folder / part) for part in ("plan", "seeds", "reached")]
        subprocess.run([str(program), *paths, str(seconds), str(seed)], check=True)
        return [path.read_bytes() for path in sorted((folder / "reached").iterdir())]


def main() -> int:
    """Run; the exit code is 1 where the decoders differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pieces", type=int, default=100_000, help="how many (default: 100000)")
    parser.add_argument("--coverage", type=int, metavar="SECONDS", help="guided by coverage")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--recordings", type=Path, action="append", default=[])
    options = parser.parse_args()
    decoder = native_status().decoder
    if decoder is None:
        print(native_status().description, file=sys.stderr)
        return 2
    started_s = time.monotonic()
    seed_pieces = seeds([ROOT / "samples", *options.recordings])
    fuzz(seed_pieces, 2000, options.seed)  # learn the phases and categories
    if options.coverage:
        comparison = Comparison(decoder)
        for piece in guided(seed_pieces, options.coverage, options.seed):
            comparison.add(piece)
        comparison.finish()
        results = [(comparison.counts, comparison.different)]
    else:
        share = options.pieces // options.processes
        with ProcessPoolExecutor(options.processes) as pool:
            runs = [
                pool.submit(fuzz, seed_pieces, share, options.seed * 1000 + process)
                for process in range(options.processes)
            ]
            results = [run.result() for run in runs]
    counts = sum((result[0] for result in results), Counter())
    different = [piece for _, pieces in results for piece in pieces]
    seconds = round(time.monotonic() - started_s)
    print(
        json.dumps({**counts, "seeds": len(seed_pieces), "different": len(different), "s": seconds})
    )
    for piece in different[:10]:
        print(piece[:1000])
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
