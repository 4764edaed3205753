"""Identity of this process: host, pid, rank; the header of its journal."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

from torch_tb_profiler._version import __version__
from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.options import Options


def worker_names() -> tuple[str, str]:
    """The name of this process in the files of a run, and a fallback if that name is taken."""
    own = f"{host_name()}_{os.getpid()}"
    rank = rank_and_world_size()[0]
    return (own, own) if rank is None else (f"rank{rank}", f"rank{rank}_{own}")


def rank_and_world_size() -> tuple[int | None, int | None]:
    """Rank and world size: from the launcher's environment, else from ``torch.distributed``."""
    rank = environment_int("RANK")
    if rank is not None:
        return rank, environment_int("WORLD_SIZE")
    distributed: Any = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
    except Exception:  # a build of torch without it
        return None, None
    return None, None


def journal_header(options: Options, started_ns: int | None = None) -> dict[str, Any]:
    """The first block of a journal.

    Args:
        options: The options of the recording.
        started_ns: Start of the recording in nanoseconds since 1970; None: now.
    """
    rank, world_size = rank_and_world_size()
    return {
        "kind": "header",
        "version": 1,
        "pid": os.getpid(),
        "host": host_name(),
        "rank": rank,
        "local_rank": environment_int("LOCAL_RANK"),
        "world_size": world_size,
        "program": options.program,
        "started_ns": clock.unix_ns() if started_ns is None else started_ns,
        "sample_every_ms": options.sample_every_ms,
        "recorder_version": __version__,
    }


def host_name() -> str:
    """Name of the machine, reduced to letters, digits, ``-`` and ``_``."""
    name = "".join(each if each.isalnum() or each in "-_" else "-" for each in socket.gethostname())
    return name or "host"


def environment_int(variable: str) -> int | None:
    """The non-negative integer in an environment variable; None if it is not one."""
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
