"""The small files of a folder, by name; missing and unreadable files are quality issues."""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec import Struct

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.importers.ascend import file_names
from torch_tb_profiler.importers.ascend.csv_table import CsvTable
from torch_tb_profiler.importers.kineto.repair import parse_lenient
from torch_tb_profiler.importers.source import Folder
from torch_tb_profiler.storage.decompress import UnpackLimitError
from torch_tb_profiler.trace.quality import QualityReport


class SideFiles(Struct, frozen=True):
    """The files of a folder other than that with the events.

    Attributes:
        folder: The folder.
        quality: Gets an issue for each file that is missing or cannot be read.
    """

    folder: Folder
    quality: QualityReport

    def table(self, name: str, *needed: str, is_usual: bool = True) -> CsvTable | None:
        """Read a CSV file that must have the columns ``needed``; None if it is missing or damaged.

        Raises:
            StorageError, OSError: it cannot be read.
        """
        path = file_names.find_file(self.folder.files, name)
        if path is None:
            self.quality.add("ascend_file_missing", int(is_usual), name)
            return None
        try:
            table = CsvTable.read(self.folder.files[path]())
        except (ValueError, UnpackLimitError) as error:
            self.quality.add("ascend_file_unreadable", 1, f"{name}: {error}")
            return None
        missing = [header for header in needed if not table.has(header)]
        if missing:
            text = f"{name}: no column {', '.join(missing)}"
            self.quality.add("ascend_file_unreadable", 1, text)
            return None
        return table

    def document(self, name: str | re.Pattern[str], *, is_usual: bool = True) -> Any:
        """Read a JSON file, repaired if it is damaged; None if it is missing or cannot be repaired.

        Raises:
            StorageError, OSError: it cannot be read.
        """
        path = file_names.find_file(self.folder.files, name)
        if path is None:
            if is_usual and isinstance(name, str):
                self.quality.add("ascend_file_missing", 1, name)
            return None
        text, most = bytearray(), UNLIMITED.count("document_bytes")
        for chunk in self.folder.files[path]().unpacked():
            text += chunk
            if len(text) > most:
                break
        decoded = text.decode("utf-8-sig", "replace")
        try:
            return json.loads(decoded)
        except (ValueError, RecursionError):
            parsed = parse_lenient(decoded.strip())
            self.quality.add("ascend_file_unreadable", 1, file_names.base_name(path))
            return None if parsed is None else parsed.value
