"""Damaged exports: damage is counted, the rest is shown, and nothing crashes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers import nsys
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.key_nodes import key_nodes
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.nsys.reader import read_export
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.loading.queries.views import trace_view, view_spec
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

KERNEL, NVTX, CALL = nsys.KERNEL, nsys.NVTX, nsys.RUNTIME
KERNELS = 10

# What is done to a whole export, the kernels that are left of ten, what is counted.
DAMAGES: dict[str, tuple[str, int, set[str]]] = {
    "no text is there": ("DELETE FROM StringIds", 10, {"nsys_text_missing", "missing_name"}),
    "no table of texts": ("DROP TABLE StringIds", 10, {"nsys_text_missing", "missing_name"}),
    "a view of texts": ("ALTER TABLE StringIds RENAME TO s; CREATE VIEW StringIds AS SELECT * FROM "
                        "s", 10, {"nsys_text_missing", "missing_name"}),
    "no text of a kernel": (
        "DELETE FROM StringIds WHERE value = 'gemm'", 10, {"nsys_text_missing", "missing_name"}
    ),
    "texts are blobs": ("UPDATE StringIds SET value = x'00ff'", 10, {"database_cell"}),
    "texts are numbers": ("UPDATE StringIds SET value = 17", 10, set()),
    "texts hold NUL and no UTF-8": (
        "UPDATE StringIds SET value = CAST(x'61ff0062' AS TEXT)", 10, set()
    ),
    "texts twice": ("CREATE TABLE s AS SELECT * FROM StringIds; DROP TABLE StringIds; "
                    "CREATE TABLE StringIds AS SELECT * FROM s UNION ALL SELECT id, 'x' FROM s",
                    10, set()),
    "starts are null": (f"UPDATE {KERNEL} SET start = NULL WHERE rowid = 1", 9,
                        {"event_without_time"}),
    "ends are null": (f'UPDATE {KERNEL} SET "end" = NULL', 10, {"missing_duration"}),
    "ends before starts": (f'UPDATE {KERNEL} SET "end" = 0', 10, {"negative_duration"}),
    "times are texts": (f"UPDATE {KERNEL} SET start = 'yesterday'", 0, {"database_cell"}),
    "times are reals": (f"UPDATE {KERNEL} SET start = start + 0.5", 0, {"database_cell"}),
    "times far away": (f'UPDATE {KERNEL} SET "end" = 9223372036854775807 WHERE rowid = 1', 10,
                       {"huge_duration"}),
    "times at the ends of the numbers": (
        f"UPDATE {NVTX} SET start = -9223372036854775807 WHERE rowid = 5; "
        f"UPDATE {NVTX} SET start = 9223372036854775807 WHERE rowid = 6", 10, set(),
    ),
    "ids of nothing": (f"UPDATE {KERNEL} SET correlationId = NULL", 10,
                       {"kernel_without_launch"}),
    "one id for all": (f"UPDATE {CALL} SET correlationId = 1", 10, {"duplicate_correlation"}),
    "ids beyond 32 bits": (
        f"UPDATE {CALL} SET correlationId = correlationId + 4294967296; "
        f"UPDATE {KERNEL} SET correlationId = correlationId + 4294967296", 10, set(),
    ),
    "no thread": (f"UPDATE {NVTX} SET globalTid = NULL", 10, {"event_without_time"}),
    "devices of any number": (f"UPDATE {KERNEL} SET deviceId = 123456789012 * rowid", 10, set()),
    "devices below nothing": (f"UPDATE {KERNEL} SET deviceId = -5, streamId = -9", 10, set()),
    "sizes below nothing": (f"UPDATE {KERNEL} SET gridX = -1, blockX = 0, registersPerThread = -4",
                            10, set()),
    "events of an unknown type": (f"UPDATE {NVTX} SET eventType = 999", 10, set()),
    "domains of any number": (f"UPDATE {NVTX} SET domainId = -9223372036854775808 + rowid", 10,
                              set()),
    "a table without its columns": (
        f'DROP TABLE {NVTX}; CREATE TABLE {NVTX} (other); INSERT INTO {NVTX} VALUES (1)', 10,
        {"event_without_time"},
    ),
    "a table without rows": (f"DELETE FROM {CALL}", 10, {"kernel_without_launch"}),
    "a view in place of a table": (
        f"ALTER TABLE {NVTX} RENAME TO own; CREATE VIEW {NVTX} AS SELECT * FROM own", 10, set()
    ),
    "a column that is computed": (
        f"ALTER TABLE {KERNEL} RENAME TO own; CREATE TABLE {KERNEL} (start, [end] GENERATED ALWAYS "
        f"AS (start + 1)); INSERT INTO {KERNEL} (start) SELECT start FROM own", 10, set(),
    ),
    "nodes of graphs in a circle": (
        f"ALTER TABLE {KERNEL} ADD COLUMN graphNodeId; UPDATE {KERNEL} SET graphNodeId = 1; "
        "CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start, globalTid, graphNodeId, originalGraphNodeId); "
        "INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (1, 2, 1, 2), (1, 2, 2, 1)", 10,
        {"graph_node_unknown"},
    ),
    "names of tables in other letters": (f"ALTER TABLE {NVTX} RENAME TO x; "
                                         "ALTER TABLE x RENAME TO nvtx_events", 10, set()),
}  # fmt: skip


def damaged(folder: Path, script: str) -> Path:
    path = nsys.write_export(folder / "made.sqlite", nsys.training())
    with closing(sqlite3.connect(path)) as file:
        file.executescript(script)
    return path


def shown(path: Path) -> Trace:
    trace = build_trace(read_export(str(path), path.name, Reading()))
    for name in ("operators", "groups"):
        spec = view_spec(name)
        if spec.missing(trace) is None:
            trace_view(spec, trace, Selection())
    return trace


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_in_exports_is_counted_and_the_rest_is_shown(tmp_path: Path, what: str) -> None:
    script, kernels, counted = DAMAGES[what]
    trace = shown(damaged(tmp_path, script))
    assert trace.device_work.height == kernels
    assert counted <= set(trace.quality.counts)


def test_a_file_that_is_not_an_export_is_rejected(tmp_path: Path) -> None:
    path = damaged(tmp_path, f"DROP TABLE {NVTX}; DROP TABLE {CALL}; DROP TABLE {KERNEL}")
    with pytest.raises(TraceFormatError) as refused:
        read_export(str(path), path.name, Reading())
    assert refused.value.code == "not_nsight"
    assert "nsys export" in (refused.value.hint or "")


@pytest.mark.filterwarnings("error")
def test_all_events_at_the_same_time(tmp_path: Path) -> None:
    trace = shown(damaged(tmp_path, f'UPDATE {NVTX} SET start = 1000, "end" = 1000'))
    nodes = key_nodes(trace)
    assert nodes.height > 1
    assert nodes["score"].max() == 0
