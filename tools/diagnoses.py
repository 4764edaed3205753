"""Write the column *findings* of docs/diagnoses.md: what the product says of each recording.

    python tools/diagnoses.py           # writes it
    python tools/diagnoses.py --check   # only tells what is no longer so

Recordings that are not at hand stay as they are.
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
"""Runs of the page → the files of their workers."""


def opened(path: Path) -> Trace:
    """The trace of a file."""
    with open_trace(path, cache=False) as found:
        return found.trace


def recordings() -> dict[str, Path]:
    """The recordings of the page that are at hand, without runs."""
    names = [found[1] for found in ROW.finditer(PAGE.read_text(encoding="utf-8"))]
    return {name: path for name in names if name not in RUNS for path in files_of(name)}


def files_of(name: str) -> list[Path]:
    """The files of a recording or run; empty where they are not at hand."""
    for folder in FOLDERS:
        found = sorted(folder.glob(RUNS.get(name, name)))
        if found:
            return found
    return []


def notes_of(name: str, files: list[Path], trace_of: Callable[[Path], Trace]) -> tuple[Note, ...]:
    """What the product says of a recording or run."""
    if name in RUNS:
        return detect_across_workers({str(path): trace_of(path) for path in files}, Selection())
    return run_detectors(trace_of(files[0]), Selection()).notes


def current(text: str, trace_of: Callable[[Path], Trace] = opened) -> str:
    """The page as it should be."""

    def row(found: re.Match[str]) -> str:
        name, diagnosis, told, verdict = found.groups()
        files = files_of(name)
        if files:
            codes = [note.code for note in notes_of(name, files, trace_of)]
            told = ", ".join(f"`{code}`" for code in codes) or "–"
        return f"| `{name}` | {diagnosis} | {told} | {verdict} |"

    return ROW.sub(row, text)


def main() -> int:
    """Write or check; the exit status."""
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
