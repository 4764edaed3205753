"""Reads a rocpd database of rocprofv3 (schema 3): one recording per process.

Rows with times hold their times, process and stream themselves (ROCm 7.0 and 7.1), or refer to rows
of ``rocpd_timestamp`` and ``rocpd_track`` (later). Of environments, which the database holds too,
only the rank is read, and of command lines nothing.
"""

from __future__ import annotations

from torch_tb_profiler.importers.rocprof.agents import agent_of, decode_agent, name_of
from torch_tb_profiler.importers.rocprof.ranks import read_rank
from torch_tb_profiler.importers.rocprof.recording import (
    Agent,
    KernelSymbols,
    ProcessRecording,
    total_registers,
)
from torch_tb_profiler.importers.rocprof.rocpd_events import Events, RocpdContext
from torch_tb_profiler.importers.rocprof.rocpd_host import add_regions, add_samples
from torch_tb_profiler.importers.rocprof.rocpd_tables import (
    ProcessTables,
    TableRows,
    TextLookup,
    process_tables,
)
from torch_tb_profiler.importers.rocprof.rocpd_work import (
    add_allocations,
    add_copies,
    add_counters,
    add_dispatches,
)
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.quality import QualityReport

GPU = "GPU"
"""``type`` of an agent."""


def read_rocpd(
    database: Database, texts: TextCodes, quality: QualityReport
) -> list[ProcessRecording]:
    """Read all processes of a database.

    Args:
        database: The database.
        texts: Receives the texts.
        quality: Counts records that are not read.

    Raises:
        TraceFormatError: reading takes too long.
        OSError: the file cannot be read.
    """
    return [_read(tables, texts, quality) for tables in process_tables(database, quality)]


def _read(tables: ProcessTables, texts: TextCodes, quality: QualityReport) -> ProcessRecording:
    recording = ProcessRecording(
        agents=_agents(tables["info_agent"]),
        kernels=_kernels(tables["info_kernel_symbol"]),
        queue_names=_names(tables["info_queue"]),
        stream_names=_names(tables["info_stream"]),
    )
    strings = tables["string"]
    context = RocpdContext(
        recording,
        tables,
        texts,
        quality,
        TextLookup(strings.ints("id")["id"], strings.texts("string")),
        Events(tables),
    )
    recording.thread_names = _thread_names(context)
    recording.rank, recording.world_size = read_rank(tables["info_process"].texts("environment"))
    add_regions(context)
    add_dispatches(context)
    add_copies(context)
    add_allocations(context)
    add_counters(context)
    add_samples(context)
    return recording


def _agents(rows: TableRows) -> dict[int, Agent]:
    numbers = rows.ints("id", "nid", "type_index")
    texts = [rows.texts(column).to_list() for column in ("type", "product_name", "name", "extdata")]
    agents: dict[int, Agent] = {}
    columns = zip(*(numbers[each].tolist() for each in numbers), *texts, strict=True)
    for agent_id, node, number, kind, product, name, extdata in columns:
        own = None if number == ABSENT or number < 0 else number
        described = agent_of(decode_agent(extdata or ""), str(node), own)
        agents.setdefault(
            agent_id,
            Agent(
                kind == GPU or (kind is None and described.is_gpu),
                described.node,
                described.number if own is None else own,
                name_of(product, name) or described.name,
                described.properties,
            ),
        )
    return agents


def _kernels(rows: TableRows) -> KernelSymbols:
    columns = rows.ints("id", "arch_vgpr_count", "accum_vgpr_count")
    mangled = rows.texts("kernel_name").str.strip_suffix(".kd")
    names = rows.texts("display_name")
    names = names.set(names == "", None).fill_null(mangled)
    registers = total_registers(columns["arch_vgpr_count"], columns["accum_vgpr_count"])
    return KernelSymbols.build(columns["id"], names.to_list(), registers)


def _names(rows: TableRows) -> dict[int, str]:
    """Id → name of queues or streams."""
    pairs = zip(rows.ints("id")["id"].tolist(), rows.texts("name").to_list(), strict=True)
    return {number: text for number, name in pairs if (text := name_of(name))}


def _thread_names(context: RocpdContext) -> dict[tuple[int, int], str]:
    """(process, thread) → name."""
    rows = context.tables["info_thread"]
    columns = rows.ints("pid", "tid")
    pids = context.events.process_ids(columns["pid"])
    triples = zip(pids.tolist(), columns["tid"].tolist(), rows.texts("name").to_list(), strict=True)
    return {(pid, tid): text for pid, tid, name in triples if (text := name_of(name))}
