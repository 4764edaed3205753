"""How long a recording of hours takes to finish and to open, and how much memory.

The journal is made up: samples of ten sources with four metrics each, steps, batches and the work
of four workers, written in blocks of a second.

    python bench/journal.py --hours 8 --steps 1000000
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from figures import Figure, add_options, tell  # noqa: E402

from tests.helpers.recorder import START_NS, Run, blocks_of  # noqa: E402

SOURCES, METRICS, SAMPLES_PER_S = 10, 4, 10
WORKERS = 4
S = 10**9
MEASURED = "MEASURED"


def write_journal(path: Path, hours: float, steps: int) -> None:
    """Write a journal of so many hours with so many steps, evenly."""
    seconds = int(hours * 3600)
    per_s = max(1, round(steps / seconds))
    run = Run(steps=1, workers=WORKERS, sample_every_ms=0)
    head = [each for each in blocks_of(run) if each["kind"] in ("header", "loader", "timer")]
    shapes = {each["kind"]: each for each in blocks_of(run)}
    with open(path, "w", encoding="utf-8") as file:
        for block in head:
            file.write(json.dumps(block, separators=(",", ":")) + "\n")
        for second in range(seconds):
            for block in _second(second, per_s, shapes):
                file.write(json.dumps(block, separators=(",", ":")) + "\n")
        file.write(json.dumps({"kind": "end", "reason": "exit", "time_ns": START_NS}) + "\n")


def _second(
    second: int, per_s: int, shapes: dict[str, dict[str, object]]
) -> list[dict[str, object]]:
    begin, each = START_NS + second * S, S // per_s
    rows = list(range(second * per_s, (second + 1) * per_s))
    starts = [begin + place * each for place in range(per_s)]
    counts = {"samples": [32] * per_s, "batch": rows, "step": rows, "start_ns": starts}
    blocks = [
        shapes["steps"]
        | counts
        | {"end_ns": [at + each for at in starts], "reader_ns": [each // 4] * per_s},
        shapes["batches"]
        | counts
        | {"wait_ns": [each // 4] * per_s, "ready": [1] * per_s, "capacity": [8] * per_s}
        | {"worker": [row % WORKERS for row in rows]},
    ]
    for worker in range(WORKERS):
        mine = slice((worker - second * per_s) % WORKERS, None, WORKERS)
        size = len(rows[mine])
        stage = dict.fromkeys(("fetch_ns", "transform_ns", "collate_ns"), [each] * size)
        absent = dict.fromkeys(("pin_ns", "transfer_ns"), [None] * size)
        own = {"batch": rows[mine], "start_ns": starts[mine], "samples": [32] * size}
        blocks.append(shapes["work"] | {"worker": worker} | own | stage | absent)
    times = [begin + place * S // SAMPLES_PER_S for place in range(SAMPLES_PER_S)]
    values = [float(place + second % 90) for place in range(SAMPLES_PER_S)]
    metrics = {f"metric {place}": {"unit": "%", "values": values} for place in range(METRICS)}
    for source in range(SOURCES):
        block = {"kind": "samples", "source": f"GPU {source}", "time_ns": times}
        blocks.append(block | {"metrics": metrics})
    return blocks


def measured(what: str, path: Path) -> tuple[float, float]:
    """Seconds and peak MiB of a step in a process of its own."""
    command = [sys.executable, __file__, "--do", what, "--path", str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    line = next(line for line in told.splitlines() if line.startswith(MEASURED))
    seconds, peak_mb = line.split()[1:]
    return float(seconds), float(peak_mb)


def finish(path: Path) -> None:
    """Finish the folder."""
    from torch_tb_profiler.recorder.run_folder.finish import finish_folder  # noqa: PLC0415

    (worker,) = finish_folder(str(path.parent)).workers
    assert not worker.problems, worker.problems


def read(path: Path) -> None:
    """Read the journal."""
    from torch_tb_profiler.importers.registry import import_source  # noqa: PLC0415
    from torch_tb_profiler.importers.source import Source  # noqa: PLC0415

    with open(f"{path}.gz", "rb") as file:
        import_source(Source(path.name, iter(lambda: file.read(1 << 20), b"")))


def open_all(path: Path) -> None:
    """Open it, and show the overview."""
    from torch_tb_profiler import open_trace  # noqa: PLC0415

    with open_trace(f"{path}.gz", cache=False) as opened:
        opened.overview()


STEPS: dict[str, Callable[[Path], None]] = {"finish": finish, "read": read, "open": open_all}


def main() -> int:
    """Read the arguments, run, and tell the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--path", type=Path, default=ROOT / "bench/out/journal/rank0.record.jsonl")
    parser.add_argument("--do", choices=STEPS, help="one step, of a journal that is there")
    add_options(parser)
    given = parser.parse_args()
    if given.do:
        begin_s = time.perf_counter()
        STEPS[given.do](given.path)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(MEASURED, time.perf_counter() - begin_s, peak_mb)
        return 0
    given.path.parent.mkdir(parents=True, exist_ok=True)
    write_journal(given.path, given.hours, given.steps)
    figures = [Figure("journal", given.path.stat().st_size / 2**20, "MiB")]
    for what in STEPS:
        seconds, peak_mb = measured(what, given.path)
        figures += [Figure(f"{what}", seconds, "s"), Figure(f"{what}: memory", peak_mb, "MiB")]
    packed_mb = given.path.with_name(f"{given.path.name}.gz").stat().st_size / 2**20
    figures.append(Figure("journal, compressed", packed_mb, "MiB"))
    tell("journal", f"{given.hours:g} h, {given.steps} steps", figures, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
