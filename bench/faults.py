"""Makes every fault of the table in ``docs/safety.md`` for real, and tells what happened.

    python bench/faults.py                    # all of them, some minutes
    python bench/faults.py --only "no home"   # those whose names contain the text
    python bench/faults.py --write            # and make the table in docs/safety.md anew

Some need root, control groups or Debian's ``libfaketime``; what cannot be made here is said.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from http.client import HTTPException
from pathlib import Path

import fault_folders as folders
import fault_names as names
import fault_processes as processes
from fault_scene import NotHereError, Scene, new_scene
from figures import machine

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "safety.md"
SECTION = re.compile(r"<!-- faults -->.*?<!-- /faults -->", re.DOTALL)
HELD, FELL, NOT_TRIED = "holds", "FELL", "not tried"


@dataclass(frozen=True)
class Fault:
    """One row of the table.

    Attributes:
        name: What goes wrong.
        then: What happens then, for people.
        check: Makes it; raises AssertionError when something else happens.
    """

    name: str
    then: str
    check: Callable[[Scene], None]


PARSED = "answers are right; the trace is parsed anew each time, with a warning"

FAULTS = (
    Fault("disk full in the cache folder", PARSED, folders.full_cache),
    Fault(
        "disk full in the temporary folder",
        "answers are right; what workers cannot hand over is parsed by who asked",
        folders.full_temporary_folder,
    ),
    Fault("home folder is read-only", PARSED, folders.read_only_home),
    Fault(
        "no home folder, unknown user (containers)",
        "answers are right; nothing is written into the current folder",
        folders.no_home,
    ),
    Fault("cache folder of another user", PARSED, folders.cache_of_another_user),
    Fault(
        "cache deleted while serving",
        "open traces stay open, others are parsed again and kept in a new folder",
        folders.cache_deleted_while_serving,
    ),
    Fault(
        "two servers and an `ingest` on one cache",
        "the first to finish keeps its entry; all answer the same",
        folders.two_servers_and_an_ingest,
    ),
    Fault(
        "worker process killed",
        "its trace fails with the reason, the others do not; exit code 3; asked again, it is read",
        processes.killed_worker,
    ),
    Fault(
        "Dask scheduler killed",
        "`ingest` ends with exit code 3 and the reason; what was kept stays",
        processes.killed_scheduler,
    ),
    Fault(
        "server killed",
        "its workers end with it; the next server has right answers",
        processes.killed_server,
    ),
    Fault(
        "file truncated while it is read",
        "it is read again; else exit code 3: it changed",
        folders.file_truncated_while_read,
    ),
    Fault(
        "file replaced while it is read",
        "the numbers are those of one of the two files, afterwards of the new one",
        folders.file_replaced_while_read,
    ),
    Fault(
        "permission to read is lost",
        "403 and exit code 3 with the file's name; other traces are not touched",
        folders.permission_lost,
    ),
    Fault(
        "out of memory in a control group",
        "the trace that does not fit fails with a hint; the server and other traces live",
        processes.out_of_memory,
    ),
    Fault(
        "small address space (`ulimit -v`, 300 MB to 2 GB)",
        "the right answer, or exit code 3 and a hint; from 1 GB on the answer",
        processes.small_address_space,
    ),
    Fault(
        "clock set back by two days", "answers are right; the cache serves", folders.clock_set_back
    ),
    Fault(
        "names that are no UTF-8",
        "shown with � in place of the bytes; opened like any other",
        folders.names_that_are_no_utf8,
    ),
    Fault(
        "journals beside a database: noise, 20 GB, pipes, folders, links",
        "nothing is read of them; a file with content says that the database is unfinished",
        names.journals_beside_a_database,
    ),
    Fault(
        "1,500 folders with hostile names, `--output`",
        "files have plain names in the chosen folder; terminals get no control characters",
        names.hostile_names,
    ),
    Fault(
        "language `C`",
        "answers are right; JSON and files are UTF-8, a terminal gets ? for what it cannot show",
        folders.c_locale,
    ),
)


def outcome(fault: Fault) -> tuple[str, str]:
    """``holds``, ``FELL`` or ``not tried``, and why."""
    try:
        with new_scene() as scene:
            fault.check(scene)
    except NotHereError as error:
        return NOT_TRIED, f"needs {error}"
    except (AssertionError, OSError, HTTPException, subprocess.TimeoutExpired) as error:
        return FELL, f"{type(error).__name__}: {error}"
    return HELD, ""


def table(rows: list[tuple[Fault, str]]) -> str:
    """The section of the document."""
    lines = [f"| {fault.name} | {fault.then} | {result} |" for fault, result in rows]
    head = [f"Made on {date.today()}; {machine()}:", "", "| fault | what happens | seen |"]
    return "\n".join(["<!-- faults -->", *head, "|---|---|---|", *lines, "<!-- /faults -->"])


def main() -> int:
    """Make the faults; exit code 1 when one of them fells the product."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="faults with TEXT in the name")
    parser.add_argument("--write", action="store_true", help=f"make the table in {DOCUMENT.name}")
    given = parser.parse_args()
    rows = []
    for fault in FAULTS:
        if given.only not in fault.name:
            continue
        begun_s = time.monotonic()
        result, why = outcome(fault)
        print(
            f"{fault.name:<44} {result:<10} {time.monotonic() - begun_s:5.1f} s  {why}", flush=True
        )
        rows.append((fault, result))
    if given.write and not given.only:
        text = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(SECTION.sub(lambda _: table(rows), text), encoding="utf-8")
    held = sum(result == HELD for _, result in rows)
    print(
        f"{held} of {len(rows)} hold, {sum(r == NOT_TRIED for _, r in rows)} could not be made here"
    )
    return int(any(result == FELL for _, result in rows))


if __name__ == "__main__":
    sys.exit(main())
