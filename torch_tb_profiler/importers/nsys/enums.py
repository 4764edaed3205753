"""Meaning of numbers in columns: from the export's own tables, else the values of all releases.

The tables are read by the names of their constants; the labels are those of Kineto's traces.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from torch_tb_profiler.importers.sqlite.database import Database


class EnumTable(Struct, frozen=True):
    """The meaning of the numbers in a column.

    Attributes:
        table: The export's table of constants.
        prefix: Prefix of the constants in the table.
        labels: Constant without prefix → label.
        numbers: Number → constant without prefix, used if the export has no table.
    """

    table: str
    prefix: str
    labels: Mapping[str, str]
    numbers: Mapping[int, str]

    def read(self, database: Database) -> dict[int, str]:
        """Number → label."""
        constants = dict(self.numbers)
        if self.table in database.tables:
            for number, name in database.rows(self.table, ("id", "name")):
                if isinstance(number, int) and isinstance(name, str):
                    constants[number] = name.removeprefix(self.prefix)
        return {
            number: self.labels[constant]
            for number, constant in constants.items()
            if constant in self.labels
        }


COPIES = EnumTable(
    "ENUM_CUDA_MEMCPY_OPER",
    "CUDA_MEMCPY_KIND_",
    {
        "HTOD": "HtoD",
        "DTOH": "DtoH",
        "HTOA": "HtoA",
        "ATOH": "AtoH",
        "ATOA": "AtoA",
        "ATOD": "AtoD",
        "DTOA": "DtoA",
        "DTOD": "DtoD",
        "HTOH": "HtoH",
        "PTOP": "PtoP",
        "UVM_HTOD": "HtoD (Unified)",
        "UVM_DTOH": "DtoH (Unified)",
        "UVM_DTOD": "DtoD (Unified)",
    },
    {
        1: "HTOD",
        2: "DTOH",
        3: "HTOA",
        4: "ATOH",
        5: "ATOA",
        6: "ATOD",
        7: "DTOA",
        8: "DTOD",
        9: "HTOH",
        10: "PTOP",
        11: "UVM_HTOD",
        12: "UVM_DTOH",
        13: "UVM_DTOD",
    },
)

MEMORIES = EnumTable(
    "ENUM_CUDA_MEM_KIND",
    "CUDA_MEMOPR_MEMORY_KIND_",
    {
        "PAGEABLE": "Pageable",
        "PINNED": "Pinned",
        "DEVICE": "Device",
        "ARRAY": "Array",
        "MANAGED": "Managed",
        "DEVICE_STATIC": "Device Static",
        "MANAGED_STATIC": "Managed Static",
    },
    {
        0: "PAGEABLE",
        1: "PINNED",
        2: "DEVICE",
        3: "ARRAY",
        4: "MANAGED",
        5: "DEVICE_STATIC",
        6: "MANAGED_STATIC",
    },
)

SYNCHRONIZATIONS = EnumTable(
    "ENUM_CUPTI_SYNC_TYPE",
    "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_",
    {
        "EVENT_SYNCHRONIZE": "Event Sync",
        "STREAM_WAIT_EVENT": "Stream Wait Event",
        "STREAM_SYNCHRONIZE": "Stream Sync",
        "CONTEXT_SYNCHRONIZE": "Context Sync",
    },
    {
        1: "EVENT_SYNCHRONIZE",
        2: "STREAM_WAIT_EVENT",
        3: "STREAM_SYNCHRONIZE",
        4: "CONTEXT_SYNCHRONIZE",
    },
)

OVERHEADS = EnumTable(
    "ENUM_CUPTI_OVERHEAD_TYPE",
    "OVERHEAD_",
    {
        "DRIVER_COMPILER": "Driver JIT compiler",
        "CUPTI_BUFFER_FLUSH": "CUPTI buffer flush",
        "CUPTI_INSTRUMENTATION": "CUPTI instrumentation",
        "CUPTI_RESOURCE": "CUPTI resource management",
        "RUNTIME_TRIGGERED_MODULE_LOADING": "Runtime module loading",
        "LAZY_FUNCTION_LOADING": "Lazy function loading",
        "COMMAND_BUFFER_FULL": "Command buffer full",
    },
    {
        2: "DRIVER_COMPILER",
        3: "CUPTI_BUFFER_FLUSH",
        4: "CUPTI_INSTRUMENTATION",
        5: "CUPTI_RESOURCE",
        6: "RUNTIME_TRIGGERED_MODULE_LOADING",
        7: "LAZY_FUNCTION_LOADING",
        8: "COMMAND_BUFFER_FULL",
    },
)
