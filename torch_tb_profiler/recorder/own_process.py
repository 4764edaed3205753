"""What a journal says of the process that it is of."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

from torch_tb_profiler._version import __version__
from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.options import Options


def worker_names() -> tuple[str, str]:
    """The name of this process in the files of a run, and the one where another has that."""
    own = f"{host_name()}_{os.getpid()}"
    rank = place_in_job()[0]
    return (own, own) if rank is None else (f"rank{rank}", f"rank{rank}_{own}")


def place_in_job() -> tuple[int | None, int | None]:
    """Rank and number of ranks: as a launcher tells them, else as the program told torch."""
    rank = environment_number("RANK")
    if rank is not None:
        return rank, environment_number("WORLD_SIZE")
    distributed: Any = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
    except Exception:  # a build of torch without it
        return None, None
    return None, None


def header(options: Options, started_ns: int | None = None) -> dict[str, Any]:
    """The first block of a journal; of a recording that began at a time, else now."""
    rank, world_size = place_in_job()
    return {
        "kind": "header",
        "version": 1,
        "pid": os.getpid(),
        "host": host_name(),
        "rank": rank,
        "local_rank": environment_number("LOCAL_RANK"),
        "world_size": world_size,
        "program": options.program,
        "started_ns": clock.unix_ns() if started_ns is None else started_ns,
        "sample_every_ms": options.sample_every_ms,
        "recorder_version": __version__,
    }


def host_name() -> str:
    """The name of the machine, in letters, digits, ``-`` and ``_``."""
    name = "".join(each if each.isalnum() or each in "-_" else "-" for each in socket.gethostname())
    return name or "host"


def environment_number(variable: str) -> int | None:
    """A whole number that a launcher sets."""
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
