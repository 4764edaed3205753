"""A store that stalls, drops and comes back, at each point of a read by the real command.

    python bench/stalls.py                  # every request of a report, every fault
    python bench/stalls.py --faults silent  # one kind
    python bench/stalls.py --silence-s 300  # how long the store of the server is away

An S3 server (moto) stands behind an endpoint that does what is asked of it to the n-th request,
once or from there on. Each ``report`` must end with the right numbers or with exit code 3, and a
server must notice soon that its bucket is back. Exits with 1 when one does not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from figures import SAFETY, Figure, add_options, tell  # noqa: E402  # the path must be set first

from tests.cloud import emulators  # noqa: E402
from tests.helpers.stalls import FAULTS, Fault, FaultyEndpoint, faulty_endpoint  # noqa: E402

SAMPLE = ROOT / "samples" / "torch_compile_triton"
OBJECT_BYTES = 5 << 20
"""Two ranges."""
LIMIT_S = 4.0
"""Of one question, so that many runs take minutes; the server has the limit that users have."""
START_S = 3.0
"""What a run takes when nothing fails, on a busy machine."""
TRICKLED_S = 64.0
"""What a range of 4 MiB may take more, at the slowest speed that counts as one."""
HANG_S = 300.0
NOTICED_S = 35.0
POLL_S = 0.5


@dataclass(frozen=True)
class Run:
    """One ``report``: what was done to which request, and what came of it."""

    fault: Fault | None
    request: int
    for_good: bool
    code: int
    seconds: float
    output: bytes
    told: str

    @property
    def limit_s(self) -> float:
        """How long it may take: the listing, or a range that is begun again just in time."""
        slow_s = TRICKLED_S if self.fault == "trickles body" else 0.0
        return START_S + 3 * LIMIT_S + slow_s

    def fell(self, right: bytes) -> str | None:
        """What is wrong with it, or None."""
        if self.code not in (0, 3):
            return f"exit code {self.code}"
        if "Traceback" in self.told:
            return "traceback"
        if self.code == 0 and self.output != right:
            return "wrong numbers"
        return "too slow" if self.seconds > self.limit_s else None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--silence-s", type=float, default=60.0, help="0 leaves the server out")
    add_options(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, emulators.s3() as store:
        os.environ.update(store.environment, HOME=folder, AWS_EC2_METADATA_DISABLED="true")
        store.filesystem.mkdir(emulators.BUCKET)
        store.put({"run/w.pt.trace.json": _trace()})
        port = int(store.environment["AWS_ENDPOINT_URL"].rpartition(":")[2])
        with faulty_endpoint(port) as endpoint:
            os.environ["AWS_ENDPOINT_URL"] = endpoint.url
            url = store.url("run")
            figures, fallen = _reports(endpoint, url, arguments.faults)
            if arguments.silence_s:
                figures += _server(endpoint, url, arguments.silence_s, Path(folder))
    for line in fallen:
        print(line)
    subject = f"moto behind an endpoint that fails; limit of a question {LIMIT_S:g} s, server 20 s"
    tell("stalls", subject, figures, arguments, SAFETY)
    return 0 if all(figure.is_met for figure in figures) else 1


def _trace() -> bytes:
    """A sample, with blanks that make it large enough for several ranges."""
    path = next(iter(sorted(SAMPLE.glob("*.json*"))))
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return text.rstrip() + b" " * max(0, OBJECT_BYTES - len(text))


def _reports(
    endpoint: FaultyEndpoint, url: str, faults: list[Fault]
) -> tuple[list[Figure], list[str]]:
    clean = _report(endpoint, url, None, 0, for_good=False)
    assert clean.code == 0, clean.told
    requests = len(endpoint.requests)
    runs = []
    for fault in faults:
        for request in range(requests):
            for for_good in (False, True):
                runs.append(_report(endpoint, url, fault, request, for_good=for_good))
                last = runs[-1]
                print(
                    f"{fault:>20} request {request} {'for good' if for_good else 'once':8} "
                    f"exit {last.code} {last.seconds:6.1f} s {last.told.strip()[:90]}",
                    flush=True,
                )
    problems = [(run, run.fell(clean.output)) for run in runs]
    fallen = [f"{run.fault} at {run.request}: {why}\n{run.told}" for run, why in problems if why]
    quick = [run.seconds for run in runs if run.fault != "trickles body"]
    slow = [run.seconds for run in runs if run.fault == "trickles body"]
    figures = [
        Figure("reports with one fault each", len(runs), "runs"),
        Figure("answered with the right numbers", sum(run.code == 0 for run in runs), "runs"),
        Figure("told with exit code 3", sum(run.code == 3 for run in runs), "runs"),
        Figure("wrong numbers, tracebacks, hangs, other codes", len(fallen), "runs", goal=0),
        Figure("longest, limit 4 s", max(quick, default=0.0), "s", goal=START_S + 3 * LIMIT_S),
    ]
    if slow:
        goal = START_S + 3 * LIMIT_S + TRICKLED_S
        figures.append(Figure("longest with a range of a byte a second", max(slow), "s", goal=goal))
    return figures, fallen


def _report(
    endpoint: FaultyEndpoint, url: str, fault: Fault | None, request: int, *, for_good: bool
) -> Run:
    def plan(number: int) -> Fault | None:
        return fault if number == request or (for_good and number > request) else None

    endpoint.plan = plan
    endpoint.forget()
    began_s = time.monotonic()
    command = [sys.executable, "-m", "torch_tb_profiler", "report", url, "--no-cache"]
    try:
        done = subprocess.run(
            [*command, "--view", "operators", "--format", "json"],
            capture_output=True,
            timeout=HANG_S,
            check=False,
            env={**os.environ, "TORCH_TB_PROFILER_REMOTE_TIMEOUT_S": str(LIMIT_S)},
        )
        code, output, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, output, errors = -1, b"", b"it hangs"
    seconds = time.monotonic() - began_s
    return Run(fault, request, for_good, code, seconds, output, errors.decode(errors="replace"))


def _server(endpoint: FaultyEndpoint, url: str, silence_s: float, folder: Path) -> list[Figure]:
    """A server whose bucket goes away for a while, asked by a page all the time."""
    endpoint.always(None)
    with _serving(url, folder) as address:
        _until(address, lambda runs: bool(runs["runs"]))
        endpoint.always("silent")
        began_s = time.monotonic()
        _until(address, lambda runs: bool(runs["silent_places"]))
        told_s = time.monotonic() - began_s
        slowest_s, kept = 0.0, True
        while time.monotonic() - began_s < silence_s:
            requested_s = time.monotonic()
            kept = bool(_runs(address)["runs"]) and kept
            slowest_s = max(slowest_s, time.monotonic() - requested_s)
            time.sleep(POLL_S)
        endpoint.always(None)
        back_s = time.monotonic()
        _until(address, lambda runs: not runs["silent_places"])
        noticed_s = time.monotonic() - back_s
    return [
        Figure("server: until it tells that there is no answer", told_s, "s", goal=45.0),
        Figure("server: slowest list of runs meanwhile", slowest_s, "s", goal=1.0),
        Figure("server: times the runs were gone meanwhile", float(not kept), "", goal=0),
        Figure("server: notices that the bucket is back", noticed_s, "s", goal=NOTICED_S),
    ]


@contextmanager
def _serving(url: str, folder: Path) -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, "-m", "torch_tb_profiler", "serve", url, "--port", "0", "--no-cache"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    guard = threading.Timer(2 * HANG_S, server.kill)
    guard.start()
    try:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
    finally:
        guard.cancel()
        server.terminate()
        server.wait()


def _runs(address: str) -> Any:
    with urllib.request.urlopen(f"{address}api/runs", timeout=HANG_S) as answer:
        return json.load(answer)


def _until(address: str, holds: Any) -> None:
    until_s = time.monotonic() + HANG_S
    while not holds(_runs(address)):
        assert time.monotonic() < until_s, "the server never tells"
        time.sleep(POLL_S)


if __name__ == "__main__":
    sys.exit(main())
