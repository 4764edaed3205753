"""Names of the recorded processes and threads: base names only, without arguments and folders."""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.importers.nsys.names import TraceStrings
from torch_tb_profiler.importers.nsys.nvtx import thread_names
from torch_tb_profiler.importers.nsys.text import executable
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.importers.text_codes import until_nul
from torch_tb_profiler.trace.columns import ABSENT

PROCESSES = "PROCESSES"
THREADS = "ThreadNames"


class ProcessNames(Struct, frozen=True):
    """Names of processes by ``globalPid`` and of threads by ``globalTid``."""

    processes: dict[int, str]
    threads: dict[int, str]


def read_processes(database: Database, names: TraceStrings) -> ProcessNames:
    """Read the names of processes and threads. Among several names of a thread the one given by the
    program counts, else the one with the highest priority; of a process the last."""
    processes: dict[int, str] = {}
    most_chars = UNLIMITED.count("text_chars")
    if PROCESSES in database.tables:
        for number, name in database.rows(PROCESSES, ["globalPid", "name"]):
            if isinstance(number, int) and isinstance(name, str):
                processes[number] = executable(until_nul(name))[:most_chars]
    return ProcessNames(processes, _threads(database, names) | thread_names(database, names))


def _threads(database: Database, names: TraceStrings) -> dict[int, str]:
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
            best[thread] = priority, until_nul(texts[name])
    return {thread: name for thread, (_, name) in best.items()}
