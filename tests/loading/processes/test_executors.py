"""Cases: results and errors are returned; a killed worker fails only its own task and is replaced;
workers end when they are retired or idle; nothing is imported from the host's ``__main__``; a
result that cannot be returned is an error; cancelling; one thread imports modules; Ctrl-C does not
reach workers; they end with the process that started them, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers import tasks
from tests.helpers.waiting import wait_until
from torch_tb_profiler.loading.processes import executors
from torch_tb_profiler.loading.processes.executors import LocalExecutor, WorkerDiedError


@pytest.fixture(name="executor")
def two_workers() -> Iterator[LocalExecutor]:
    executor = LocalExecutor(2)
    yield executor
    executor.shutdown(wait=False)


def test_results_come_from_other_processes(executor: LocalExecutor) -> None:
    futures = [executor.submit(tasks.squared, n) for n in range(20)]
    assert [future.result(10) for future in futures] == [n * n for n in range(20)]
    pids = {executor.submit(tasks.process_id).result(10) for _ in range(6)}
    assert os.getpid() not in pids
    assert len(pids) <= 2


def test_an_error_is_raised_where_the_result_is_used(executor: LocalExecutor) -> None:
    with pytest.raises(ValueError, match="no good"):
        executor.submit(tasks.failing, "no good").result(10)
    assert executor.submit(tasks.squared, 3).result(10) == 9


def test_printing_does_not_disturb_the_answers(executor: LocalExecutor) -> None:
    assert executor.submit(print, "on stdout").result(10) is None
    assert executor.submit(tasks.squared, 3).result(10) == 9


def test_a_killed_worker_fails_its_task_only(executor: LocalExecutor) -> None:
    slow = executor.submit(tasks.slept, 0.5)
    doomed = executor.submit(tasks.killed_by, signal.SIGKILL)
    after = [executor.submit(tasks.squared, n) for n in range(4)]
    with pytest.raises(WorkerDiedError, match="killed by SIGKILL"):
        doomed.result(10)
    assert slow.result(10) == 0.5
    assert [future.result(10) for future in after] == [0, 1, 4, 9]


def test_what_cannot_be_pickled_is_an_error(executor: LocalExecutor) -> None:
    with pytest.raises(Exception, match="pickle"):
        executor.submit(lambda: 1).result(10)
    with pytest.raises(RuntimeError, match="cannot be returned"):
        executor.submit(tasks.unpicklable).result(10)
    assert executor.submit(tasks.squared, 3).result(10) == 9


def test_a_task_that_waits_can_be_cancelled() -> None:
    executor = LocalExecutor(1)
    running = executor.submit(tasks.slept, 0.3)
    waiting = executor.submit(tasks.squared, 2)
    assert waiting.cancel()
    assert running.result(10) == 0.3
    executor.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(tasks.squared, 2)


def test_a_process_that_rests_ends_and_the_next_task_has_another() -> None:
    executor = LocalExecutor(1, ahead=2)
    first = executor.submit(tasks.process_id).result(10)
    executor.retire_workers()
    assert executor.submit(tasks.process_id).result(10) != first
    executor.shutdown(wait=False)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_every_process_rests_when_it_is_done_also_one_that_is_busy(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    busy = executor.submit(tasks.waited_for, tmp_path / "may end")
    wait_until((tmp_path / "may end.begun").exists)
    idle_pid = executor.submit(tasks.process_id).result(10)
    executor.retire_workers()
    wait_until(lambda: not _is_running(idle_pid))
    (tmp_path / "may end").touch()
    busy_pid = busy.result(10)
    wait_until(lambda: not _is_running(busy_pid))
    assert executor.submit(tasks.process_id).result(10) not in (idle_pid, busy_pid)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_process_ends_when_it_had_nothing_to_do_for_a_while(
    executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "IDLE_S", 0.05)
    pid = executor.submit(tasks.process_id).result(10)
    assert executor.submit(tasks.slept, 0.2).result(10) == 0.2  # busy is not idle
    wait_until(lambda: not _is_running(pid))
    assert executor.submit(tasks.squared, 2).result(10) == 4


def test_a_process_that_is_just_being_started_ends_with_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, may_start = threading.Event(), threading.Event()
    child = executors._Worker

    def slow(on_answer: Callable[[], object]) -> executors._Worker:
        begun.set()
        assert may_start.wait(10)
        return child(on_answer)

    monkeypatch.setattr(executors, "_Worker", slow)
    executor = LocalExecutor(1)
    running = executor.submit(tasks.slept, 60)
    assert begun.wait(10)
    ending = threading.Thread(target=executor.shutdown, args=(False,))
    ending.start()
    wait_until(lambda: executor._work.is_killed)
    may_start.set()
    ending.join(10)
    assert not ending.is_alive()
    with pytest.raises(WorkerDiedError):
        running.result(0)


def test_large_arguments_and_results_travel(executor: LocalExecutor) -> None:
    data = os.urandom(5_000_000)
    assert executor.submit(bytes.upper, data).result(10) == data.upper()


def test_tasks_are_unpickled_by_the_thread_that_performs_them(executor: LocalExecutor) -> None:
    """Unpickling imports modules, and two threads that import may wait for each other."""
    assert executor.submit(str, tasks.NamesItsThread()).result(10) == "MainThread"


HOST = """
    import os, sys, time
    print("imported", flush=True)
    sys.path.insert(0, {root!r})
    from tests.helpers import tasks
    from torch_tb_profiler.loading.processes.executors import LocalExecutor
    executor = LocalExecutor(1)
    print(executor.submit(tasks.process_id).result(20), flush=True)
    executor.submit(tasks.slept, 60)
    time.sleep(0.2)
    {end}
"""


@pytest.mark.parametrize("end", ["sys.exit()", "os.kill(os.getpid(), 9)"])
def test_no_worker_outlives_its_host_or_imports_it_again(tmp_path: Path, end: str) -> None:
    root = str(Path(__file__).resolve().parents[3])
    script = tmp_path / "host.py"  # without a guard: a second import of it would start a worker
    script.write_text(textwrap.dedent(HOST).format(root=root, end=end))
    done = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, timeout=30, check=False)
    first, pid = done.stdout.decode().split()
    assert first == "imported"
    deadline_s = time.monotonic() + 10
    while _is_running(int(pid)) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert not _is_running(int(pid))


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process blocks")
def test_an_interrupt_never_reaches_a_process_that_starts(executor: LocalExecutor) -> None:
    status = executor.submit(Path.read_text, Path("/proc/self/status")).result(30)
    (blocked,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigBlk:"))
    assert int(blocked, 16) >> (signal.SIGINT - 1) & 1
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
