"""32 clients open views of 20 runs at once: errors, times and memory of one server.

Makes 20 runs of the samples in a temporary folder, starts ``torch-tb-profiler serve`` there, waits
until every trace is parsed, then lets the clients ask for random views and selections.

    python bench/load.py --seconds 60
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from figures import Figure, add_options, tell

ROOT = Path(__file__).resolve().parent.parent
VIEWS = ("overview", "operators", "kernels", "memory", "modules", "distributed")
MORE = ("", "&limit=100", "&sort=-name&limit=50", "&filter=name~a", "&start_us=0&end_us=5000")
ANSWERED = (200, 404)
"""404 is the answer for a view that a trace has nothing for."""


@dataclass
class Found:
    """What the clients saw: seconds of each answer, and what was wrong."""

    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def make_runs(folder: Path, count: int) -> None:
    """``count`` runs, each a copy of one sample."""
    samples = sorted(path for path in (ROOT / "samples").iterdir() if path.is_dir())
    for number in range(count):
        source = samples[number % len(samples)]
        shutil.copytree(source, folder / f"run{number:02}_{source.name}")


def get(connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    """Status and body of one GET."""
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
    response = connection.getresponse()
    return response.status, response.read()


def ask_all(port: int) -> list[str]:
    """Have every trace parsed; the queries that name them."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    runs = json.loads(plain(connection, "/api/runs"))["runs"]
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


def plain(connection: http.client.HTTPConnection, path: str) -> bytes:
    """The body of a GET, not compressed."""
    connection.request("GET", path)
    return connection.getresponse().read()


def client(port: int, queries: list[str], until_s: float, seed: int, found: Found) -> None:
    """One user: view after view."""
    chance = random.Random(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.perf_counter() < until_s:
        path = f"/api/view/{chance.choice(VIEWS)}?{chance.choice(queries)}{chance.choice(MORE)}"
        begun_s = time.perf_counter()
        try:
            status, body = get(connection, path)
        except (OSError, http.client.HTTPException) as error:
            status, body = 0, repr(error).encode()
            connection.close()
        took_s = time.perf_counter() - begun_s
        with found.lock:
            found.seconds.append(took_s)
            if status not in ANSWERED and not (status == 400 and b"bad_parameter" in body):
                found.wrong.append(f"{status} {path} {body[:200]!r}")


def resident_mb(pid: int) -> float:
    """Resident memory of a process in 10⁶ bytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", text)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def measure(port: int, pid: int, clients: int, seconds: float) -> tuple[str, list[Figure]]:
    """Run the clients; return what they did and the figures. Some wrong answers are printed."""
    queries = ask_all(port)
    found = Found()
    until_s = time.perf_counter() + seconds
    threads = [
        threading.Thread(target=client, args=(port, queries, until_s, seed, found))
        for seed in range(clients)
    ]
    for thread in threads:
        thread.start()
    memory = []
    while time.perf_counter() < until_s:
        memory.append(resident_mb(pid))
        time.sleep(0.5)
    for thread in threads:
        thread.join()
    for line in found.wrong[:5]:
        print(line)
    half = memory[len(memory) // 2 :]
    times_ms = sorted(1000 * taken for taken in found.seconds)
    return f"{clients} clients, {len(queries)} traces, {seconds:g} s", [
        Figure("answers", len(times_ms), ""),
        Figure("wrong answers", len(found.wrong), "", 0),
        Figure("median", statistics.median(times_ms), "ms"),
        Figure("95th percentile", statistics.quantiles(times_ms, n=20)[18], "ms", 1000),
        Figure("slowest", times_ms[-1], "ms"),
        Figure("memory of the server, in the middle", half[0], "MB"),
        Figure("memory at the end, against the middle", half[-1] / half[0], "times", 1.1),
    ]


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, int]]:
    """Port and process of a server of ``folder``."""
    command = [sys.executable, "-m", "torch_tb_profiler", "serve", str(folder), "--no-cache"]
    with subprocess.Popen(
        [*command, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
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
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--runs", type=int, default=20)
    add_options(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make_runs(Path(folder), given.runs)
        with served(Path(folder)) as (port, pid):
            subject, figures = measure(port, pid, given.clients, given.seconds)
    tell("load", subject, figures, given)
    return 0 if all(figure.is_met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
