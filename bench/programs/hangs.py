"""A job of four ranks over gloo that hangs in a planted way, and writes torch's own dumps of it.

    python bench/programs/hangs.py CASE FOLDER

starts the ranks, and each writes ``FOLDER/fr_trace_rank_N`` (pickle) and ``FOLDER/fr_trace_N.json``
from a thread once all that will ever call a collective have called it. :data:`CASES` says what is
planted. ``tests/data/hangs`` holds the dumps of ``python bench/programs/hangs.py all FOLDER``, and
``tests/views/hang/test_recorded.py`` compares the verdict with what was planted.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CASES = {
    "sleep": "rank 2 sleeps before the fourth all_reduce of all ranks",
    "skip": "rank 1 skips the fourth all_reduce of all ranks and goes on with the all_gather",
    "shapes": "rank 3 calls the fourth all_reduce of all ranks with other sizes",
    "die": "rank 0 dies before the fourth all_reduce of all ranks, and has no dump",
    "order": "rank 0 calls the all_reduce of group front before that of all ranks, rank 1 after it",
    "subgroup": "rank 3 sleeps before an all_gather of group back; the others wait for it and for "
    "rank 2 elsewhere",
    "none": "nothing: every call is completed",
}
RANKS = 4
SETTLE_S = 4.0
"""After so long every rank that goes on is in its last call."""


def start_ranks(case: str, folder: Path) -> None:
    """Run the ranks of one case until their dumps are written."""
    folder.mkdir(parents=True, exist_ok=True)
    port = 29500 + os.getpid() % 1000
    environment = os.environ | {
        "TORCH_FR_BUFFER_SIZE": "200",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(RANKS),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, __file__, case, str(folder), "rank"]
    processes = [
        subprocess.Popen(command, env=environment | {"RANK": str(rank)}, stderr=subprocess.DEVNULL)
        for rank in range(RANKS)
    ]
    for process in processes:
        process.wait(timeout=120)


def run_rank(case: str, folder: Path) -> None:
    """One rank: three steps that are right, then the planted one."""
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo")
    front = dist.new_group([0, 1], group_desc="front")
    back = dist.new_group([2, 3], group_desc="back")
    own = front if rank < 2 else back

    def step() -> None:
        dist.all_reduce(torch.ones(8, 4))
        dist.all_reduce(torch.ones(2, 4), group=own)
        dist.all_gather([torch.empty(3) for _ in range(2)], torch.ones(3), group=own)

    for _ in range(3):
        step()
    threading.Thread(target=_write_later, args=(rank, folder), daemon=True).start()
    with contextlib.suppress(RuntimeError):  # a rank has died: gloo ends the calls of the others
        _planted(case, rank, own, step, folder)
    if case == "none":
        dist.barrier()
    time.sleep(60)


def _planted(case: str, rank: int, own: Any, step: Callable[[], None], folder: Path) -> None:
    import torch
    import torch.distributed as dist

    if case == "sleep" and rank == 2:
        time.sleep(60)
    elif case == "die" and rank == 0:
        os._exit(1)
    elif case == "skip":
        if rank != 1:
            dist.all_reduce(torch.ones(16))
        dist.all_gather([torch.empty(5) for _ in range(RANKS)], torch.ones(5))
    elif case == "shapes":
        # gloo aborts the rank whose buffer is too small: it writes its dump before the others call.
        if rank != 3:
            time.sleep(1.5 + 0.4 * rank)
        work = dist.all_reduce(torch.ones(16 if rank != 3 else 12), async_op=True)
        _write(rank, folder)
        work.wait()
    elif case == "order":
        calls = [lambda: dist.all_reduce(torch.ones(5))]
        if rank < 2:
            calls.append(lambda: dist.all_reduce(torch.ones(3), group=own))
        for call in calls[:: -1 if rank == 0 else 1]:
            call()
    elif case == "subgroup":
        if rank == 3:
            time.sleep(60)
        if rank == 2:
            dist.all_gather([torch.empty(3) for _ in range(2)], torch.ones(3), group=own)
    step()


def _write_later(rank: int, folder: Path) -> None:
    time.sleep(SETTLE_S)
    if not (folder / f"fr_trace_rank_{rank}").exists():
        _write(rank, folder)
    time.sleep(2)
    os._exit(0)


def _write(rank: int, folder: Path) -> None:
    from torch._C import _distributed_c10d as recorder

    (folder / f"fr_trace_rank_{rank}").write_bytes(recorder._dump_fr_trace())
    (folder / f"fr_trace_{rank}.json").write_bytes(recorder._dump_fr_trace_json())


if __name__ == "__main__":
    chosen, where = sys.argv[1], Path(sys.argv[2])
    if len(sys.argv) > 3:
        run_rank(chosen, where)
    for each in CASES if chosen == "all" else [chosen]:
        start_ranks(each, where if chosen != "all" else where / each)
