"""Makes large recordings of every format that is no SQLite of Nsight Systems: copies of small ones,
each later by a whole period, or made up.

Those that are copied stand in the corpus beside the checkout; without it they are left out.
"""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
OUT = ROOT / "bench" / "out"
sys.path.insert(0, str(ROOT))

from tests.helpers.paddle_protobuf import KERNEL, Call, Node, Work, recording, tree  # noqa: E402
from tests.importers.protobuf.encode import varint  # noqa: E402

PFTRACE = CORPUS / "pftrace" / "torch2141_synthetic_gpu.pftrace.gz"
ASCEND = CORPUS / "ascend_torch_npu" / "db" / "level1" / "rank0_ascend_pt"
DATABASE = "ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"

PERIOD_NS = 10**10
"""Longer than what is copied."""
ID_STEP = 1 << 32

TIMESTAMP = 8 << 3
"""First byte of a packet that begins with its time."""

TIMES = ("startNs", "endNs", "timestampNs")
IDS = ("connectionId", "globalTaskId", "opId")
COPIED = (
    "TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_TASK_INFO", "COMMUNICATION_OP", "CANN_API",
    "PYTORCH_API", "CONNECTION_IDS", "NPU_OP_MEM",
)  # fmt: skip

OPERATOR = 1
"""Type of a Paddle event."""


def pftrace(copies: int) -> Path | None:
    """The recording of torch 2.14 so many times, unpacked."""
    path = OUT / f"torch2141_x{copies}.pftrace"
    if not PFTRACE.exists():
        return None
    if not path.exists():
        packets = list(_packets(gzip.decompress(PFTRACE.read_bytes())))
        with path.open("wb") as file:
            for copy in range(copies):
                file.writelines(_later(packet, copy * PERIOD_NS) for packet in packets)
    return path


def paddle(operators: int) -> Path:
    """A protobuf of so many operators, each with a launch and a kernel."""
    path = OUT / f"paddle_{operators}.pb"
    if not path.exists():
        nodes = [_operator(number) for number in range(operators)]
        path.write_bytes(recording(tree(nodes)))
    return path


def ascend(copies: int) -> Path | None:
    """The folder of a rank with its database so many times."""
    folder = OUT / f"ascend_x{copies}" / "rank0_ascend_pt"
    if not ASCEND.is_dir():
        return None
    if not folder.is_dir():
        shutil.copytree(ASCEND, folder, copy_function=shutil.copyfile)
        for each in (folder, *folder.rglob("*")):
            each.chmod(0o755 if each.is_dir() else 0o644)
        with closing(sqlite3.connect(folder / DATABASE)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            for table in COPIED:
                _copy_rows(connection, table, copies)
            connection.commit()
    return folder


def _packets(data: bytes) -> Iterator[bytes]:
    """The packets of a Perfetto trace, without their tag and length."""
    at = 0
    while at < len(data):
        length, start = _number(data, at + 1)
        at = start + length
        yield data[start:at]


def _later(packet: bytes, by_ns: int) -> bytes:
    if packet[:1] == bytes([TIMESTAMP]):
        time_ns, rest = _number(packet, 1)
        packet = packet[:1] + varint(time_ns + by_ns) + packet[rest:]
    return b"\x0a" + varint(len(packet)) + packet


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _operator(number: int) -> Node:
    start_ns = 10**18 + number * 20_000
    work = Work(f"kernel_{number % 300}", KERNEL, start_ns + 9_000, start_ns + 19_000, number + 1)
    call = Call("cudaLaunchKernel", start_ns + 2_000, start_ns + 5_000, number + 1, [work])
    return Node(f"operator_{number % 100}", OPERATOR, start_ns, start_ns + 8_000, [call])


def _copy_rows(connection: sqlite3.Connection, table: str, copies: int) -> None:
    columns = [column[1] for column in connection.execute(f"PRAGMA table_info({table})")]
    ids = (*IDS, "id") if table == "CONNECTION_IDS" else IDS
    copied = ", ".join(
        f"{column} + n.copy * {PERIOD_NS}" if column in TIMES
        else f"{column} + n.copy * {ID_STEP}" if column in ids
        else column
        for column in columns
    )  # fmt: skip
    connection.execute(
        "WITH RECURSIVE n(copy) AS (SELECT 1 UNION ALL SELECT copy + 1 FROM n WHERE copy < ?) "
        f"INSERT INTO {table} SELECT {copied} FROM n, {table}",
        (copies - 1,),
    )
