"""A second reader of MindSpore's folders: ``csv`` and ``json``, all files of one device.

It shares no code with the importer, which is compared with it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from tests.helpers.sums import Sums, add_up
from tests.importers.kineto import json_sums

STEP_PARTS = {
    "total_us": "total", "interval_us": "iteration_interval", "forward_backward_us": "fp_and_bp",
    "tail_us": "tail",
}  # fmt: skip
"""Column of the side table → of the file, in ticks of 10 ns."""


class DeviceFiles:
    """The files of a device in a folder; absent ones have no rows."""

    def __init__(self, folder: Path, device: int) -> None:
        self._folder, self._device = folder, device

    def timeline(self) -> Sums:
        """Slices by (process, thread, name), in ns."""
        for name in ("ascend_timeline_display_{}.json", "timeline_display_{}.json"):
            if self._path(name).exists():
                document = json_sums.parse(self._path(name).read_bytes())
                return json_sums.slices(json_sums.events_of(document))
        return {}

    def types(self) -> Sums:
        """Time of each type of the AI Core, with its calls."""
        return add_up(
            ((row["kernel_type"], int(row["execution_frequency"])), _us(row["total_time"]))
            for row in self._csv("aicore_intermediate_{}_type.csv")
        )

    def operators(self) -> Sums:
        """Mean time of each operator of the AI Core, with its calls."""
        return add_up(
            ((name, int(calls)), _us(mean))
            for name, mean, calls in (
                row.values() for row in self._csv("aicore_intermediate_{}_detail.csv")
            )
        )

    def steps(self) -> Sums:
        """Parts of steps, in ticks; the row without a number is their mean."""
        return add_up(
            ((part,), int(row[column]))
            for row in self._csv("step_trace_raw_{}_detail_time.csv")
            if row["step_num"].strip("0").isdigit()
            for part, column in STEP_PARTS.items()
        )

    def flops(self) -> Sums:
        """FLOPs of each operator by (name, unit)."""
        path = self._path("flops_{}.txt")
        text = path.read_text() if path.exists() else ""
        units = {3: (None,), 6: ("cube", "vector")}
        return add_up(
            ((name, unit), float(values[3 * place]) * 1e6)
            for name, *values in list(csv.reader(text.splitlines(), skipinitialspace=True))[1:]
            for place, unit in enumerate(units[len(values)])
        )

    def queue_sizes(self) -> Sums:
        """Sampled sizes of the output queue of each operation of the pipeline: as MindData wrote
        them, else as MindSpore repeats them."""
        raw = [
            (int(row["op_id"]), row["output_queue_length"], row["output_queue_size"])
            for row in self._csv("minddata_pipeline_raw_{}.csv")
        ]
        queues = {number: json.loads(sizes) for number, length, sizes in raw if int(length or 0)}
        path = self._path("pipeline_profiling_{}.json")
        if not raw and path.exists():
            entries = json_sums.parse(path.read_bytes())["op_info"]
            given = {each["op_id"]: (each["metrics"] or {}).get("output_queue") for each in entries}
            queues = {number: queue["size"] for number, queue in given.items() if queue}
        return add_up(((number,), size) for number, sizes in queues.items() for size in sizes)

    def _path(self, name: str) -> Path:
        return self._folder / name.format(self._device)

    def _csv(self, name: str) -> Iterator[dict[str, str]]:
        path = self._path(name)
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                yield from csv.DictReader(file)


def _us(text: str) -> float:
    return float(Decimal(text) * 1000)
