"""Hang: which rank holds the others up in which collective, from flight-recorder dumps.

Definitions: ``docs/views-hang.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis, diagnose
from torch_tb_profiler.analysis.hang.dumps import has_dump
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.hang.columns import TABLES
from torch_tb_profiler.views.hang.hangs import hangs_table
from torch_tb_profiler.views.hang.notes import hang_notes
from torch_tb_profiler.views.hang.tables import (
    collectives_table,
    dumps_table,
    groups_table,
    ranks_table,
    transfers_table,
)
from torch_tb_profiler.views.hang.verdict import verdict
from torch_tb_profiler.views.schema import Fact, View
from torch_tb_profiler.views.spec import ViewSpec

NO_DUMP = (
    "There is no dump of the flight recorder. torch writes one per rank when a collective times "
    "out where TORCH_FR_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1 are set "
    "(TORCH_FR_DUMP_TEMP_FILE=/folder/fr_trace_rank_ says where)."
)


def hang(traces: Mapping[str, Trace], _selection: Selection) -> View:
    """The view of the dumps of a run; a selection does not apply to them."""
    diagnosis = diagnose(traces)
    if diagnosis is None:
        return View()
    tables = (
        hangs_table(diagnosis),
        ranks_table(diagnosis),
        groups_table(diagnosis),
        collectives_table(diagnosis),
        transfers_table(diagnosis),
        dumps_table(diagnosis),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        facts=_facts(diagnosis),
        notes=hang_notes(diagnosis),
        answer=verdict(diagnosis),
    )


def _facts(diagnosis: HangDiagnosis) -> tuple[Fact, ...]:
    waiting = {rank for problem in diagnosis.problems for rank in problem.waiting}
    return (
        Fact(
            "dump_ranks",
            "Ranks with a dump",
            len(diagnosis.dumps.ranks),
            "count",
            None,
            "Ranks of which at least one dump was read.",
        ),
        Fact(
            "waiting_ranks",
            "Ranks that wait",
            len(waiting),
            "count",
            None,
            "Ranks that entered a collective or transfer and did not complete it.",
        ),
        Fact(
            "hanging_groups",
            "Groups that hang",
            len({problem.channel for problem in diagnosis.problems}),
            "count",
            None,
            "Process groups, by backend, of which a member waits.",
        ),
    )


def _missing(trace: Trace) -> str | None:
    return None if has_dump(trace) else NO_DUMP


def _missing_in_run(traces: Mapping[str, Trace | None]) -> str | None:
    """A worker that is not open yet is no reason to expect a dump: few runs have any."""
    is_dumped = any(trace is not None and has_dump(trace) for trace in traces.values())
    return None if is_dumped else NO_DUMP


def _is_dump(trace: Trace) -> bool:
    return trace.meta.format == "flight_recorder"


SPEC = ViewSpec(
    name="hang",
    title="Distributed: Hang",
    help="Which rank holds the others up, in which collective, and where is it?",
    scope="run",
    tables=TABLES,
    function=hang,
    missing=_missing,
    missing_in_run=_missing_in_run,
    reads_summaries=True,
    accompanied_by=("flight_recorder",),
    needs_times=False,
    needs_moments=False,
    is_first=_is_dump,
    leading_facts=("dump_ranks", "waiting_ranks", "hanging_groups"),
)
