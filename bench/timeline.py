"""How fast the timeline answers: random screens of a trace of ten million slices, over HTTP.

    python bench/timeline.py [--slices 10000000] [--screens 500]

The trace has 100 tracks: host threads with operators and python frames 40 deep, and GPU streams.
It is built as columns (reading JSON is measured by ``ingest.py``), kept in the cache's format and
loaded by the server process as any reopened trace. Screens reach from the whole trace to 100 µs;
half ask for what a page shows at once (60 lanes), half for every lane of every track.

Prints milliseconds (median, p95, largest), answer sizes, and the server's memory.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import multiprocessing
import random
import re
import subprocess
import sys
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figure, add_options, tell

from torch_tb_profiler.loading.opening.open_file import trace_key
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.locations import file_state, open_location
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.cache import save_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    TABLE_COLUMNS,
    ColumnArrays,
    EventColumns,
    Track,
    empty_table,
)

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "out"
HOST_THREADS, STREAMS = 50, 50
DEPTH = 40
PERIOD_NS = 4_000_000
"""One call from the outermost frame to the innermost and back."""

VISIBLE_LANES = 60
GOAL_P95_MS, GOAL_KB, GOAL_SERVER_MB = 15.0, 300.0, 2_500.0


def make_events(slices: int) -> EventColumns:
    """A trace of about ``slices`` slices on 100 rows."""
    per_host = slices * 8 // 10 // HOST_THREADS
    per_stream = slices * 2 // 10 // STREAMS
    rng = np.random.default_rng(7)
    tables = [_host(thread, per_host, rng) for thread in range(HOST_THREADS)]
    periods = max(1, per_host // (2 * DEPTH))
    tables += [
        _stream(HOST_THREADS + stream, per_stream, periods * PERIOD_NS, rng)
        for stream in range(STREAMS)
    ]
    columns: ColumnArrays = {
        name: np.concatenate([table[name] for table in tables]) for name in TABLE_COLUMNS["slices"]
    }
    strings = [*(f"model.py({i}): forward_{i}" for i in range(400)), "aten::mm", "python_function"]
    strings += [f"void at::native::kernel_{i}<float, {i % 7}>(int, float*)" for i in range(200)]
    tracks = [
        *(Track("1", str(i), "python", "CPU", f"thread {i}", 0, i) for i in range(HOST_THREADS)),
        *(
            Track(str(i // 7), str(i % 7), "python", f"GPU {i // 7}", f"stream {i % 7}", 9, i)
            for i in range(STREAMS)
        ),
    ]
    empty = {name: empty_table(name) for name in TABLE_COLUMNS}
    return EventColumns("kineto", {**empty, "slices": columns}, strings, tracks, 0, 1)


def _host(track: int, count: int, rng: np.random.Generator) -> ColumnArrays:
    """Calls 40 frames deep, and operators beside them of a like depth."""
    periods = max(1, count // (2 * DEPTH))
    level = np.tile(np.arange(DEPTH), periods * 2)
    period = np.repeat(np.arange(periods * 2) // 2, DEPTH)
    is_frame = np.repeat(np.arange(periods * 2) % 2 == 0, DEPTH)
    jitter = np.repeat(rng.integers(0, 1000, periods * 2), DEPTH)
    inset = level * (PERIOD_NS // (2 * DEPTH + 4)) + jitter
    start = period * PERIOD_NS + inset
    category = np.where(is_frame, Category.PYTHON_FUNCTION, Category.OPERATOR)
    names = np.where(is_frame, rng.integers(0, 400, len(start)), 400)
    return _table(track, start, PERIOD_NS - 2 * inset, category, names)


def _stream(track: int, count: int, span_ns: int, rng: np.random.Generator) -> ColumnArrays:
    """Kernels of all lengths, one after the other."""
    edges = np.sort(rng.integers(0, span_ns, 2 * count))
    kernels = np.full(count, Category.KERNEL)
    return _table(
        track, edges[::2], edges[1::2] - edges[::2], kernels, rng.integers(402, 602, count)
    )


def _table(
    track: int, start: np.ndarray, dur: np.ndarray, category: np.ndarray, names: np.ndarray
) -> ColumnArrays:
    size = len(start)
    given = {
        "category": category,
        "raw_category_code": np.full(size, 401),
        "name_code": names,
        "track": np.full(size, track),
        "start_ns": start,
        "dur_ns": dur,
        "correlation": np.full(size, ABSENT),
        "external_id": np.full(size, ABSENT),
    }
    return {name: given[name].astype(dtype) for name, dtype in TABLE_COLUMNS["slices"].items()}


def prepare(folder: Path, slices: int) -> Path:
    """A logdir with a file whose trace is in the cache already: the one that was made."""
    logdir, cache = folder / "logdir", CacheFolder(folder / "cache", max_bytes=2**40)
    logdir.mkdir(parents=True, exist_ok=True)
    file = logdir / "bench.1.pt.trace.json"
    if not file.exists():
        file.write_text(json.dumps({"schemaVersion": 1, "traceEvents": []}))
    location = open_location(str(file))
    state = file_state(location)
    key = trace_key(location, state)
    if cache.find(key) is None:
        cache.store(key, lambda entry: save_trace(build_trace(make_events(slices)), entry))
    return logdir


@dataclass(frozen=True)
class Answered:
    """One request: seconds until the whole body was read, and its bytes."""

    seconds: float
    size_bytes: int


class Client:
    """Asks over one kept connection, as a page does."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def get(self, path: str) -> tuple[Answered, int, bytes]:
        begun = time.perf_counter()
        self._connection.request("GET", f"/api/{path}")
        response = self._connection.getresponse()
        body = response.read()
        return Answered(time.perf_counter() - begun, len(body)), response.status, body

    def ready(self, path: str) -> tuple[float, Any]:
        """Ask until the trace is open: seconds, and the JSON."""
        begun = time.perf_counter()
        while True:
            _, status, body = self.get(path)
            if status == 200:
                return time.perf_counter() - begun, json.loads(body)
            if status != 202:
                raise SystemExit(f"{path}: {status} {body[:500]!r}")


def screens(listed: dict[str, Any], count: int, *, whole: bool) -> list[str]:
    """Random questions: from the whole trace to 100 µs, 400 to 4000 px wide; ``whole`` asks for
    every lane of every track, else for about sixty lanes that lie together."""
    chance = random.Random(11)
    end_ns, tracks = listed["end_ns"], listed["tracks"]
    asked = []
    for _ in range(count):
        span = math.exp(chance.uniform(math.log(100_000), math.log(end_ns)))
        start = chance.uniform(0, end_ns - span)
        if whole:
            keys = [track["key"] for track in tracks]
        else:
            first = chance.randrange(len(tracks))
            keys, lanes = [], 0
            while first < len(tracks) and lanes < VISIBLE_LANES:
                shown = min(tracks[first]["lanes"], VISIBLE_LANES - lanes)
                keys.append(f"{tracks[first]['key']}:0-{shown - 1}")
                lanes, first = lanes + shown, first + 1
        query = {
            "start_ns": start,
            "end_ns": start + span,
            "width_px": chance.randrange(400, 4001),
            "tracks": ",".join(keys),
        }
        asked.append("timeline?" + urllib.parse.urlencode(query))
    return asked


def measure(client: Client, title: str, asked: list[str]) -> list[Figure]:
    """Times and sizes of the answers."""
    answers = []
    for path in asked:
        answered, status, body = client.get(path)
        if status != 200:
            raise SystemExit(f"{path[:200]}: {status} {body[:500]!r}")
        answers.append(answered)
    times = np.array([answered.seconds for answered in answers]) * 1000
    sizes = np.array([answered.size_bytes for answered in answers]) / 1000
    return [
        Figure(f"{title}: p50", float(np.median(times)), "ms"),
        Figure(f"{title}: p95", float(np.percentile(times, 95)), "ms", GOAL_P95_MS),
        Figure(f"{title}: max", float(times.max()), "ms"),
        Figure(f"{title}: largest answer", float(sizes.max()), "kB", GOAL_KB),
    ]


def memory_mb(pid: int) -> tuple[float, float]:
    """Resident memory of a process, now and at most, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    now, peak = (
        int(next(line for line in status.splitlines() if line.startswith(key)).split()[1])
        for key in ("VmRSS", "VmHWM")
    )
    return now / 1000, peak / 1000


def main() -> int:
    """Measure and compare with the goals; 1 when one is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--slices", type=int, default=10_000_000)
    parser.add_argument("--screens", type=int, default=500)
    add_options(parser)
    arguments = parser.parse_args()
    folder = OUT / f"timeline_{arguments.slices}"
    # In a process of its own: what making the trace takes is given back before the server starts.
    making = multiprocessing.get_context("spawn").Process(
        target=prepare, args=(folder, arguments.slices)
    )
    making.start()
    making.join()
    command = [sys.executable, "-c", "from torch_tb_profiler.cli import main; main()"]
    command += ["serve", str(folder / "logdir")]
    command += ["--port", "0", "--cache-dir", str(folder / "cache")]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert server.stdout is not None
        port = next(int(n) for line in server.stdout for n in re.findall(r":(\d+)/", line))
        client = Client(port)
        client.ready("slice/0")
        loaded_mb, _ = memory_mb(server.pid)
        index_s, listed = client.ready("timeline/tracks")
        half = arguments.screens // 2
        figures = [
            Figure("index, once per process", index_s, "s"),
            *measure(client, "sixty lanes", screens(listed, half, whole=False)),
            *measure(client, "every lane", screens(listed, half, whole=True)),
        ]
        for path in ("timeline/search?q=forward_7", "timeline/range", "timeline/flows?slice=1000"):
            name = path.partition("?")[0]
            figures.append(Figure(f"/{name}", client.get(path)[0].seconds * 1000, "ms"))
        now_mb, peak_mb = memory_mb(server.pid)
        figures += [
            Figure("server: memory", now_mb, "MB"),
            Figure("server: memory of the trace alone", loaded_mb, "MB"),
            Figure("server: peak memory", peak_mb, "MB", GOAL_SERVER_MB),
        ]
        subject = (
            f"{listed['slices']:,} slices, {len(listed['tracks'])} tracks, "
            f"{sum(track['lanes'] for track in listed['tracks']):,} lanes, "
            f"{arguments.screens} random screens over HTTP"
        )
    finally:
        server.terminate()
        server.wait()
    tell("timeline", subject, figures, arguments)
    return 0 if all(figure.is_met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
