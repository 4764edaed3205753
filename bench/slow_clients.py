"""200 clients at once beside 100 that are silent or trickle and 6 that do not read their download.

Makes runs of the samples and a file of 200 MB, starts ``torch-tb-profiler serve`` there, and lets
the 200 ask again and again, all at the same moment, while the slow ones stay. Then it waits until
the server has dropped those (its time limits are a minute).

    python bench/slow_clients.py --rounds 10
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import socket
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from figures import Figure, add_options, tell
from load import ANSWERED, ask_all, make_runs, resident_mb, served

CLIENTS = 200
SILENT = 100
STOPPED = 6
BIG_BYTES = 200_000_000
LIMIT_S = 60
SPARE_S = 15


def make_big(folder: Path) -> None:
    """A file that is only ever downloaded."""
    folder.mkdir()
    with (folder / "big.pt.trace.json").open("wb") as file:
        file.write(b'{"traceEvents": [')
        file.truncate(BIG_BYTES)


class SlowClients:
    """Clients that keep what they can of the server; none ends by itself.

    Args:
        port: Where it listens.
    """

    def __init__(self, port: int) -> None:
        download = b"GET /api/download?run=zzz_big HTTP/1.1\r\nHost: localhost\r\n\r\n"
        said = [b"", b"GET / HTTP/1.1\r\nX: "] * (SILENT // 2) + [download] * STOPPED
        self.clients = [socket.create_connection(("127.0.0.1", port)) for _ in said]
        for client, text in zip(self.clients, said, strict=True):
            client.setblocking(False)
            client.sendall(text)
        self._is_ended = threading.Event()
        threading.Thread(target=self._trickle, daemon=True).start()

    def _trickle(self) -> None:
        while not self._is_ended.wait(1):
            for client in self.clients[1:SILENT:2]:
                with contextlib.suppress(OSError):
                    client.send(b"x")

    @property
    def dropped(self) -> int:
        """How many of those that say little or nothing the server has dropped."""
        return sum(_is_closed(client) for client in self.clients[:SILENT])

    def read_rest(self) -> int:
        """Read what was sent to those that did not read; the number whose answer was cut off."""
        self._is_ended.set()
        return sum(_rest_bytes(client) < BIG_BYTES for client in self.clients[SILENT:])


def _is_closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _rest_bytes(client: socket.socket) -> int:
    client.settimeout(LIMIT_S)
    count = 0
    with contextlib.suppress(OSError):
        while piece := client.recv(1 << 20):
            count += len(piece)
    return count


def ask_at_once(port: int, queries: list[str], rounds: int) -> tuple[list[float], list[str]]:
    """Seconds of each answer, and what was wrong, of clients that ask at the same moments."""
    barrier = threading.Barrier(CLIENTS)

    def client(number: int) -> tuple[list[float], list[str]]:
        times_s, wrong = [], []
        for turn in range(rounds):
            barrier.wait()
            path = f"/api/view/operators?{queries[(number + turn) % len(queries)]}&limit={number}"
            begun_s = time.perf_counter()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                if response.status not in ANSWERED or not response.read():
                    wrong.append(f"{response.status} {path}")
            except (OSError, http.client.HTTPException) as error:
                wrong.append(f"{error!r} {path}")
            finally:
                connection.close()
            times_s.append(time.perf_counter() - begun_s)
        return times_s, wrong

    with ThreadPoolExecutor(CLIENTS) as pool:
        results = list(pool.map(client, range(CLIENTS)))
    return [t for times, _ in results for t in times], [w for _, all_ in results for w in all_]


def measure(port: int, pid: int, rounds: int) -> list[Figure]:
    """Run all the clients; the figures. Some wrong answers are printed."""
    queries = [query for query in ask_all(port) if "zzz_big" not in query]
    before_mb = resident_mb(pid)
    begun_s = time.perf_counter()
    slow = SlowClients(port)
    times_s, wrong = ask_at_once(port, queries, rounds)
    for line in wrong[:5]:
        print(line)
    end_s = begun_s + LIMIT_S + SPARE_S
    while time.perf_counter() < end_s and slow.dropped < SILENT:
        time.sleep(0.5)
    dropped_s = time.perf_counter() - begun_s
    dropped = slow.dropped
    time.sleep(max(0.0, end_s - time.perf_counter()))  # those that do not read are due too
    cut_off = slow.read_rest()
    times_ms = sorted(1000 * taken for taken in times_s)
    return [
        Figure("answers", len(times_ms), ""),
        Figure("wrong answers", len(wrong), "", 0),
        Figure("median", statistics.median(times_ms), "ms"),
        Figure("95th percentile", statistics.quantiles(times_ms, n=20)[18], "ms"),
        Figure("slowest", times_ms[-1], "ms", 10_000),
        Figure("silent and trickling clients dropped", dropped, "", SILENT, True),
        Figure("the last of them after", dropped_s, "s", LIMIT_S + SPARE_S),
        Figure("downloads cut off that nobody read", cut_off, "", STOPPED, True),
        Figure("memory of the server before", before_mb, "MB"),
        Figure("memory after", resident_mb(pid), "MB"),
    ]


def main() -> int:
    """Read the arguments, start the server, measure, stop it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    add_options(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make_runs(Path(folder), 8)
        make_big(Path(folder) / "zzz_big")
        with served(Path(folder)) as (port, pid):
            figures = measure(port, pid, given.rounds)
    subject = f"{CLIENTS} clients at once, {given.rounds} times, {SILENT + STOPPED} slow ones"
    tell("slow-clients", subject, figures, given)
    return 0 if all(figure.is_met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
