"""Whether a gate over repeated recordings holds for a slower program, and not for noise.

    python bench/gate_noise.py --trials 50 --repeats 5 --slower-pct 5 --noise-pct 1

Each trial writes recordings of a program whose steps differ between recordings by the noise (a
standard deviation) and runs ``torch-tb-profiler compare --repeats`` as CI does: once with a
candidate that is slower by so much, once with one that is not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

STEPS = 6
STEP_US = 10_000.0
WITHIN_PCT = 0.5
"""Standard deviation of the steps of one recording."""


def write(path: Path, mean_us: float, random: np.random.Generator) -> None:
    """A recording of a host whose steps take so long on average."""
    events, at = [], 1000.0
    for step in range(STEPS):
        length = mean_us * (1 + WITHIN_PCT / 100 * random.normal())
        for name, cat, dur in (
            (f"ProfilerStep#{step}", "user_annotation", length),
            ("aten::mm", "cpu_op", length * 0.9),
        ):
            where = {"ph": "X", "pid": 1, "tid": 1, "ts": at, "dur": dur}
            events.append({**where, "cat": cat, "name": name, "args": {}})
        at += length
    path.write_text(json.dumps({"traceEvents": events}))


def side(folder: Path, mean_us: float, arguments: argparse.Namespace,
         random: np.random.Generator) -> Path:  # fmt: skip
    """A folder with the recordings of one side."""
    folder.mkdir()
    for number in range(arguments.repeats):
        own = mean_us * (1 + arguments.noise_pct / 100 * random.normal())
        write(folder / f"run{number}.pt.trace.json", own, random)
    return folder


def fails(baseline: Path, candidate: Path, gate: str) -> bool:
    """Whether the gate holds."""
    command = [sys.executable, "-m", "torch_tb_profiler", "compare", baseline, candidate]
    options = ["--repeats", "--no-cache", "--fail-on", gate, "--view", "average_step"]
    done = subprocess.run([*map(str, command), *options], capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr.decode())
    return done.returncode == 1


def main() -> None:
    """Print in how many trials the gate held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--slower-pct", type=float, default=5.0)
    parser.add_argument("--noise-pct", type=float, default=1.0)
    parser.add_argument("--gate", default="average_step.total_us>+2%")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    held = {"slower": 0, "same": 0}
    for _ in range(arguments.trials):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            baseline = side(folder / "old", STEP_US, arguments, random)
            for kind, factor in (("slower", 1 + arguments.slower_pct / 100), ("same", 1.0)):
                candidate = side(folder / kind, STEP_US * factor, arguments, random)
                held[kind] += fails(baseline, candidate, arguments.gate)
    print(f"{arguments.gate}, {arguments.repeats} recordings per side, noise "
          f"{arguments.noise_pct} %, {arguments.trials} trials:")  # fmt: skip
    print(f"  {arguments.slower_pct} % slower: held in {held['slower']}")
    print(f"  as fast: held in {held['same']}")


if __name__ == "__main__":
    main()
