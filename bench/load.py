"""Clients ask one server for a long time: errors, times and what it takes, window by window.

Makes runs of the samples in a temporary folder, starts ``torch-tb-profiler serve`` there, waits
until every trace is parsed, then lets the clients ask (``load_mix.py``), some of which hang up,
while an ``ingest`` fills the same cache. The questions of a client are the same in every window
(a minute), so that windows compare: times by the questions that were answered in both. Memory is
compared with the middle: values that are derived from a trace at the first question for them stay.

    python bench/load.py --seconds 60      a look
    python bench/load.py --seconds 1200    twenty windows, as recorded in docs/safety.md
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from fault_scene import descendants
from figures import SAFETY, Figure, add_options, tell
from load_mix import Mix, hang_up

ROOT = Path(__file__).resolve().parent.parent
ANSWERED = (200, 404)
"""404 is the answer for a view that a trace has nothing for."""

WINDOW_S = 60.0
HANG_UPS = 0.03
"""Share of the questions whose client does not wait."""

Question = tuple[int, int]
"""Client, and number of its question in the window."""


@dataclass
class Observed:
    """What the clients saw.

    Attributes:
        seconds: Of each window, the time of each answered question.
        wrong: Answers that are errors.
        changed: Answers that differ from the first one to the same question.
        hung_up: Questions whose client left.
        slowest: Times and paths of the slowest.
    """

    seconds: list[dict[Question, float]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    hung_up: int = 0
    slowest: list[tuple[float, str]] = field(default_factory=list)
    _sums: dict[str, tuple[int, int]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(
        self, window: int, question: Question, taken_s: float, path: str, answer: tuple[int, bytes]
    ) -> None:
        """One answer."""
        status, body = answer
        seen = (status, zlib.crc32(body))
        with self._lock:
            self.seconds[window][question] = taken_s
            self.slowest = sorted([*self.slowest, (taken_s, path)])[-5:]
            if status not in ANSWERED and not (status == 400 and b"bad_parameter" in body):
                self.wrong.append(f"{status} {path} {body[:200]!r}")
            elif self._sums.setdefault(path, seen) != seen:
                self.changed.append(f"{status} {path}")


@dataclass(frozen=True)
class Held:
    """What the server and its children hold at one moment."""

    memory_mb: float
    threads: int
    descriptors: int


def make_runs(folder: Path, count: int) -> None:
    """``count`` runs, each a copy of one sample."""
    samples = sorted(path for path in (ROOT / "samples").iterdir() if path.is_dir())
    for number in range(count):
        source = samples[number % len(samples)]
        shutil.copytree(source, folder / f"run{number:02}_{source.name}")


def get(connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    """Status and body of one GET."""
    connection.request("GET", path)
    response = connection.getresponse()
    return response.status, response.read()


def ask_all(port: int) -> list[str]:
    """Have every trace parsed; the queries that name them."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    runs = json.loads(get(connection, "/api/runs")[1])["runs"]
    queries = [
        f"run={quote(run['name'])}&worker={quote(worker['name'])}&span={quote(span['name'])}"
        for run in runs
        for worker in run["workers"]
        for span in worker["spans"]
    ]
    for query in queries:
        while get(connection, f"/api/view/overview?{query}")[0] == 202:
            time.sleep(0.05)
    return queries


@dataclass(frozen=True)
class Load:
    """The clients of one server.

    Attributes:
        port: Where it listens.
        mix: What they ask.
        seed: Decides that.
        windows: How many there are.
        window_s: How long each lasts.
    """

    port: int
    mix: Mix
    seed: int
    windows: int
    window_s: float
    observed: Observed = field(default_factory=Observed)

    def client(self, number: int, begun_s: float) -> None:
        """One user: question after question, in every window the same."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for window in range(self.windows):
            chance, asked = random.Random(f"{self.seed}/{number}"), 0
            until_s = begun_s + (window + 1) * self.window_s
            while time.perf_counter() < until_s:
                path = self.mix.question(chance)
                asked += 1
                if chance.random() < HANG_UPS:
                    hang_up(self.port, path, chance)
                    self.observed.hung_up += 1
                    continue
                sent_s = time.perf_counter()
                answer = self._answer(connection, path)
                taken_s = time.perf_counter() - sent_s
                self.observed.add(window, (number, asked), taken_s, path, answer)

    def _answer(self, connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
        while True:
            try:
                status, body = get(connection, path)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                return 0, repr(error).encode()
            if status != 202:
                return status, body
            time.sleep(0.02)  # closed for another trace, and parsed again


def resident_mb(pid: int) -> float:
    """Resident memory of a process in 10⁶ bytes."""
    return _status_number(pid, "VmRSS") * 1024 / 1e6


def _status_number(pid: int, name: str) -> int:
    try:
        observed = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(observed[1]) if observed else 0


def held_by(pid: int) -> Held:
    """What a process and its children hold now."""
    pids = [pid, *descendants(pid)]
    return Held(
        sum(map(resident_mb, pids)),
        sum(_status_number(each, "Threads") for each in pids),
        sum(_descriptors(each) for each in pids),
    )


def _descriptors(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def p95_of_both(observed: Observed, one: int, other: int) -> tuple[float, float]:
    """The 95th percentiles, in s, of two windows over the questions answered in both."""
    both = observed.seconds[one].keys() & observed.seconds[other].keys()
    return tuple(  # type: ignore[return-value]
        statistics.quantiles([observed.seconds[window][each] for each in both], n=20)[18]
        for window in (one, other)
    )


def measure(load: Load, pid: int, clients: int, extra: Ingests) -> list[Figure]:
    """Run the clients; the figures. Some wrong answers are printed."""
    observed = load.observed
    observed.seconds.extend({} for _ in range(load.windows))
    begun_s = time.perf_counter()
    threads = [
        threading.Thread(target=load.client, args=(number, begun_s)) for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    held: list[list[Held]] = []
    for window in range(load.windows):
        held.append([])
        extra.begin(window)
        while time.perf_counter() < begun_s + (window + 1) * load.window_s:
            held[-1].append(held_by(pid))
            time.sleep(0.5)
        _print_window(window, observed, held[-1])
    for thread in threads:
        thread.join()
    slowest = [f"{taken_s:.2f} s {path}" for taken_s, path in reversed(observed.slowest)]
    for line in (*slowest, *observed.wrong[:5], *observed.changed[:5]):
        print(line)
    first = min(1, load.windows - 1)  # in the first one every trace is looked at for the first time
    p95_first, p95_last = p95_of_both(observed, first, load.windows - 1)
    times_ms = sorted(1000 * taken for window in observed.seconds for taken in window.values())
    before, after = _usual(held[load.windows // 2]), _usual(held[-1])
    return [
        Figure("answers", len(times_ms), ""),
        Figure("clients that hung up", observed.hung_up, ""),
        Figure("wrong answers", len(observed.wrong), "", 0),
        Figure("answers that changed", len(observed.changed), "", 0),
        Figure("ingests beside, each of a new run", extra.count, ""),
        Figure("of these not successful", extra.failed, "", 0),
        Figure("median", statistics.median(times_ms), "ms"),
        Figure("95th percentile", statistics.quantiles(times_ms, n=20)[18], "ms"),
        Figure("slowest", times_ms[-1], "ms"),
        Figure("p95 of the second window", 1000 * p95_first, "ms"),
        Figure("p95 of the last, against the second", p95_last / p95_first, "times", 1.2),
        Figure("memory of the server in the middle window", before.memory_mb, "MB"),
        Figure("memory in the last, against the middle", after.memory_mb / before.memory_mb,
               "times", 1.1),
        Figure("threads in the middle window", before.threads, ""),
        Figure("threads in the last", after.threads, "", before.threads + clients // 4),
        Figure("descriptors in the middle window", before.descriptors, ""),
        Figure("descriptors in the last", after.descriptors, "", before.descriptors + clients // 4),
    ]  # fmt: skip


def _usual(held: list[Held]) -> Held:
    """The medians over a window."""
    return Held(
        statistics.median(each.memory_mb for each in held),
        int(statistics.median(each.threads for each in held)),
        int(statistics.median(each.descriptors for each in held)),
    )


def _print_window(window: int, observed: Observed, held: list[Held]) -> None:
    usual, times_s = _usual(held), list(observed.seconds[window].values())
    p95_ms = 1000 * statistics.quantiles(times_s, n=20)[18] if len(times_s) > 1 else 0.0
    print(f"window {window}: {len(times_s)} answers, p95 {p95_ms:.0f} ms, {usual}", flush=True)


class Ingests:
    """An ``ingest`` of a new run into the cache of the server, one in each window.

    Args:
        folder: For their runs, outside of the folder that is served.
        cache: The cache.
    """

    def __init__(self, folder: Path, cache: Path) -> None:
        self._folder, self._cache = folder, cache
        self._thread = threading.Thread(target=str)
        self.count = self.failed = 0

    def begin(self, window: int) -> None:
        """Start the one of a window, after the one before it."""
        if self._thread.ident:
            self._thread.join()
        self._thread = threading.Thread(target=self._run, args=(self._folder / str(window),))
        self._thread.start()

    def _run(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        make_runs(folder, 2)
        command = [sys.executable, "-m", "torch_tb_profiler", "ingest", str(folder)]
        done = subprocess.run(
            [*command, "--cache-dir", str(self._cache)], capture_output=True, check=False
        )
        self.count += 1
        if done.returncode:
            self.failed += 1
            print(done.stderr.decode(errors="replace")[-500:])
        shutil.rmtree(folder)


@contextmanager
def served(folder: Path, cache: Path | None = None) -> Iterator[tuple[int, int]]:
    """Port and process of a server of ``folder``."""
    command = [sys.executable, "-m", "torch_tb_profiler", "serve", str(folder), "--port", "0"]
    options = ["--no-cache"] if cache is None else ["--cache-dir", str(cache)]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert server.stdout is not None
            port = 0
            while not port:
                line = server.stdout.readline()
                address = re.search(r"http://[^/\s]*:(\d+)", line)
                port = int(address[1]) if address else 0
            threading.Thread(target=server.stdout.read, daemon=True).start()
            yield port, server.pid
        finally:
            server.terminate()


def main() -> int:
    """Read the arguments, start the server, measure, stop it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    add_options(parser)
    given = parser.parse_args()
    window_s = min(WINDOW_S, given.seconds / 3)
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        logs, cache = Path(folder, "logs"), Path(folder, "cache")
        logs.mkdir()
        make_runs(logs, given.runs)
        with served(logs, cache) as (port, pid):
            abouts = ask_all(port)
            load = Load(port, Mix(abouts), given.seed, int(given.seconds / window_s), window_s)
            figures = measure(load, pid, given.clients, Ingests(Path(folder, "more"), cache))
    subject = f"{given.clients} clients, {given.runs} runs with {len(abouts)} traces"
    subject += f", {load.windows} windows of {window_s:g} s, seed {given.seed}"
    tell("load", subject, figures, given, SAFETY)
    return 0 if all(figure.is_met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
