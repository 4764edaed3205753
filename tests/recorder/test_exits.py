"""Ends of a recorded process: each is recorded in its journal, and the process ends unchanged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGTERM

import pytest

BEGIN = """\
import os, signal, sys, threading, time
from torch_tb_profiler.recorder import exits, session
from torch_tb_profiler.recorder.options import Options
session.PARTS = ()
options = Options(folder=sys.argv[1], sample_every_ms=0)
def begin():
    session.begin(options).note_activity()
    exits.install(options)
"""
CASES = {
    "its end": ("begin()", 0, "exit"),
    "sys.exit": ("begin(); sys.exit(5)", 5, "exit"),
    "exception": ("begin(); {}[1]", 1, "exception KeyError"),
    "a thread outlives it": ("begin(); threading.Thread(target=time.sleep, args=(.1,)).start()", 0,
                             "exit"),
    "os._exit": ("begin(); os._exit(6)", 6, "os._exit"),
    "SIGTERM": ("begin(); os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", -SIGTERM,
                "signal SIGTERM"),
    "SIGHUP": ("begin(); os.kill(os.getpid(), signal.SIGHUP); time.sleep(9)", -SIGHUP,
               "signal SIGHUP"),
    "SIGTERM in begin of a thread": (
        "t = threading.Thread(target=begin); t.start(); t.join(); time.sleep(.05)\n"
        "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", -SIGTERM, "signal SIGTERM"),
    "its own handler": (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); begin()\n"
        "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", 7, "exit"),
    "a later handler calls ours": (
        "begin(); old = signal.getsignal(signal.SIGTERM)\n"
        "def mine(*a):\n    old(*a); sys.exit(8)\n"
        "signal.signal(signal.SIGTERM, mine); os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)",
        8, "exit"),
    "interrupted, and again while it ends": (
        "begin(); end = session.end\n"
        "def interrupted(reason):\n    signal.raise_signal(signal.SIGINT); end(reason)\n"
        "session.end = interrupted; raise KeyboardInterrupt", -SIGINT,
        "exception KeyboardInterrupt"),
    "ignored": ("signal.signal(signal.SIGHUP, signal.SIG_IGN); begin()\n"
                "os.kill(os.getpid(), signal.SIGHUP)", 0, "exit"),
    "exec": ("begin(); os.execvp('true', ['true'])", 0, "os.exec"),
    "exec of nothing": (
        "begin()\ntry:\n    os.execvp('no-such-command', ['x'])\n"
        "except FileNotFoundError:\n    sys.exit(9)", 9, "exit"),
    "a forked child": (
        "begin(); pid = os.fork()\nif not pid:\n    os._exit(0)\nos.waitpid(pid, 0)", 0, "exit"),
    "a forked child is killed": (
        "begin(); ready, child = os.pipe(); pid = os.fork()\n"
        "if not pid:\n    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
        "    os.write(child, b'.'); time.sleep(9)\n"
        "os.close(child); os.read(ready, 1); os.kill(pid, signal.SIGTERM)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) + 15)", 0, "exit"),
    "it hangs": (
        "exits.MAX_END_S = .1; begin()\nsession.current().close = lambda _: time.sleep(60)\n"
        "os._exit(10)", 10, None),
}  # fmt: skip


def ends(folder: Path) -> list[str]:
    """The reasons in all journals."""
    blocks = [
        json.loads(line)
        for path in sorted(folder.glob("*.record.jsonl"))
        for line in path.read_text().splitlines()
    ]
    return [block["reason"] for block in blocks if block["kind"] == "end"]


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BEGIN + program, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize("case", CASES)
def test_an_end_is_recorded_once_and_unchanged(case: str, tmp_path: Path) -> None:
    program, code, reason = CASES[case]
    done = run(program, tmp_path)
    assert done.returncode == code, done.stderr
    assert ends(tmp_path) == ([] if reason is None else [reason])
    is_raised = reason is not None and reason.startswith("exception")
    assert done.stderr.count("Traceback") == is_raised


def test_forked_training_processes_have_journals_and_helpers_have_none(
    tmp_path: Path,
) -> None:
    program = (
        "import multiprocessing\nfork = multiprocessing.get_context('fork')\nbegin()\n"
        "def train():\n    session.current().note_activity()\n"
        "def _worker_loop():\n    assert session.current() is None\n"
        "all = [fork.Process(target=each) for each in (train, _worker_loop)]\n"
        "[each.start() for each in all]; [each.join() for each in all]\n"
        "with fork.Pool(1) as pool:\n    assert pool.apply(session.current) is None\n"
        "sys.exit(sum(each.exitcode for each in all))"
    )
    done = run(program, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert ends(tmp_path) == ["exit", "exit"]
