"""Faults of processes: killed workers, schedulers and servers, and no memory left."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fault_scene import (
    LIMIT_S,
    NotHereError,
    Scene,
    answered,
    awaited,
    descendants,
    has_no_crash,
    holds_open,
    is_right,
    is_running,
    serving,
)

RANKS = 4
MEMORY_BYTES = 230_000_000
"""Enough for a server and small traces, and not for reading a large one."""

ADDRESS_SPACES_MB = (300, 400, 500, 700, 1000, 1500, 2000)
ENOUGH_MB = 1000
NO_MEMORY = ("out_of_memory", "no_room", "worker_died")
SMALL = "h100_bert_small"

_CGROUPS = Path("/sys/fs/cgroup")


def killed_worker(scene: Scene) -> None:
    """One of the processes that parse several traces is killed, as for lack of memory."""
    paths = [scene.add_large(1, f"large{number}") for number in range(RANKS)]
    truth = scene.truth()
    ingest = scene.begin("ingest", str(scene.traces), "--workers", "2")
    awaited(lambda: _reader_of(ingest.pid, paths), "a worker reads a trace")
    victim = _reader_of(ingest.pid, paths)
    assert victim is not None
    os.kill(victim, signal.SIGKILL)
    _, err = ingest.communicate(timeout=LIMIT_S)
    has_no_crash(err.decode())
    assert ingest.returncode == 3, err.decode()
    assert "SIGKILL" in err.decode(), err.decode()
    is_right(scene.report(), truth)


def killed_scheduler(scene: Scene) -> None:
    """The Dask scheduler ends while its workers parse."""
    for number in range(RANKS):
        scene.add_large(1, f"large{number}")
    truth = scene.truth()
    with _dask(scene) as (address, scheduler):
        command = ("ingest", str(scene.traces), "--scheduler", address)
        ingest = scene.begin(*command)
        awaited(lambda: list(scene.cache.rglob("tmp/*")), "a Dask worker parses")
        scheduler.kill()
        _, err = ingest.communicate(timeout=LIMIT_S)
    has_no_crash(err.decode())
    assert ingest.returncode == 3, f"{ingest.returncode}: {err.decode()}"
    is_right(scene.report(), truth)


def killed_server(scene: Scene) -> None:
    """The server is killed while its workers parse; they end, and the next server is whole."""
    for number in range(RANKS):
        scene.add_large(1, f"large{number}")
    truth = scene.truth()
    with scene.server("--workers", "2") as server:
        awaited(lambda: server.get("runs")[1]["runs"], "the server knows its traces")
        questions = [f"view/overview?run=large{number}" for number in range(RANKS)]
        for question in questions:
            threading.Thread(target=server.ask, args=(question,), daemon=True).start()
        awaited(lambda: descendants(server.process.pid), "workers run")
        workers = descendants(server.process.pid)
        server.process.kill()
        server.process.wait()
    awaited(lambda: not any(map(is_running, workers)), "the workers end")
    is_right(scene.report(), truth)


def out_of_memory(scene: Scene) -> None:
    """A control group has no room for reading one of two traces."""
    scene.add_large(12)
    scene.add(SMALL)
    with _memory_limit(MEMORY_BYTES) as before, scene.server(before=before) as server:
        assert server.get(f"view/overview?run={SMALL}")[0] == 200
        status, answer = server.get("view/overview?run=large")
        assert status == 422, f"{status}: {str(answer)[:300]}"
        assert answer["error"]["hint"], answer
        assert server.get(f"view/operators?run={SMALL}")[0] == 200
        has_no_crash(server.log)


def small_address_space(scene: Scene) -> None:
    """``ulimit -v``: in each of several sizes the command and the server have the right answer, or
    say that memory is short."""
    scene.add(SMALL)
    scene.add_large(1)
    truth = scene.truth()
    for limit_mb in ADDRESS_SPACES_MB:
        before = ["sh", "-c", f'ulimit -v {limit_mb << 10} && exec "$0" "$@"']
        for options in (("--no-cache",), ("--no-cache", "--workers", "1")):
            ended = scene.report(*options, before=before)
            has_no_crash(ended.err)
            assert ended.code in (0, 3), f"{limit_mb} MB: {ended.code}: {ended.err[-2000:]}"
            if ended.code == 0:
                assert json.loads(ended.out) == truth, f"{limit_mb} MB: other numbers"
            else:
                assert "memory" in ended.err, ended.err[-2000:]
                assert limit_mb < ENOUGH_MB, f"{limit_mb} MB: {ended.err[-2000:]}"
        _serves_or_says_so(scene, before)


def _serves_or_says_so(scene: Scene, before: list[str]) -> None:
    """A server answers, or says that memory is short, or ends with exit code 3."""
    process = scene.begin("serve", str(scene.traces), "--port", "0", before=before)
    try:
        port = serving(process)
        for run in (SMALL, "large") if port else ():
            status, answer = answered(port, f"view/overview?run={run}")
            is_short = status == 422 and answer["error"]["code"] in NO_MEMORY
            assert status in (0, 200) or is_short, f"{status}: {str(answer)[:300]}"
            if status == 0:
                assert process.wait(LIMIT_S) == 3
    finally:
        process.terminate()
        out, err = process.communicate(timeout=LIMIT_S)
    has_no_crash(err.decode(errors="replace"))
    assert port or process.returncode == 3, f"{process.returncode}: {out!r} {err!r}"


def _reader_of(pid: int, paths: list[Path]) -> int | None:
    """A worker below ``pid`` that has one of ``paths`` open."""
    for child in descendants(pid):
        if any(holds_open(child, path) for path in paths):
            return child
    return None


@contextmanager
def _dask(scene: Scene) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A scheduler with one worker on this machine: its address and its process."""
    program = str(Path(sys.executable).parent / "dask")
    if not Path(program).exists():
        raise NotHereError("Dask (pip install 'torch-tb-profiler[dask]')")
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with subprocess.Popen(
        [program, "scheduler", *options],
        env=scene.environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    ) as scheduler:  # fmt: skip
        assert scheduler.stderr is not None
        address = None
        while address is None:
            line = scheduler.stderr.readline()
            assert line, "the Dask scheduler did not start"
            address = re.search(r"tcp://127\.0\.0\.1:\d+", line)
        worker = subprocess.Popen(
            [program, "worker", address[0], "--nthreads", "1", "--no-dashboard", "--no-nanny"],
            env=scene.environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield address[0], scheduler
        finally:
            worker.kill()
            worker.wait()
            scheduler.kill()


@contextmanager
def _memory_limit(limit_bytes: int) -> Iterator[list[str]]:
    """Words before a command that let it and its children have so much memory together."""
    for base, name in ((_CGROUPS / "memory", "memory.limit_in_bytes"), (_CGROUPS, "memory.max")):
        group = base / f"fault-{os.getpid()}"
        members = group / "cgroup.procs"
        if _is_limited(group, name, limit_bytes):
            try:
                yield ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(members)]
            finally:
                awaited(functools.partial(_is_empty, members), "the group is empty")
                group.rmdir()
            return
    raise NotHereError("a memory control group that may be written")


def _is_limited(group: Path, name: str, limit_bytes: int) -> bool:
    """Make a control group with a limit; False where that is not allowed."""
    try:
        group.mkdir()
        (group / name).write_text(str(limit_bytes))
    except OSError:
        if group.is_dir():
            group.rmdir()
        return False
    return True


def _is_empty(members: Path) -> bool:
    return not members.read_text()
