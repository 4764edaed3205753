"""The sampler: totals of a run compared with the system, and runs with failures.

The truth is ``resource.getrusage`` and ``/proc``, read independently of the code under test.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.samples import counters, cpu_limits, host_samples, sampler
from torch_tb_profiler.recorder.samples.sampler import Sampler
from torch_tb_profiler.recorder.session import Session

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the truth is /proc")

RUN_S = 1.0
WITHIN = 0.02

Block = dict[str, Any]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    created = Session(Options(folder=str(tmp_path)))
    created.note_activity()
    return created


def blocks(session: Session) -> list[Block]:
    return [json.loads(line) for line in Path(session.journal.path).read_text().splitlines()]


def samples(session: Session, source: str, metric: str) -> list[tuple[int, float | None]]:
    return [
        (time_ns, value)
        for block in blocks(session)
        if block["kind"] == "samples" and block["source"] == source and metric in block["metrics"]
        for time_ns, value in zip(block["time_ns"], block["metrics"][metric]["values"], strict=True)
    ]


def integral(points: list[tuple[int, float | None]]) -> float:
    """Core seconds: each value holds from the previous sample to its own."""
    return sum(
        value / 100 * (end_ns - start_ns) / 1e9
        for (start_ns, _), (end_ns, value) in pairwise(points)
        if value is not None
    )


def mean(points: list[tuple[int, float | None]]) -> float:
    return integral(points) / ((points[-1][0] - points[0][0]) / 1e9) * 100


def ticks() -> list[int]:
    """User (with nice) and total CPU time of the host, in clock ticks."""
    user, nice, *others = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return [user + nice, user + nice + sum(others)]


@contextmanager
def burning() -> Iterator[None]:
    """Run two threads that compute continuously."""
    ended = threading.Event()

    def burn() -> None:
        while not ended.is_set():
            sum(range(20_000))

    threads = [threading.Thread(target=burn) for _ in range(2)]
    for thread in threads:
        thread.start()
    yield
    ended.set()
    for thread in threads:
        thread.join()


@contextmanager
def stopped_process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that computes unless it is stopped; it is stopped now."""
    child = subprocess.Popen([sys.executable, "-c", "while True: sum(range(1000))"])
    child.send_signal(signal.SIGSTOP)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def own_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def test_totals_of_a_run_match_the_system(session: Session) -> None:
    taken = Sampler(session)
    with stopped_process() as child:
        session.set_workers({"loader worker 0": child.pid})
        taken.sample()  # loads what it needs
        before, host_before = own_s(), ticks()
        worker_before = ticks_s(child.pid)
        taken.sample()
        child.send_signal(signal.SIGCONT)
        with burning():
            for _ in range(10):
                time.sleep(RUN_S / 10)
                taken.sample()
        child.send_signal(signal.SIGSTOP)
        time.sleep(0.02)
        taken.stop("exit")
        used, host = own_s() - before, [b - a for a, b in zip(host_before, ticks(), strict=True)]
        worker = ticks_s(child.pid) - worker_before
    own = samples(session, "process", "CPU")[1:]
    assert integral(own) == pytest.approx(used, rel=WITHIN)
    user, system = (samples(session, "process", f"CPU {part}")[1:] for part in ("user", "system"))
    assert integral(user) + integral(system) == pytest.approx(integral(own), rel=0.001)
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    of_worker = integral(samples(session, "loader worker 0", "CPU")[1:])
    assert of_worker == pytest.approx(worker, rel=WITHIN, abs=2 * tick_s)
    user_pct = 100 * host[0] / host[1]
    of_host = mean(samples(session, "host", "CPU user")[1:])
    assert of_host == pytest.approx(user_pct, rel=WITHIN, abs=2)


def ticks_s(pid: int) -> float:
    """CPU time of another process, from clock ticks."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_all_documented_metrics_exist_and_shares_add_up(session: Session) -> None:
    taken = Sampler(session)
    for _ in range(2):
        taken.sample()
        time.sleep(0.03)
    taken.stop("exit")
    result: dict[str, set[str]] = {}
    for block in blocks(session):
        if block["kind"] == "samples":
            result.setdefault(block["source"], set()).update(block["metrics"])
            for metric in block["metrics"].values():
                assert len(metric["values"]) == len(block["time_ns"])
    assert result["host"] >= {
        "CPU user", "CPU system", "CPU I/O wait", "CPU idle", "runnable processes",
        "context switches", "load", "memory used", "memory available", "disk read",
        "network received",
    }  # fmt: skip
    assert result["process"] >= {
        "CPU", "CPU user", "CPU system", "resident memory", "threads", "read", "storage read",
        "voluntary context switches", "involuntary context switches",
    }  # fmt: skip
    parts = [samples(session, "host", part)[-1][1] for part in counters.CPU_PARTS]
    assert sum(part or 0 for part in parts) == pytest.approx(100, abs=0.01)
    (_, resident) = samples(session, "process", "resident memory")[-1]
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    assert resident == pytest.approx(pages * resource.getpagesize(), rel=0.1)


def test_the_cost_is_recorded(session: Session) -> None:
    taken = Sampler(session)
    before_ns = time.thread_time_ns()
    for _ in range(3):
        taken.sample()
    taken.flush()
    taken.stop("exit")
    spent_ns = time.thread_time_ns() - before_ns
    (cost,) = [block for block in blocks(session) if block["kind"] == "cost"]
    assert cost["calls"] == 3, "the last one was just now: there is nothing to add"
    assert 0.5 * spent_ns < cost["cpu_ns"] <= spent_ns


def test_an_ended_worker_is_skipped(session: Session) -> None:
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    children = [subprocess.Popen(sleeping) for _ in range(2)]
    try:
        taken = Sampler(session)
        session.set_workers({f"loader worker {k}": each.pid for k, each in enumerate(children)})
        taken.sample()
        children[0].send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, children[0].pid, os.WEXITED | os.WNOWAIT)  # a zombie for now
        taken.sample()
        children[0].wait()
        taken.sample()
        taken.stop("exit")
    finally:
        for child in children:
            child.kill()
            child.wait()
    counted = [len(samples(session, f"loader worker {k}", "CPU")) for k in range(2)]
    assert counted == [1, 3]


def test_a_new_process_for_a_worker_starts_new_rates(session: Session) -> None:
    taken = Sampler(session)
    session.set_workers({"loader worker 0": os.getpid()})
    taken.sample()
    session.set_workers({"loader worker 0": os.getppid()})
    taken.sample()
    taken.flush()
    assert [value for _, value in samples(session, "loader worker 0", "CPU")] == [None, None]


def test_an_inactive_process_is_sampled_rarely(tmp_path: Path) -> None:
    session = Session(Options(folder=str(tmp_path)))
    taken = Sampler(session)
    for _ in range(5):
        taken.sample()
    session.note_activity()
    taken.stop("exit")
    assert len(samples(session, "host", "CPU user")) <= 2


def test_sampling_can_be_disabled(tmp_path: Path) -> None:
    session = Session(Options(folder=str(tmp_path), sample_every_ms=0))
    session.note_activity()
    taken = Sampler(session)
    taken.start()
    taken.sample()
    taken.stop("exit")
    result = {block["what"]: block["reason"] for block in blocks(session)[1:]}
    assert set(result) == {"host_samples", "gpu_samples"}
    assert "--sample-every 0" in result["host_samples"]


def test_missing_libraries_are_reported_with_the_install_command(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "psutil", None)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    taken = Sampler(session)
    taken.sample()
    taken.stop("exit")
    result = {block["what"]: block["reason"] for block in blocks(session) if "reason" in block}
    assert result.keys() >= {"host_samples", "gpu_samples"}
    assert all(sampler.INSTALL in result[what] for what in ("host_samples", "gpu_samples"))
    assert not [block for block in blocks(session) if block["kind"] == "samples"]


def test_a_failing_probe_does_not_affect_others(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(host_samples.HostCpuShares, "read", broken)
    taken = Sampler(session)
    taken.sample()
    taken.sample()
    taken.stop("exit")
    reasons = [block["reason"] for block in blocks(session) if block.get("what") == "host_samples"]
    assert reasons == ["host: HostCpuShares failed: RuntimeError: odd"]
    assert len(samples(session, "process", "CPU")) == 2


def test_psutil_provides_the_same_metrics(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psutil")
    monkeypatch.setattr(sys, "platform", "darwin")
    taken = Sampler(session)
    session.set_workers({"loader worker 0": os.getppid(), "loader worker 1": 2**22 + 1})
    taken.sample()
    before = own_s()
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        sum(range(1000))
    taken.stop("exit")
    used = own_s() - before
    assert integral(samples(session, "process", "CPU")) == pytest.approx(used, abs=0.03)
    assert samples(session, "loader worker 0", "resident memory")
    assert not samples(session, "loader worker 1", "CPU")
    assert {"host", "process"} <= {block.get("source") for block in blocks(session)}


def test_cgroup_v2_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outer = tmp_path / "jobs"
    inner = outer / "one"
    inner.mkdir(parents=True)
    (outer / "cpu.max").write_text("50000 100000\n")
    (inner / "cpu.max").write_text("max 100000\n")
    (outer / "cpu.stat").write_text("usage_usec 5\nnr_periods 100\nnr_throttled 10\n")
    (inner / "memory.max").write_text("1000000\n")
    (inner / "memory.current").write_text("900000\n")
    (inner / "memory.stat").write_text("anon 5\ninactive_file 400000\n")
    own = tmp_path / "cgroup"
    own.write_text("0::/jobs/one\n")
    monkeypatch.setattr(cpu_limits, "ROOT", str(tmp_path))
    monkeypatch.setattr(cpu_limits, "OWN_CGROUPS", str(own))
    limits = cpu_limits.CgroupLimits()
    _, first = limits.read()
    (outer / "cpu.stat").write_text("usage_usec 5\nnr_periods 110\nnr_throttled 15\n")
    _, second = limits.read()
    assert first["CPU limit"] == ("%", 50)
    assert (first["CPU throttled"][1], second["CPU throttled"][1]) == (None, 50)
    assert first["memory limit"] == ("bytes", 1_000_000)
    assert first["memory limit in use"] == ("%", 50), "without files that nobody uses"


def test_cgroup_v1_limits_in_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = tmp_path / "cpu,cpuacct"
    cpu.mkdir()
    (cpu / "cpu.cfs_quota_us").write_text("25000")
    (cpu / "cpu.cfs_period_us").write_text("100000")
    own = tmp_path / "cgroup"
    own.write_text("4:cpu,cpuacct:/docker/0123\n2:memory:/docker/0123\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712")
    monkeypatch.setattr(cpu_limits, "ROOT", str(tmp_path))
    monkeypatch.setattr(cpu_limits, "OWN_CGROUPS", str(own))
    _, result = cpu_limits.CgroupLimits().read()
    assert result["CPU limit"] == ("%", 25), "the path is the host's: its root is what is seen"
    assert not [metric for metric in result if metric.startswith("memory")]


def test_affinity_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_limits, "OWN_CGROUPS", "/nowhere")
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3, 5})
    assert cpu_limits.usable_cores() == 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)))
    assert cpu_limits.usable_cores() is None
