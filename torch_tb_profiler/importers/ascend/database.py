"""A database of Ascend's profilers → event columns: the same trace as from the text files."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import numpy as np

from torch_tb_profiler.importers.ascend import db_device, db_host, db_measures, file_names
from torch_tb_profiler.importers.ascend.chain import (
    SlicesWithId,
    SliceTimes,
    TaskQueue,
    link_launches,
)
from torch_tb_profiler.importers.ascend.collectives import set_groups
from torch_tb_profiler.importers.ascend.db_rows import (
    DatabaseTexts,
    SliceRows,
    TrackNumbers,
    build_slices,
)
from torch_tb_profiler.importers.ascend.db_summaries import side_tables
from torch_tb_profiler.importers.ascend.dialect import copies_of_collectives
from torch_tb_profiler.importers.ascend.kernels import add_blocks, sum_by_unit_and_type
from torch_tb_profiler.importers.ascend.memory import add_blocks as add_memory
from torch_tb_profiler.importers.ascend.memory import add_records
from torch_tb_profiler.importers.ascend.overlap import COMMUNICATION, COMPUTING, compare_overlap
from torch_tb_profiler.importers.ascend.samples import SampleRows
from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.importers.ascend.summaries import side_table_of_frame
from torch_tb_profiler.importers.ascend.timeline import FRAMEWORKS, MINDSPORE, TORCH_NPU
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto.batch import UNNAMED
from torch_tb_profiler.importers.kineto.categories import refine
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import Folder
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.storage.decompress import UnpackLimitError
from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES, Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    TABLE_COLUMNS,
    EventColumns,
    Int64,
    empty_table,
)
from torch_tb_profiler.trace.info import DeviceInfo, TraceInfo
from torch_tb_profiler.trace.limits import MAX_DEVICES
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SideTable

SECOND_NS = 10**9
EVENTS = (db_host.API, db_host.CALLS, db_device.TASKS, db_device.OPERATIONS)
GROUPS = "parallel_group_info"


def read_database(source: Folder, path: str, reading: Reading) -> tuple[EventColumns, Any]:
    """Read the trace from a folder's database, and the database's JSON description of the groups.

    Args:
        source: The folder.
        path: The database in it.
        reading: How it is read.

    Raises:
        TraceFormatError: it is not a database, or has no events.
        StorageError, OSError: it cannot be read.
    """
    file = source.files[path]()
    with (
        closing(file),
        Database.open(file.local_path(reading.progress), file.name, reading) as database,
    ):
        if not any(table in database.tables for table in EVENTS):
            raise TraceFormatError(
                "no_events",
                f"{file.name} is a database, but has no tables of Ascend's profilers.",
                "Export it again with export_type=ExportType.Db, or open its text files.",
            )
        assembly = _Assembly(database, file_names.base_name(path), reading.options.python_frames)
        analysis_quality = QualityReport()
        columns = assembly.columns(_read_analysis(source, reading, analysis_quality))
        columns.quality.merge(analysis_quality)
        document = _read_groups(database)
        columns.quality.merge(database.quality)
    return columns, document


def _read_analysis(source: Folder, reading: Reading, quality: QualityReport) -> list[SideTable]:
    """The tables of Ascend's own analysis; damage is reported to ``quality``."""
    path = file_names.find_file(source.files, file_names.ANALYSIS)
    if path is None:
        return []
    file = source.files[path]()
    try:
        with closing(file), Database.open(file.local_path(), file.name, reading) as database:
            tables = side_tables(database, file_names.ANALYSIS)
            quality.merge(database.quality)
            return tables
    except (TraceFormatError, UnpackLimitError):
        quality.add("ascend_file_unreadable", 1, file_names.ANALYSIS)
        return []


def _read_groups(database: Database) -> Any:
    """The description of the parallel groups; no other metadata is read."""
    for name, value in database.rows("META_DATA", ("name", "value"), "documents"):
        if name == GROUPS and isinstance(value, str):
            try:
                return {GROUPS: json.loads(value)}
            except (ValueError, RecursionError):
                return None
    return None


class _Assembly:
    """Collects the parts of a trace and assembles them."""

    def __init__(self, database: Database, name: str, python_frames: bool) -> None:
        self.database = database
        self.name = name
        self.strings = Strings([])
        self.texts = DatabaseTexts(database, self.strings)
        self.tracks = TrackNumbers()
        self.host = db_host.read_host_rows(
            database, self.texts, self.tracks, python_frames=python_frames
        )
        self.calls = db_host.read_calls(database, self.texts, self.tracks)
        self.tasks = db_device.read_tasks(database, self.texts, self.tracks)
        device = int(self.tasks.device[0]) if len(self.tasks.rows) else 0
        self.collectives = db_device.read_collectives(database, self.texts, self.tracks, device)
        self.inner = db_device.read_collective_parts(database, self.tasks, self.texts, self.tracks)
        parts = (
            self.host.rows, self.calls, self.tasks.rows, self.collectives.rows, self.inner,
            self._steps(),
        )  # fmt: skip
        self.first = np.cumsum([0, *(len(part) for part in parts)]).tolist()
        starts = [part.start_ns for part in parts if len(part)]
        if not starts:
            raise TraceFormatError(
                "no_events",
                f"{name} has no events.",
                "The recording never reached its active steps, or was exported while it ran.",
            )
        self.base_ns = int(min(start.min() for start in starts)) // SECOND_NS * SECOND_NS
        self.slices = build_slices(parts, self.base_ns)
        unnamed = self.slices["name_code"] < 0
        self.slices["name_code"][unnamed] = self.strings.code(UNNAMED) if unnamed.any() else 0
        self.unnamed = int(unnamed.sum())
        refine(self.slices["category"], self.slices["name_code"], self.strings.texts)

    def _steps(self) -> SliceRows:
        """Steps of ``STEP_TIME`` for which the host has no range."""
        stored = db_host.with_times(self.database.ints("STEP_TIME", ("id", "startNs", "endNs")))
        names = [f"ProfilerStep#{number}" for number in stored["id"].tolist()]
        known = set(self.strings.texts)
        is_unnamed = np.array([name not in known for name in names], np.bool_)
        if not len(self.host.rows):
            is_unnamed[:] = False
        rows = np.flatnonzero(is_unnamed)
        track = int(self.host.rows.track[0]) if len(self.host.rows) else 0
        return SliceRows(
            np.full(len(rows), Category.ANNOTATION, np.int8),
            self.strings.codes([names[row] for row in rows.tolist()]),
            np.full(len(rows), track, np.int32),
            stored["startNs"][rows],
            stored["endNs"][rows],
            np.full(len(rows), ABSENT, np.int64),
            np.full(len(rows), -1, np.int32),
        )

    def columns(self, side: list[SideTable]) -> EventColumns:
        """The trace."""
        tables = {name: empty_table(name) for name in TABLE_COLUMNS}
        tables["slices"] = self.slices
        transfers = copies_of_collectives(self.slices, self.strings.texts, self.tracks.tracks)
        self.slices["category"][transfers] = Category.DEVICE_OTHER
        tables["operator"] = db_host.operator_table(self.database, self.host, self.texts)
        tables["python"] = db_host.python_table(self.host)
        tables["device"] = db_device.device_table(
            self.tasks, self.first[2], self.collectives, self.first[3]
        )
        columns = EventColumns(
            format="ascend",
            tables=tables,
            strings=self.strings.texts,
            tracks=self.tracks.tracks,
            base_ns=self.base_ns,
            time_unit_ns=1,
            info=self._info(),
        )
        columns.quality.add("missing_name", self.unnamed)
        columns.quality.add("python_frames_left_out", self.host.frames_left_out)
        self._describe(columns, side)
        self._link(columns)
        self._measure(columns)
        self._check_overlap(columns)
        return columns

    def _info(self) -> TraceInfo:
        models = [
            DeviceInfo(device=number, name=model if isinstance(model, str) else None)
            for number, model in self.database.rows("NPU_INFO", ("id", "name"))
            if isinstance(number, int) and 0 <= number < MAX_DEVICES
        ]
        used = set(self.tasks.device.tolist()) - {device.device for device in models}
        models += [DeviceInfo(device=n) for n in sorted(used) if 0 <= n < MAX_DEVICES]
        recorder = MINDSPORE if "mindspore" in self.name else TORCH_NPU
        return TraceInfo(framework=FRAMEWORKS[recorder], recorder=recorder, devices=tuple(models))

    def _describe(self, columns: EventColumns, side: list[SideTable]) -> None:
        """Add the collectives with their groups, the blocks of kernels, and the side tables."""
        columns.tables["collective"] = self.collectives.table(self.first[3], self.texts)
        by_name = {table.name: table for table in side}
        set_groups(columns, by_name.get("recorded_collectives"), by_name.get("links"), self.strings)
        add_blocks(columns, *db_device.kernel_blocks(self.tasks, self.first[2]), self.strings)
        if self.tasks.kernels.height:
            sums = sum_by_unit_and_type(self.tasks.kernels)
            source = f"{self.name}, {db_device.COMPUTE}"
            side = [side_table_of_frame("recorded_operators", source, sums), *side]
        columns.side = tuple(side)

    def _link(self, columns: EventColumns) -> None:
        """Link launches and owners by connection id; add the arrows from forward to backward."""
        table = self.slices
        slices = SliceTimes(table["track"], table["start_ns"], table["dur_ns"])
        work_part = slice(self.first[2], self.first[4])
        connection = np.concatenate((self.tasks.rows.connection, self.collectives.rows.connection))
        category = table["category"][work_part]
        is_work = np.isin(category, [int(each) for each in DEVICE_WORK_CATEGORIES])
        work = SlicesWithId(np.flatnonzero(is_work) + self.first[2], connection[is_work])
        calls = np.arange(self.first[1], self.first[2])
        links = self.database.ints("CONNECTION_IDS", ("id", "connectionId"))
        known = SlicesWithId(links["connectionId"], links["id"])
        entry = known.first_with(self.host.rows.connection)
        queue = TaskQueue(
            *(
                SlicesWithId(np.flatnonzero(chosen), entry[chosen])
                for chosen in (self.host.is_enqueue, self.host.is_dequeue)
            )
        )
        operators = np.flatnonzero(self.host.rows.category == Category.OPERATOR)
        by_id = SlicesWithId(operators, self.host.rows.connection[operators])
        tails = by_id.first_with(links["id"])
        from_operator = tails >= 0
        arrows = SlicesWithId(tails[from_operator], links["connectionId"][from_operator])
        chain = link_launches(
            slices,
            work,
            SlicesWithId(calls, self.calls.connection),
            queue,
            arrows.first_with(work.ids),
        )
        columns.launch, columns.owner = chain.launch, chain.owner
        columns.quality.add("ascend_link_differs", chain.mismatch_count)
        self._flows(columns, arrows)

    def _flows(self, columns: EventColumns, arrows: SlicesWithId) -> None:
        """Add a flow for every two operators with the same connection: a forward and its
        backward."""
        order = np.lexsort((self.slices["start_ns"][arrows.rows], arrows.ids))
        ids, rows = arrows.ids[order], arrows.rows[order]
        _, first, counts = np.unique(ids, return_index=True, return_counts=True)
        pairs = first[counts == 2]
        ends = np.stack([rows[pairs], rows[pairs + 1]], axis=1).reshape(-1)
        if not len(ends):
            return
        numbers = self.strings.codes([str(each) for each in ids[pairs].tolist()])
        columns.tables["flows"] = {
            "raw_category_code": np.full(len(ends), self.strings.code("fwdbwd"), np.int32),
            "flow_id_code": np.repeat(numbers, 2),
            "is_start": np.tile(np.array([1, 0], np.int8), len(pairs)),
            "track": self.slices["track"][ends],
            "time_ns": self.slices["start_ns"][ends],
        }

    def _measure(self, columns: EventColumns) -> None:
        samples = SampleRows(self.strings)
        db_measures.add_measures(self.database, self.texts, samples, self.base_ns)
        start = self.tasks.rows.start_ns - self.base_ns
        db_measures.add_kernel_measures(self.database, self.texts, samples, self.tasks.task, start)
        db_measures.add_modules(self.database, samples, self.base_ns)
        records = db_measures.read_records(self.database, self.texts)
        blocks = db_measures.read_blocks(self.database, self.texts)
        add_memory(columns, blocks, records, self.strings)
        add_records(columns, records, samples)
        samples.append_to(columns)

    def _check_overlap(self, columns: EventColumns) -> None:
        """Compare with the sums that MindStudio adds when it imports a database."""
        stored = self.database.ints("OVERLAP_ANALYSIS", ("type", "startNs", "endNs"))
        duration_ns: Int64 = stored["endNs"] - stored["startNs"]
        reported = {
            name: int(duration_ns[stored["type"] == kind].sum())
            for kind, name in ((0, COMPUTING), (1, COMMUNICATION))
        }
        compare_overlap(columns, reported)
