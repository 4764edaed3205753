"""Where a fault is made: folders of its own, the real commands, and how they are run under a fault.

Nothing is mocked: full disks are small file systems, other users are other user ids, memory limits
are control groups, clocks are set back by libfaketime, processes are killed. What this machine does
not allow raises :class:`NotHereError`, which says what is missing.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from make_trace import make_trace

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
VIEWS = "overview,operators"
"""What is asked for: what every recording has."""

COMMAND = str(Path(sys.executable).parent / "torch-tb-profiler")
LIMIT_S = 120.0
"""No command under any fault may take longer."""

SIGNS_OF_A_CRASH = ("Traceback (most recent call last)", "fault of torch-tb-profiler", "panicked")


class NotHereError(Exception):
    """This machine does not allow the fault to be made; the text says what is missing."""


@dataclass(frozen=True)
class Ended:
    """A command that ended: exit code and what it printed."""

    code: int
    out: bytes
    err: str


@dataclass
class Scene:
    """The folders of one fault.

    Attributes:
        folder: Everything of it.
        traces: What commands look at.
        cache: A cache folder of its own.
        environment: Of every command.
    """

    folder: Path
    traces: Path = field(init=False)
    cache: Path = field(init=False)
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.traces, self.cache = self.folder / "traces", self.folder / "cache"
        self.traces.mkdir()
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("TORCH_TB_PROFILER")}
        self.environment = {**inherited, "TORCH_TB_PROFILER_CACHE_DIR": str(self.cache)}

    def add(self, sample: str, name: str | None = None) -> Path:
        """Copy a folder of ``samples/`` into the traces."""
        target = self.traces / (name or sample)
        shutil.copytree(SAMPLES / sample, target)
        return target

    def add_large(self, factor: int, name: str = "large") -> Path:
        """A trace of ``factor`` times 35 MB as plain JSON; the path of the file."""
        path = self.traces / name / "worker0.pt.trace.json"
        make_trace(factor, path)
        return path

    def run(
        self, *arguments: str, before: Sequence[str] = (), environment: Mapping[str, str] = {}
    ) -> Ended:
        """Run the command to its end, behind the words ``before`` if there are any."""
        done = subprocess.run(
            [*before, COMMAND, *arguments],
            env={**self.environment, **environment},
            cwd=self.folder,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr.decode(errors="replace"))

    def begin(self, *arguments: str, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start the command and let it run."""
        return subprocess.Popen(
            [*before, COMMAND, *arguments],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def report(
        self, *options: str, before: Sequence[str] = (), environment: Mapping[str, str] = {}
    ) -> Ended:
        """``report`` of every trace as JSON."""
        arguments = ("report", str(self.traces), "--view", VIEWS, "--format", "json", *options)
        return self.run(*arguments, before=before, environment=environment)

    def truth(self) -> Any:
        """The answers without any fault and without a cache."""
        ended = self.report("--no-cache")
        assert ended.code == 0, ended.err
        return json.loads(ended.out)

    @contextmanager
    def server(
        self,
        *options: str,
        before: Sequence[str] = (),
        environment: Mapping[str, str] = {},
    ) -> Iterator[Server]:
        """``serve`` of the traces while the block runs."""
        with subprocess.Popen(
            [*before, COMMAND, "serve", str(self.traces), "--port", "0", *options],
            env={**self.environment, **environment},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield Server(process)
            finally:
                process.kill()


class Server:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._log: list[str] = []
        assert process.stdout is not None
        assert process.stderr is not None
        threading.Thread(target=self._keep_log, args=(process.stderr,), daemon=True).start()
        address = None
        while address is None:
            line = process.stdout.readline()
            assert line, f"the server did not start: {self.log}"
            address = re.search(r"http://[^/\s]*:(\d+)", line)
        self.port = int(address[1])
        threading.Thread(target=process.stdout.read, daemon=True).start()

    def _keep_log(self, lines: Iterable[str]) -> None:
        with suppress(ValueError):  # it is closed when the server ends
            self._log.extend(lines)

    @property
    def log(self) -> str:
        """What it has said on stderr."""
        return "".join(self._log)

    def ask(self, path: str) -> None:
        """Send a question, whatever becomes of it."""
        with suppress(OSError, http.client.HTTPException):
            _once(self.port, path)

    def get(self, path: str) -> tuple[int, Any]:
        """Status and JSON of one answer, as soon as the trace is parsed."""
        return _awaited_answer(self.port, path)


def serving(process: subprocess.Popen[bytes]) -> int:
    """The port of a server that was just started; 0 where it ended."""
    assert process.stdout is not None
    for line in process.stdout:
        address = re.search(rb"http://[^/\s]*:(\d+)", line)
        if address is not None:
            return int(address[1])
    return 0


def answered(port: int, path: str) -> tuple[int, Any]:
    """As :meth:`Server.get`; status 0 where the server is gone."""
    try:
        return _awaited_answer(port, path)
    except (OSError, http.client.HTTPException):
        return 0, None


def _awaited_answer(port: int, path: str) -> tuple[int, Any]:
    give_up_s = time.monotonic() + LIMIT_S
    while time.monotonic() < give_up_s:
        status, body = _once(port, path)
        if status not in (202, 503):
            return status, json.loads(body)
        time.sleep(0.05)
    raise AssertionError(f"{path} was not answered within {LIMIT_S} s")


def _once(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    try:
        connection.request("GET", f"/api/{path}")
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@contextmanager
def new_scene() -> Iterator[Scene]:
    """A scene that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        yield Scene(Path(folder))


def is_right(ended: Ended, truth: object) -> None:
    """The command did all that it does without the fault.

    Raises:
        AssertionError: it did not; the text shows how it ended.
    """
    has_no_crash(ended.err)
    assert ended.code == 0, f"exit code {ended.code}: {ended.err[-2000:]}"
    assert json.loads(ended.out) == truth, "the numbers are others than without the fault"


def is_refused(ended: Ended, *words: str) -> None:
    """The command ended with exit code 3 and a message that holds ``words``.

    Raises:
        AssertionError: it did not.
    """
    has_no_crash(ended.err)
    assert ended.code == 3, f"exit code {ended.code}: {ended.err[-2000:]}"
    for word in words:
        assert word in ended.err, f"{word!r} is not in: {ended.err[-2000:]}"


def has_no_crash(log: str) -> None:
    """Nothing in ``log`` is a traceback.

    Raises:
        AssertionError: something is.
    """
    for sign in SIGNS_OF_A_CRASH:
        assert sign not in log, log[-3000:]


def mounted(folder: Path, options: str) -> list[str]:
    """Words before a command that let it see a file system of its own at ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    tool = needed("unshare", "util-linux")
    roots = [] if os.geteuid() == 0 else ["-r"]
    probe = subprocess.run([tool, "-m", *roots, "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        raise NotHereError("mount namespaces (unshare -m)")
    script = f'mount -t tmpfs -o {options} tmpfs "$0" && exec "$@"'
    return [tool, "-m", *roots, "sh", "-c", script, str(folder)]


def without_rights() -> list[str]:
    """Words before a command that let root meet permissions as others do."""
    if os.geteuid() != 0:
        return []
    return [needed("setpriv", "util-linux"), "--inh-caps=-all", "--bounding-set=-all"]


def needed(program: str, package: str) -> str:
    """The path of a program.

    Raises:
        NotHereError: it is not installed.
    """
    path = shutil.which(program)
    if path is None:
        raise NotHereError(f"{program} (Debian's package {package})")
    return path


def descendants(pid: int) -> list[int]:
    """Process ids of all children of a process and theirs."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(c) for task in tasks for c in (task / "children").read_text().split()]
    except OSError:
        return []
    return [*children, *(below for child in children for below in descendants(child))]


def is_running(pid: int) -> bool:
    """Whether a process runs and is no zombie."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def awaited(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: it does not within the limit.
    """
    give_up_s = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < give_up_s, f"not within {LIMIT_S} s: {what}"
        time.sleep(0.02)


def holds_open(pid: int, path: Path) -> bool:
    """Whether a process or one of its children has a file open."""
    return any(str(path) in _open_files(each) for each in (pid, *descendants(pid)))


def _open_files(pid: int) -> list[str]:
    try:
        return [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return []
