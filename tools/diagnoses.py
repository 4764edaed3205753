"""Write the column *findings* of docs/diagnoses.md: the findings of each recording.

    python tools/diagnoses.py           # writes it
    python tools/diagnoses.py --check   # only reports rows that are out of date

Rows of recordings that are not available stay as they are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.detectors import detect_across_workers, run_detectors
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Note

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "diagnoses.md"
FOLDERS = (ROOT / "samples", ROOT.parent / "shared" / "corpus")
ROW = re.compile(r"^\| `([^`]+)` \| (.+?) \| (.*?) ?\| (.*?) ?\|$", re.MULTILINE)
RUNS = {
    "dlrm_8_ranks": "dlrm_8_ranks/*.gz",
    "cpu_ddp4_gloo": "cpu_ddp4_gloo/*.gz",
    "fixtures/c_ddp2_gloo_et": "fixtures/c_ddp2_gloo_et/rank*.gz",
    "dist_torch2141/fsdp2": "dist_torch2141/fsdp2_rank*.pt.trace.json.gz",
    "dist_torch2141/pp1f1b": "dist_torch2141/pp1f1b_rank*.gz",
    "ascend_torch_npu": "ascend_torch_npu/text/level1/*/ASCEND_PROFILER_OUTPUT/trace_view.json",
}
"""Run of the page → the files of its workers."""


def load_trace(path: Path) -> Trace:
    """The trace of a file."""
    with open_trace(path, cache=False) as session:
        return session.trace


def recordings() -> dict[str, Path]:
    """The available recordings of the page, without runs."""
    names = [match[1] for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]
    return {name: path for name in names if name not in RUNS for path in files_of(name)}


def files_of(name: str) -> list[Path]:
    """The files of a recording or run; empty if they are not available."""
    for folder in FOLDERS:
        files = sorted(folder.glob(RUNS.get(name, name)))
        if files:
            return files
    return []


def notes_of(name: str, files: list[Path], trace_of: Callable[[Path], Trace]) -> tuple[Note, ...]:
    """The findings of a recording or run."""
    if name in RUNS:
        return detect_across_workers({str(path): trace_of(path) for path in files}, Selection())
    return run_detectors(trace_of(files[0]), Selection()).notes


def current(text: str, trace_of: Callable[[Path], Trace] = load_trace) -> str:
    """The page with the current findings."""

    def row(match: re.Match[str]) -> str:
        name, diagnosis, findings, verdict = match.groups()
        files = files_of(name)
        if files:
            codes = [note.code for note in notes_of(name, files, trace_of)]
            findings = ", ".join(f"`{code}`" for code in codes) or "–"
        return f"| `{name}` | {diagnosis} | {findings} | {verdict} |"

    return ROW.sub(row, text)


def main() -> int:
    """Write or check the page; returns the exit status."""
    text = PAGE.read_text(encoding="utf-8")
    new = current(text)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    for before, after in zip(text.splitlines(), new.splitlines(), strict=True):
        if before != after:
            print(f"{PAGE.name}: run tools/diagnoses.py\n- {before}\n+ {after}", file=sys.stderr)
    return int(text != new)


if __name__ == "__main__":
    sys.exit(main())
