"""A training of four ranks over gloo with one slow rank, and whether the view of ranks names it.

    python -m bench.programs.slow_ranks FOLDER [CASE ...] [--no-shapes]

runs each case with torchrun, writes what torch.profiler records of all ranks to ``FOLDER/CASE``,
and prints the first row of the table ``slow_ranks`` beside what was planted (:data:`CASES`). Ends
with 1 if one is wrong. Four ranks need four idle cores: where other programs run on them, a rank
is late for real. ``docs/diagnosis-accuracy.md#real-programs`` has the figures.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RANKS, STEPS, WIDTH, LAYERS, BATCH = 4, 8, 384, 6, 96
PAUSED_STEPS = (3, 6)
"""Recorded steps in which a rank collects garbage."""


@dataclass(frozen=True)
class Case:
    """A case.

    Attributes:
        causes: What the product may call it; empty where nothing is planted.
        rank: Whom it strikes.
        planted: What was planted, for people.
    """

    causes: tuple[str, ...]
    rank: int | None
    planted: str


CASES = {
    "none": Case((), None, "nothing"),
    "loader": Case(("slow_input",), 2, "samples take 60 ms longer per batch"),
    "batch": Case(("uneven_work",), 1, "three times the batch"),
    "host": Case(("slow_host",), 3, "a function of 60 ms between steps"),
    "gc": Case(("pause",), 0, "gc.collect over two million objects in two steps"),
}


def run_rank(case: str, folder: Path, with_shapes: bool) -> None:
    """One rank: trains, and writes its recording."""
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel
    from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
    from torch.utils.data import DataLoader, IterableDataset

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    is_struck = CASES[case].rank == rank
    batch = BATCH * 3 if case == "batch" and is_struck else BATCH

    class Samples(IterableDataset[Any]):
        """Endless samples."""

        def __iter__(self) -> Iterator[Any]:
            while True:
                if case == "loader" and is_struck:
                    time.sleep(0.06 / batch)
                yield torch.randn(WIDTH), torch.randn(WIDTH)

    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(LAYERS)]
    model = DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.AdamW(model.parameters())
    garbage = [[each] for each in range(2_000_000)] if case == "gc" and is_struck else []
    gc.freeze() if not garbage else gc.disable()
    options: Any = {}
    if case == "gc":
        # torch records collections along with Python functions only.
        options |= {"experimental_config": _collection_recorded(), "with_stack": True}
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=2, warmup=2, active=STEPS),
        on_trace_ready=tensorboard_trace_handler(str(folder), worker_name=f"rank{rank}"),
        record_shapes=with_shapes,
        **options,
    ) as profiler:
        batches = iter(DataLoader(Samples(), batch_size=batch))
        for step in range(4 + STEPS):
            inputs, targets = next(batches)
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if case == "host" and is_struck:
                _work_on_host(0.06)
            if garbage and step - 4 in PAUSED_STEPS:
                gc.collect()
            profiler.step()
    dist.destroy_process_group()


def _collection_recorded() -> Any:
    """Options that make a profiler record collections, in releases of torch that have them."""
    from torch._C._profiler import _ExperimentalConfig

    try:
        return _ExperimentalConfig(record_python_gc_info=True)
    except TypeError:
        return _ExperimentalConfig()


def _work_on_host(duration_s: float) -> None:
    """Python code that calls no operators."""
    end = time.perf_counter() + duration_s
    counted = 0
    while time.perf_counter() < end:
        counted += 1


def record(case: str, folder: Path, with_shapes: bool) -> None:
    """Run the ranks of one case."""
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
        str(RANKS), __file__, str(folder), case, "--rank",
    ] + ["--no-shapes"] * (not with_shapes)  # fmt: skip
    subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=300)


def judge(case: str, folder: Path) -> bool:
    """Ask for slow ranks, print the answer, return whether it is right."""
    import torch_tb_profiler

    with torch_tb_profiler.open_trace(str(folder), cache=False) as trace:
        rows = trace.view("ranks").table("slow_ranks").to_dicts()
    planted = CASES[case]
    first = rows[0] if rows else None
    if first is None:
        answer, is_right = "nothing", not planted.causes
    else:
        answer = f"{first['cause']} of {first['level']} {first['location']}, {first['pattern']}"
        answer += f", {first['cost_pct']:.0f} % of the step: {first['evidence']}"
        is_right = first["cause"] in planted.causes and first["ranks"] == str(planted.rank)
    print(f"{case}: planted {planted.planted} (rank {planted.rank}); named {answer}")
    print(f"    {'right' if is_right else 'WRONG'}; {max(0, len(rows) - 1)} more named", flush=True)
    for row in rows[1:]:
        print(f"    also {row['cause']} of {row['location']}: {row['evidence']}")
    return is_right


def main() -> None:
    """Record and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE")
    parser.add_argument("--no-shapes", dest="shapes", action="store_false")
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.rank:
        run_rank(chosen.cases[0], chosen.folder, chosen.shapes)
        return
    right = 0
    for case in chosen.cases:
        folder = chosen.folder / case
        if not folder.exists():
            record(case, folder, chosen.shapes)
        right += judge(case, folder)
    print(f"{right} of {len(chosen.cases)} right")
    sys.exit(right < len(chosen.cases))


if __name__ == "__main__":
    main()
