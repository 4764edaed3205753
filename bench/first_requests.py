"""Fresh servers hit by their first requests all at once, with a thread switch each microsecond.

Whatever a server sets up at its first use is then set up by many threads at once. Counted are
servers that died, answers that differ from those of a server at rest, and errors in the log:

    python bench/first_requests.py                    80 servers, some of them TensorBoards
    python bench/first_requests.py --serve 5 --cold 0 --tensorboard 0    a quick look
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from figures import SAFETY, Figure, add_options, tell
from load import make_runs

RUNS = 16
CLIENTS = 16
LIMIT_S = 120
"""For an answer, and for a server to start and to end."""

VIEWS = ("overview", "operators", "kernels", "memory", "modules", "distributed")
SWITCHING = "import sys; sys.setswitchinterval(1e-6); "
SERVE = "from torch_tb_profiler.cli import main; sys.exit(main())"
TENSORBOARD = "from tensorboard.main import run_main; run_main()"
ERROR = re.compile(r"Traceback|Exception|error", re.IGNORECASE)

Answer = tuple[int, bytes]
"""Status and body."""


@dataclass(frozen=True)
class Face:
    """A way to start a server.

    Attributes:
        name: For people.
        program: What its process runs; its arguments follow.
        arguments: Those, apart from the port.
        prefix: Path of its data routes.
        is_cached: Whether its traces are in the cache before it starts.
    """

    name: str
    program: str
    arguments: tuple[str, ...]
    prefix: str
    is_cached: bool = True


@dataclass
class Outcome:
    """What was seen of the servers of one face.

    Attributes:
        servers: How many were started.
        deaths: How each that died ended.
        wrong: Answers that differ from those of a server at rest.
        errors: Lines of the log.
        seconds: Time of each answer, from the moment all clients ask.
    """

    servers: int = 0
    deaths: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def figures(self, name: str) -> list[Figure]:
        """What is told of them."""
        return [
            Figure(f"{name}: servers", self.servers, ""),
            Figure(f"{name}: answers", len(self.seconds), ""),
            Figure(f"{name}: died", len(self.deaths), "", 0),
            Figure(f"{name}: wrong answers", len(self.wrong), "", 0),
            Figure(f"{name}: errors in the log", len(self.errors), "", 0),
            Figure(f"{name}: slowest first answer", max(self.seconds, default=0.0), "s"),
        ]


@dataclass
class Server:
    """A server that runs, and what it printed so far."""

    process: subprocess.Popen[str]
    port: int = 0
    lines: list[str] = field(default_factory=list)
    is_listening: threading.Event = field(default_factory=threading.Event)

    def read(self) -> None:
        """Keep what it prints; its address is in there."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            address = re.search(r"http://[^/\s]*:(\d+)", line)
            if address and not self.port:
                self.port = int(address[1])
                self.is_listening.set()
        self.is_listening.set()


@contextmanager
def running(face: Face, cache: Path, *, is_switching: bool) -> Iterator[Server]:
    """A server of that face; ends when it is left.

    Raises:
        RuntimeError: it does not listen.
    """
    program = (SWITCHING if is_switching else "import sys; ") + face.program
    process = subprocess.Popen(
        [sys.executable, "-c", program, *face.arguments, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"TORCH_TB_PROFILER_CACHE_DIR": str(cache)},
    )
    server = Server(process)
    reader = threading.Thread(target=server.read, daemon=True)
    reader.start()
    try:
        server.is_listening.wait(LIMIT_S)
        if not server.port:
            raise RuntimeError("\n".join(["it does not listen", *server.lines[-20:]]))
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(LIMIT_S)


def answer(port: int, path: str, begin: threading.Barrier | None = None) -> Answer:
    """The answer to a question, once the trace is parsed. Status 0 is none.

    Args:
        port: Of the server.
        path: Path and query.
        begin: Waited for between connecting and asking.
    """
    until_s = time.perf_counter() + LIMIT_S
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    status, body = 0, b""
    if begin is not None:
        connection.connect()
        begin.wait()
    while time.perf_counter() < until_s:
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            status, body = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            return 0, repr(error).encode()
        if status != 202:
            break
        time.sleep(0.05)
    connection.close()
    return status, body


def questions(face: Face, port: int) -> list[str]:
    """Paths of many kinds about each trace."""
    runs = json.loads(runs_known(face, port))["runs"]
    paths = [f"{face.prefix}about"]
    for run in runs:
        worker = run["workers"][0]
        span = worker["spans"][0]["name"]
        about = f"run={quote(run['name'])}&worker={quote(worker['name'])}&span={quote(span)}"
        paths += [f"{face.prefix}view/{view}?{about}" for view in VIEWS]
        paths += [f"{face.prefix}{route}?{about}" for route in ("views", "timeline/tracks")]
        paths.append(f"{face.prefix}view/operators?{about}&filter=name~a&sort=-name&limit=20")
        paths.append(f"{face.prefix}timeline?{about}&start_ns=0&end_ns=100000000&width_px=800")
        paths.append(f"{face.prefix}slice/10?{about}")
        paths.append(f"{face.prefix}perfetto?{about}&start_us=0&end_us=1000")
    return paths


def runs_known(face: Face, port: int) -> bytes:
    """The answer of ``/runs`` when the scan is over.

    Raises:
        TimeoutError: it is not.
    """
    until_s = time.perf_counter() + LIMIT_S
    while time.perf_counter() < until_s:
        _, body = answer(port, f"{face.prefix}runs")
        if not json.loads(body)["discovering"]:
            return body
        time.sleep(0.05)
    raise TimeoutError("the scan does not end")


def hit(port: int, paths: Sequence[str], expected: dict[str, Answer], outcome: Outcome) -> None:
    """Ask all questions at once, each on a connection of its own."""
    begin = threading.Barrier(len(paths), timeout=LIMIT_S)

    def ask(path: str) -> None:
        begun_s = time.perf_counter()
        status, body = answer(port, path, begin)
        outcome.seconds.append(time.perf_counter() - begun_s)
        if (status, body) != expected[path]:
            outcome.wrong.append(f"{status} {path} {body[:300]!r}")

    threads = [threading.Thread(target=ask, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def attacked(face: Face, servers: int, cache: Path, chance: random.Random) -> Outcome:
    """So many fresh servers of a face under their first requests."""
    outcome = Outcome()
    with running(face, cache, is_switching=False) as server:
        expected = {path: answer(server.port, path) for path in questions(face, server.port)}
    for number in range(servers):
        own_cache = cache if face.is_cached else cache / f"own{number}"
        outcome.servers += 1
        paths = chance.sample(sorted(expected), CLIENTS)
        try:
            with running(face, own_cache, is_switching=True) as server:
                hit(server.port, paths, expected, outcome)
        except RuntimeError as error:
            outcome.deaths.append(str(error))
            continue
        if server.process.returncode not in (0, -signal.SIGINT):
            ended = f"ended with {server.process.returncode}"
            outcome.deaths.append("\n".join([ended, *server.lines[-20:]]))
        outcome.errors += [line for line in server.lines if ERROR.search(line)]
    return outcome


def main() -> int:
    """Read the arguments, attack the servers, tell what was seen."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--serve", type=int, default=60, metavar="N", help="on a warm cache")
    parser.add_argument("--cold", type=int, default=10, metavar="N", help="on an empty cache")
    parser.add_argument("--tensorboard", type=int, default=10, metavar="N", help="TensorBoards")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help="in the log folder")
    parser.add_argument("--seed", type=int, default=1)
    add_options(parser)
    given = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        logs, cache = Path(folder, "logs"), Path(folder, "cache")
        logs.mkdir()
        make_runs(logs, given.runs)
        tensorboard = ("--logdir", str(logs), "--host", "127.0.0.1")
        prefix = "/data/plugin/pytorch_profiler/"
        for face, servers in (
            (Face("serve", SERVE, ("serve", str(logs)), "/api/"), given.serve),
            (Face("cold", SERVE, ("serve", str(logs)), "/api/", is_cached=False), given.cold),
            (Face("TensorBoard", TENSORBOARD, tensorboard, prefix), given.tensorboard),
        ):
            if not servers:
                continue
            outcome = attacked(face, servers, cache, random.Random(given.seed))
            for text in (*outcome.deaths[:3], *outcome.wrong[:3], *outcome.errors[:10]):
                print(text, file=sys.stderr)
            figures += outcome.figures(face.name)
    subject = f"{CLIENTS} first requests at once, {given.runs} runs, seed {given.seed}"
    tell("first_requests", subject, figures, given, SAFETY)
    return 0 if all(figure.is_met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
