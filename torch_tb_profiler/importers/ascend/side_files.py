"""The small files of a folder by name; one that is not there or cannot be read is told of."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from torch_tb_profiler.importers.ascend import members
from torch_tb_profiler.importers.ascend.csv_table import CsvTable
from torch_tb_profiler.importers.kineto.repair import parse_lenient
from torch_tb_profiler.importers.source import Folder
from torch_tb_profiler.storage.decompress import UnpackLimitError
from torch_tb_profiler.trace.quality import QualityReport

MAX_JSON_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class SideFiles:
    """The files beside the events.

    Attributes:
        folder: Where they lie.
        quality: Is told of what cannot be read.
    """

    folder: Folder
    quality: QualityReport

    def table(self, name: str, *needed: str, is_usual: bool = True) -> CsvTable | None:
        """A CSV file with these columns; None where there is none, or it is damaged.

        Raises:
            StorageError, OSError: it cannot be read.
        """
        path = members.named(self.folder.files, name)
        if path is None:
            self.quality.add("ascend_file_missing", int(is_usual), name)
            return None
        try:
            table = CsvTable.read(self.folder.files[path]())
        except (ValueError, UnpackLimitError) as error:
            self.quality.add("ascend_file_unreadable", 1, f"{name}: {error}")
            return None
        lacking = [header for header in needed if not table.has(header)]
        if lacking:
            text = f"{name}: no column {', '.join(lacking)}"
            self.quality.add("ascend_file_unreadable", 1, text)
            return None
        return table

    def document(self, name: str | re.Pattern[str], *, is_usual: bool = True) -> Any:
        """A JSON file, repaired where it is damaged; None where there is none or nothing helps.

        Raises:
            StorageError, OSError: it cannot be read.
        """
        path = members.named(self.folder.files, name)
        if path is None:
            if is_usual and isinstance(name, str):
                self.quality.add("ascend_file_missing", 1, name)
            return None
        text = bytearray()
        for chunk in self.folder.files[path]().unpacked():
            text += chunk
            if len(text) > MAX_JSON_BYTES:
                break
        decoded = text.decode("utf-8-sig", "replace")
        try:
            return json.loads(decoded)
        except (ValueError, RecursionError):
            parsed = parse_lenient(decoded.strip())
            self.quality.add("ascend_file_unreadable", 1, members.base_of(path))
            return None if parsed is None else parsed.value
