"""Reads an ``.rpd`` of rocmProfileData: an SQLite database of calls, operations and their links.

Which columns there are depends on the schema's version; those that are there are read.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.nsys.nvtx import MARK, PUSH_POP
from torch_tb_profiler.importers.nsys.rows import within
from torch_tb_profiler.importers.rocprof.recording import (
    MAX_SIZE,
    Agent,
    KernelSymbols,
    ProcessRecording,
)
from torch_tb_profiler.importers.rocprof.rocpd_tables import Lookup, TableRows, TextLookup
from torch_tb_profiler.importers.rocprof.rpd_monitor import add_monitored
from torch_tb_profiler.importers.rocprof.rpd_names import (
    COUNTS_ITEMS,
    FILLS,
    MARKER,
    call_category,
    library_name,
    memory_event,
    operation_category,
    takes_items,
)
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int64
from torch_tb_profiler.trace.limits import MAX_BYTES

CALLS, HSA_CALLS, OPERATIONS, LINKS = (
    "rocpd_api", "rocpd_hsaApi", "rocpd_op", "rocpd_api_ops",
)  # fmt: skip
KERNEL_CALLS, COPY_CALLS = "rocpd_kernelapi", "rocpd_copyapi"
STRINGS = "rocpd_string"
ARGUMENTS = "rocpd_ustring"
"""The texts of arguments, ROCTx messages among them; older files have all texts in one table."""

METADATA = "rocpd_metadata"
SCHEMA = "schema_version"
AXES = "XYZ"


class _Rpd(Struct, frozen=True):
    """A database that is being read.

    Attributes:
        database: The database.
        strings: Its texts by id.
        arguments: The texts of arguments by id.
        recording: What is read.
        texts: Receives the texts of the trace.
    """

    database: Database
    strings: TextLookup
    arguments: TextLookup
    recording: ProcessRecording
    texts: TextCodes

    def rows(self, table: str) -> TableRows:
        """The rows of a table, which may be missing."""
        return TableRows(self.database, table, None)

    def codes(self, ids: Int64) -> Int64:
        """The codes of texts of the database, -1 for none and for an empty one."""
        texts, inverse = self.strings.distinct(ids)
        return self.texts.codes(text or None for text in texts).astype(np.int64)[inverse]


def is_rpd(database: Database) -> bool:
    """Whether a database is one of rocmProfileData."""
    return CALLS in database.tables or OPERATIONS in database.tables


def schema_version(database: Database) -> str | None:
    """The version of its schema."""
    for tag, value in database.rows(METADATA, ("tag", "value")):
        if tag == SCHEMA and str(value).isdecimal() and len(str(value)) < 6:
            return f"schema {value}"
    return None


def read_rpd(database: Database, texts: TextCodes) -> ProcessRecording:
    """Read what a database recorded, of all its processes together.

    Raises:
        TraceFormatError: reading takes too long.
        OSError: the file cannot be read.
    """
    strings = _texts(database, STRINGS)
    arguments = _texts(database, ARGUMENTS) if ARGUMENTS in database.tables else strings
    rpd = _Rpd(database, strings, arguments, ProcessRecording(), texts)
    calls = _read_calls(rpd)
    _read_hsa_calls(rpd)
    gpus = _read_operations(rpd, calls)
    rpd.recording.agents = {gpu: Agent(True, number=gpu) for gpu in gpus}
    _add_allocations(rpd, calls, gpus)
    add_monitored(database, rpd.recording, gpus, texts)
    return rpd.recording


def _texts(database: Database, table: str) -> TextLookup:
    rows = TableRows(database, table, None)
    return TextLookup(rows.ints("id")["id"], rows.texts("string"))


class _Calls(Struct, frozen=True):
    """Calls, with the text of their name and arguments."""

    columns: dict[str, Int64]
    names: list[str]
    name: Int64
    arguments: list[str | None]
    argument: Int64

    def has_name(self, name: str) -> Bools:
        """Per call whether it has this name."""
        mask: Bools = np.array([each == name for each in self.names], np.bool_)[self.name]
        return mask


def _read_calls(rpd: _Rpd) -> _Calls:
    calls = _calls(rpd, CALLS)
    is_marker = calls.has_name(MARKER)
    _add_calls(rpd, calls, np.flatnonzero(~is_marker))
    rows = np.flatnonzero(is_marker)
    start, end = calls.columns["start"][rows], calls.columns["end"][rows]
    text = rpd.texts.codes(each or None for each in calls.arguments).astype(np.int64)
    rpd.recording.add(
        "markers",
        len(rows),
        pid=calls.columns["pid"][rows],
        thread=calls.columns["tid"][rows],
        event_type=np.where(start == end, MARK[0], PUSH_POP[0]),
        text=text[calls.argument[rows]],
        start=start,
        end=end,
    )
    return calls


def _read_hsa_calls(rpd: _Rpd) -> None:
    """Calls of HSA, which files of old releases have in a table of their own; they launch nothing
    that operations refer to."""
    calls = _calls(rpd, HSA_CALLS)
    calls.columns["id"][:] = ABSENT
    _add_calls(rpd, calls, np.arange(len(calls.name)))


def _calls(rpd: _Rpd, table: str) -> _Calls:
    columns = rpd.rows(table).ints("id", "pid", "tid", "start", "end", "apiName_id", "args_id")
    names, name = rpd.strings.distinct(columns["apiName_id"])
    arguments, argument = rpd.arguments.distinct(columns["args_id"])
    return _Calls(columns, [each or "" for each in names], name, arguments, argument)


def _add_calls(rpd: _Rpd, calls: _Calls, rows: Int64) -> None:
    columns = {name: values[rows] for name, values in calls.columns.items()}
    by_name = np.array([int(call_category(each)) for each in calls.names], np.int64)
    launching = np.unique(rpd.rows(LINKS).ints("api_id")["api_id"])
    is_launch = np.isin(columns["id"], launching[launching != ABSENT])
    category = np.where(is_launch, int(Category.RUNTIME), by_name[calls.name[rows]])
    kind = rpd.texts.codes(map(library_name, calls.names)).astype(np.int64)
    rpd.recording.add(
        "calls",
        len(rows),
        pid=columns["pid"],
        thread=columns["tid"],
        category=category,
        kind=kind[calls.name[rows]],
        name=rpd.codes(columns["apiName_id"]),
        correlation=columns["id"],
        start=columns["start"],
        end=columns["end"],
    )


def _read_operations(rpd: _Rpd, calls: _Calls) -> list[int]:
    """Add the operations, with what their calls say of them; returns the GPUs."""
    own = rpd.rows(OPERATIONS).ints(
        "id", "gpuId", "queueId", "start", "end", "description_id", "opType_id"
    )
    links = rpd.rows(LINKS).ints("api_id", "op_id")
    call_id = Lookup(links["op_id"]).values(own["id"], links["api_id"])
    call = Lookup(calls.columns["id"]).rows(call_id)
    kinds, kind = rpd.strings.distinct(own["opType_id"])
    category = np.array([int(operation_category(each or "")) for each in kinds], np.int64)[kind]
    described, description = rpd.strings.distinct(own["description_id"])
    is_fill = np.array([each in FILLS for each in described], np.bool_)[description]
    category[is_fill & (category == Category.MEMCPY)] = int(Category.MEMSET)
    common = {
        "pid": np.append(calls.columns["pid"], ABSENT)[call],
        "thread": np.append(calls.columns["tid"], ABSENT)[call],
        "agent": own["gpuId"],
        "queue": own["queueId"],
        "correlation": call_id,
        "start": own["start"],
        "end": own["end"],
    }
    is_kernel = category == Category.KERNEL
    _add_dispatches(rpd, calls, call, own, common=common, rows=np.flatnonzero(is_kernel))
    rows = np.flatnonzero(~is_kernel)
    description_code, type_code = (
        rpd.codes(own[name][rows]) for name in ("description_id", "opType_id")
    )
    rpd.recording.add(
        "operations",
        len(rows),
        **{name: values[rows] for name, values in common.items()},
        category=category[rows],
        name=np.where(description_code < 0, type_code, description_code),
        bytes=_copied_bytes(rpd, call_id, category == Category.MEMCPY)[rows],
    )
    return sorted(set(own["gpuId"].tolist()) - {int(ABSENT)})


def _add_dispatches(
    rpd: _Rpd,
    calls: _Calls,
    call: Int64,
    own: dict[str, Int64],
    *,
    common: dict[str, Int64],
    rows: Int64,
) -> None:
    sizes = tuple(f"{name}{axis}" for name in ("workgroup", "grid") for axis in AXES)
    details = rpd.rows(KERNEL_CALLS).ints(
        "api_ptr_id", "kernelName_id", "groupSegmentSize", "privateSegmentSize", *sizes
    )
    detail = Lookup(details["api_ptr_id"]).rows(common["correlation"][rows])
    detail[common["correlation"][rows] == ABSENT] = -1
    values = {name: np.append(column, ABSENT)[detail] for name, column in details.items()}
    all_have_items = any(each.startswith(COUNTS_ITEMS) for each in calls.names)
    has_items = np.array([all_have_items or takes_items(each) for each in calls.names], np.bool_)
    in_items = np.append(has_items[calls.name], False)[call[rows]]
    columns: dict[str, Int64] = {}
    for axis in AXES:
        grid, workgroup = (
            within(values[f"{name}{axis}"], MAX_SIZE) for name in ("grid", "workgroup")
        )
        is_known = (grid >= 0) & (workgroup >= 0)
        items = np.where(in_items, grid, np.where(is_known, grid, 0) * np.maximum(workgroup, 0))
        columns[f"workgroup_{axis.lower()}"] = workgroup
        columns[f"grid_{axis.lower()}"] = np.where(is_known, items, ABSENT)
    kernel = np.where(
        rpd.codes(own["description_id"][rows]) < 0,
        values["kernelName_id"],
        own["description_id"][rows],
    )
    kernel = np.where(rpd.codes(kernel) < 0, own["opType_id"][rows], kernel)
    known = np.unique(kernel)
    names, position = rpd.strings.distinct(known)
    rpd.recording.kernels = KernelSymbols.build(
        known, [names[each] or None for each in position.tolist()], np.full(len(known), ABSENT)
    )
    rpd.recording.add(
        "dispatches",
        len(rows),
        **{name: column[rows] for name, column in common.items()},
        **columns,
        kernel=kernel,
        group_segment=within(values["groupSegmentSize"], MAX_BYTES),
        private_segment=within(values["privateSegmentSize"], MAX_BYTES),
    )


def _copied_bytes(rpd: _Rpd, call_id: Int64, is_copy: Bools) -> Int64:
    """The bytes of each copy: those of its call. A call that made several copies does not say how
    many each of them moved."""
    copies = rpd.rows(COPY_CALLS).ints("api_ptr_id", "size")
    size = Lookup(copies["api_ptr_id"]).values(call_id, within(copies["size"], MAX_BYTES))
    known, inverse, count = np.unique(call_id[is_copy], return_inverse=True, return_counts=True)
    alone = np.zeros(len(call_id), np.bool_)
    alone[is_copy] = (count[inverse] == 1) & (known[inverse] != ABSENT)
    return np.where(alone, size, ABSENT)


def _add_allocations(rpd: _Rpd, calls: _Calls, gpus: list[int]) -> None:
    """Add allocations and releases, whose calls have the address as an argument. They do not say on
    which GPU: they are read where the file has one."""
    if len(gpus) != 1:
        return
    events = [memory_event(argument or "") for argument in calls.arguments]
    address, size = (
        np.array([event[part] for event in events], np.int64)[calls.argument] for part in range(2)
    )
    for is_release, name in enumerate(("hipMalloc", "hipFree")):
        rows = np.flatnonzero(calls.has_name(name) & (address != ABSENT))
        rpd.recording.add(
            "allocations",
            len(rows),
            pid=calls.columns["pid"][rows],
            thread=calls.columns["tid"][rows],
            agent=np.full(len(rows), gpus[0]),
            is_release=np.full(len(rows), is_release),
            address=address[rows],
            bytes=size[rows],
            time=calls.columns["end"][rows],
        )
