"""The recordings numbers are compared over: the samples, and the corpus where it is at hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from torch_tb_profiler.api import open_trace
from torch_tb_profiler.trace.model import Trace

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "samples", ROOT.parent / "shared" / "corpus")
PATTERNS = (
    "*/*.pt.trace.json.gz",
    "*_small/*.json.gz",
    "torch_compile_triton/*.json.gz",
    "torch_versions/*/*.json.gz",
    "fixtures/*/rank*.json.gz",
    "fixtures/*/*trace.json.gz",
    "inference/*.json.gz",
    "ascend_*/*.json",
    "ascend_torch_npu/*/level1/rank0_ascend_pt",
    "paddle_*/*.paddle_trace.json.gz",
    "paddle_*/oracle/*.paddle_trace.json",
    "paddle_*/oracle/w0.paddle_trace.pb",
)


def _found() -> dict[str, Path]:
    """Name → file; what is among the samples is not taken from the corpus again."""
    files: dict[str, Path] = {}
    for folder in FOLDERS:
        known = {name.partition("/")[0] for name in files}
        files |= {
            path.relative_to(folder).as_posix(): path
            for pattern in PATTERNS
            for path in folder.glob(pattern)
            if path.relative_to(folder).parts[0] not in known
        }
    return dict(sorted(files.items()))


FILES = _found()


@cache
def opened(name: str) -> Trace:
    """The trace of one of :data:`FILES`."""
    with open_trace(FILES[name], cache=False) as found:
        return found.trace
