"""Records programs of every kind that we could think of, and looks at what is left of them.

    python bench/record_programs.py [--seed N] [--python PATH] [--list] [NAME…]

Each of ``programs/`` runs alone and under ``torch-tb-profiler record`` with the same seed. Checked:
exit code and output are the same, byte for byte (times, addresses and process ids aside); the
recorded training steps are those that the program counts itself, each with an end between two
instants it has measured; the finished folder opens with ``torch-tb-profiler report``; no line of
the recorder says that it failed. ``--timing`` measures the median step instead, with samples only,
by turns.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(__file__).with_name("programs")
MARK = "[record] "
RECORD = (
    sys.executable,
    "-c",
    "from torch_tb_profiler.cli import main, record_messages\n"
    "record_messages._print_verdict = lambda folder: None\n"
    "raise SystemExit(main())",
    "record",
)
"""Without the verdict: the report follows anyway."""

LIMIT_S = 240
CLOCKS_NS = 3_000_000
"""The program reads the system's clock, the recorder once, then the monotonic one."""


@dataclass(frozen=True)
class Program:
    """A program and what is true of it.

    Attributes:
        command: What is run, after python.
        code: Its exit code; negative: the signal that kills it.
        options: Of the recorder.
        has_stderr: Whether its stderr is the same in every run.
        needs: Packages without which it is skipped.
        misses_last: Whether the end of its last step cannot be observed.
        is_killed: Whether it has no time to write its last steps: at least half of them are there.
        steps: Whether it takes steps.
        waits_s: How long its processes may live on after it.
    """

    command: tuple[str, ...]
    code: int = 0
    options: tuple[str, ...] = ()
    has_stderr: bool = True
    needs: tuple[str, ...] = ()
    misses_last: bool = False
    is_killed: bool = False
    steps: bool = True
    waits_s: float = 0.0


def _loop(name: str, **more: Any) -> Program:
    return Program(("loops.py", name), **more)


def _framework(name: str, *needs: str, **more: Any) -> Program:
    return Program(("frameworks.py", name), needs=needs, has_stderr=False, **more)


def _ending(name: str, **more: Any) -> Program:
    return Program(("endings.py", name), **more)


def _launched(*launcher: str, needs: tuple[str, ...] = ()) -> Program:
    return Program(("-m", *launcher, "frameworks.py", "ranks"), has_stderr=False, needs=needs)


CASES = {
    "lightning": _framework("lightning", "lightning"),
    "trainer": _framework("trainer", "transformers", "accelerate"),
    "accelerate": _framework("accelerated", "accelerate"),
    "timm": _framework("timm", "timm"),
    "torchrun": _launched("torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
    "accelerate launch": _launched(
        "accelerate.commands.launch", "--cpu", "--num_processes", "2", "--num_machines", "1",
        "--mixed_precision", "no", "--dynamo_backend", "no", needs=("accelerate",),
    ),
    "plain": _loop("plain"),
    "isolated": Program(("-I", "-c", "import torch; print(torch.ones(2))"), steps=False),
    "python -c": Program(("-c", "from truth import *\nseeded(2)\nsay(train(Truth(), 14))")),
    "python -W error": Program(("-W", "error", "loops.py", "plain")),
    "python -OO": Program(("-OO", "loops.py", "persistent"), has_stderr=False),
    "two optimizers": _loop("adversarial"),
    "closure": _loop("closure"),
    "optimizers in backward": _loop("in_backward", misses_last=True),
    "own optimizer": _loop("own_optimizer"),
    "accumulation": _loop("accumulated"),
    "persistent workers": _loop("persistent"),
    "spawned workers": _loop("spawned_workers"),
    "torch.compile": _loop("compiled"),
    "copies of the model": _loop("copied"),
    "own profiler": _loop("own_profiler", has_stderr=False),
    "settrace": _loop("own_trace"),
    "strict": _loop("strict"),
    "os._exit": _ending("os_exit", code=7),
    "SIGSEGV": _ending("segfault", code=-signal.SIGSEGV, is_killed=True),
    "SIGSEGV, faulthandler": _ending(
        "segfault_with_handler", code=-signal.SIGSEGV, has_stderr=False, is_killed=True
    ),
    "SIGKILL": _ending("killed", code=-signal.SIGKILL, is_killed=True),
    "SIGTERM": _ending("terminated", code=-signal.SIGTERM),
    "SIGINT": _ending("interrupted", code=-signal.SIGINT),
    "SIGABRT": _ending("aborted", code=-signal.SIGABRT, is_killed=True),
    "own handler": _ending("own_handler", code=9),
    "ignored signals": _ending("ignored"),
    "alarms": _ending("alarms"),
    "sys.exit": _ending("message", code=1),
    "exception": _ending("raises", code=1),
    "sys.exit in a thread": _ending("exit_in_thread"),
    "threads": _ending("threads"),
    "asyncio": _ending("coroutines"),
    "exec": _ending("executes"),
    "redirected": _ending("redirected"),
    "closes descriptors": _ending("closes_all"),
    "daemon": _ending("daemon", waits_s=20.0, steps=False),
    "deleted folder": _ending("elsewhere"),
    "no environment": _ending("cleared"),
    "spawned": _ending("spawned"),
    "forked": _ending("forked"),
    "pool": _ending("pool"),
    "notebook": _ending("notebook", needs=("nbclient", "ipykernel"), has_stderr=False),
    "pytest": Program(
        ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_of_pytest.py"), code=1
    ),
    "without torch": Program(("without_torch.py", "--output", "x"), code=4, steps=False),
}  # fmt: skip

VARIES = re.compile(r"\bin \d+\.\d+s\b|\b0x[0-9a-f]+\b|\bpid[ =]\d+|/tmp/[\w./-]+")
"""Of an output, what differs from run to run: times, addresses, names of temporary files."""


@dataclass(frozen=True)
class Run:
    """A run of a program: how it ended, its output without the lines of the recorder, those lines,
    and what its processes know of their steps, by process id."""

    code: int
    stdout: str
    stderr: str
    recorder: tuple[str, ...]
    truth: dict[int, dict[str, Any]]


def run(program: Program, arguments: argparse.Namespace, folder: Path, *, recorded: bool) -> Run:
    """Run a program, recorded into ``folder/logs/run`` or not."""
    truth = folder / ("truth" if recorded else "alone")
    truth.mkdir()
    command = list(program.command)
    if command[0].endswith(".py") or command[-1] in {"ranks", "plain", "persistent"}:
        command.append(str(arguments.seed))
    command = [arguments.python, *command]
    if recorded:
        into = ["--output", str(folder / "logs"), "--name", "run"]
        options = [*into, *program.options, *arguments.options]
        command = [*RECORD, *options, "--", *command]
    variables = {**os.environ, "TRUTH": str(truth), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    variables["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(PROGRAMS)])
    done = subprocess.run(
        command, cwd=PROGRAMS, env=variables, input="some text\n", capture_output=True, text=True,
        check=False, timeout=LIMIT_S,
    )  # fmt: skip
    _wait_for(truth, program.waits_s)
    lines = done.stderr.splitlines(keepends=True)
    own = tuple(line[len(MARK) :].strip() for line in lines if line.startswith(MARK))
    stderr = "".join(line for line in lines if not line.startswith(MARK))
    known: dict[int, dict[str, Any]] = {}
    for each in (json.loads(path.read_text()) for path in sorted(truth.glob("*.json"))):
        earlier = known.get(each["pid"], {"steps": []})["steps"]
        known[each["pid"]] = {**each, "steps": earlier + each["steps"]}
    return Run(done.returncode, done.stdout, stderr, own, known)


def _wait_for(folder: Path, limit_s: float) -> None:
    until = time.monotonic() + limit_s
    while time.monotonic() < until and not any(folder.iterdir()):
        time.sleep(0.2)
    time.sleep(0.5 if limit_s else 0)


def problems(program: Program, alone: Run, recorded: Run, folder: Path) -> Iterator[str]:
    """What is not as it should be."""
    for name, run_code in (("alone", alone.code), ("recorded", recorded.code)):
        if run_code != program.code and -run_code != program.code - 256:
            yield f"exit code {run_code} {name}, not {program.code}"
    texts = [("stdout", alone.stdout, recorded.stdout)]
    if program.has_stderr:
        texts.append(("stderr", alone.stderr, recorded.stderr))
    for name, before, after in texts:
        if VARIES.sub("", before) != VARIES.sub("", after):
            yield f"{name}: {after[-600:]!r} instead of {before[-600:]!r}"
    yield from (
        line for line in recorded.recorder if "failed" in line or "does not support" in line
    )
    if program.steps:
        yield from _step_problems(program, recorded, folder / "logs" / "run")
    if (folder / "logs" / "run").exists():
        yield from _report_problems(folder)


def _step_problems(program: Program, recorded: Run, folder: Path) -> Iterator[str]:
    journals: dict[int, list[int]] = {}
    for journal in _journals(folder):
        ends = [*journals.get(journal["pid"], ()), *journal["ends"]]
        journals[journal["pid"]] = sorted(ends)
    if not recorded.truth:
        yield "the program has written no truth"
    for pid in recorded.truth.keys() - journals.keys():
        yield f"process {pid} was not recorded"
    for pid in journals.keys() - recorded.truth.keys():
        if journals[pid]:
            yield f"process {pid} has {len(journals[pid])} steps, but takes none"
    for pid in recorded.truth.keys() & journals.keys():
        yield from _differences(program, recorded.truth[pid], journals[pid])


def _differences(program: Program, truth: dict[str, Any], ends: list[int]) -> Iterator[str]:
    steps = [step for step in truth["steps"] if step[1] is not None]
    least = len(steps) // 2 if program.is_killed else len(steps) - program.misses_last
    if not least <= len(ends) <= len(steps):
        yield f"{len(ends)} steps recorded, {len(steps)} taken"
    nexts = [begin for begin, _ in truth["steps"][1:]] + [truth["ended"]]
    for number, (end, step, following) in enumerate(zip(ends, steps, nexts, strict=False)):
        if not step[1] - CLOCKS_NS <= end <= following + CLOCKS_NS:
            yield f"step {number} ends {(end - step[1]) / 1e6:.1f} ms after its optimizer begins"
            return


def _journals(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.record.jsonl*")):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        blocks = [json.loads(line) for line in text.splitlines()]
        header = next(block for block in blocks if block["kind"] == "header")
        steps = {
            number: end
            for block in blocks
            if block["kind"] == "steps" and block["phase"] == "train"
            for number, end in zip(block["step"], block["end_ns"], strict=True)
        }
        yield {"pid": header["pid"], "ends": [steps[number] for number in sorted(steps)]}


def _report_problems(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "torch_tb_profiler", "report", str(folder / "logs" / "run")]
    done = subprocess.run(
        [*command, "--format", "json", "--no-cache"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=LIMIT_S,
    )  # fmt: skip
    if done.returncode or "Traceback" in done.stderr:
        yield f"report ends with {done.returncode}: {done.stderr[-400:]}"


def check(name: str, arguments: argparse.Namespace) -> list[str] | None:
    """The problems of a program; None if it cannot run here."""
    program = CASES[name]
    for package in program.needs:
        imports = [
            arguments.python,
            "-c",
            f"import importlib.util as u; exit(not u.find_spec({package!r}))",
        ]
        if subprocess.run(imports, check=False, cwd=PROGRAMS).returncode:
            return None
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        alone = run(program, arguments, folder, recorded=False)
        recorded = run(program, arguments, folder, recorded=True)
        output = list(problems(program, alone, recorded, folder))
        if arguments.verbose:
            print(*recorded.recorder, sep="\n")
            print(alone.stderr, recorded.stderr, sep="\n=====\n")
        return output


def timing(name: str, arguments: argparse.Namespace, rounds: int = 5) -> float:
    """Median step with samples ÷ without: the least of several runs by turns."""
    best: dict[bool, float] = {}
    for number in range(2 * rounds):
        recorded = number % 2 == 1
        with tempfile.TemporaryDirectory() as folder:
            done = run(CASES[name], arguments, Path(folder), recorded=recorded)
        steps = [
            after[0] - before[0]
            for each in done.truth.values()
            for before, after in zip(each["steps"][4:], each["steps"][5:], strict=False)
        ]
        best[recorded] = min(best.get(recorded, float("inf")), median(steps))
    return best[True] / best[False]


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the programs; 1 if one is not as it should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of these only (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", default=sys.executable, help="runs the programs")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--timing", action="store_true", help="measure steps instead")
    parser.add_argument("--verbose", action="store_true", help="print what the recorder says")
    parser.add_argument(
        "--options", default=[], type=str.split, help="more options of the recorder"
    )
    chosen = parser.parse_args(arguments)
    names = chosen.names or list(CASES)
    if chosen.list:
        print(*CASES, sep="\n")
        return 0
    if chosen.timing:
        chosen.options = ["--timer-only"]
        for name in names:
            print(f"{name:24} {timing(name, chosen):.3f}", flush=True)
        return 0
    failed = 0
    for name in names:
        started = time.monotonic()
        output = check(name, chosen)
        failed += bool(output)
        state = "skipped" if output is None else "ok" if not output else "NOT OK"
        print(f"{name:24} {state:8} {time.monotonic() - started:5.1f} s", flush=True)
        for line in output or ():
            print(f"    {line}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
