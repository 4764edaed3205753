"""The recorded processes and threads, by their base names: no argument, no folder."""

from __future__ import annotations

from dataclasses import dataclass

from torch_tb_profiler.importers.nsys.names import Names
from torch_tb_profiler.importers.nsys.nvtx import thread_names
from torch_tb_profiler.importers.nsys.text import MAX_CHARS, executable, shown
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT

PROCESSES = "PROCESSES"
THREADS = "ThreadNames"


@dataclass(frozen=True, slots=True)
class ProcessNames:
    """Names of processes by ``globalPid`` and of threads by ``globalTid``."""

    processes: dict[int, str]
    threads: dict[int, str]


def read_processes(database: Database, names: Names) -> ProcessNames:
    """What processes and threads are called. Of several names of a thread the one that the program
    gave it counts, else the one of the highest priority; of several names of a process the last."""
    processes: dict[int, str] = {}
    if PROCESSES in database.tables:
        for number, name in database.rows(PROCESSES, ["globalPid", "name"]):
            if isinstance(number, int) and isinstance(name, str):
                processes[number] = executable(shown(name))[:MAX_CHARS]
    return ProcessNames(processes, _threads(database, names) | thread_names(database, names))


def _threads(database: Database, names: Names) -> dict[int, str]:
    if THREADS not in database.tables:
        return {}
    table = database.ints(THREADS, ["nameId", "priority", "globalTid"])
    texts = names.texts_of(table["nameId"])
    best: dict[int, tuple[int, str]] = {}
    columns = (table[name].tolist() for name in ("globalTid", "priority", "nameId"))
    for thread, priority, name in zip(*columns, strict=True):
        if thread == ABSENT or name not in texts:
            continue
        if thread not in best or best[thread][0] < priority:
            best[thread] = priority, shown(texts[name])
    return {thread: name for thread, (_, name) in best.items()}
