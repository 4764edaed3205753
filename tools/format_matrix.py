"""Write the matrix of docs/formats.md: what each view shows of a sample of each format, or why not.

    python tools/format_matrix.py            # writes it
    python tools/format_matrix.py --check    # only tells what is no longer so
    python tools/format_matrix.py --reasons  # prints every reason that any view gives, to be read

Where samples are not at hand the page stays as it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.without_times import missing_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "formats.md"
CORPUS = ROOT.parent / "shared" / "corpus"
BEGIN, END = "<!-- matrix: tools/format_matrix.py -->", "<!-- end of the matrix -->"

SAMPLES: dict[str, str] = {
    "PyTorch JSON": "h100_bert_small/gaunernst_bert-small-uncased__1016001.json.gz",
    "recorded run": "tests/data/recorded_run/vm_22478.record.jsonl.gz",
    "PyTorch pftrace": "pftrace/torch2141_synthetic_gpu.pftrace.gz",
    "XPlane": "tests/data/jax_cpu.xplane.pb.gz",
    "rocprofv3": "rocm/908_results.json.gz",
    "rocmProfileData": "rocm/matmul_result.rpd",
    "Proton tree": "tests/data/proton/decode.hatchet",
    "Proton Chrome": "tests/data/proton/streams.chrome_trace",
    "Nsight Systems": "nsight/real/nsysai_h100x2_mfu_before_s3.25.0.sqlite",
    "Paddle JSON": "paddle_3.3.1/oracle/w2.paddle_trace.json",
    "Paddle protobuf": "paddle_3.3.1/oracle/w2.paddle_trace.pb",
    "torch_npu text": "ascend_torch_npu/text/level1/rank0_ascend_pt",
    "torch_npu database": "ascend_torch_npu/db/level1/rank0_ascend_pt",
    "MindSpore timeline": "ascend_mindspore/msprof_0_2_1.json",
    "MindSpore files": "mindspore_r1/profiler",
    "execution trace": "tests/data/execution/et_rank0.json.gz",
    "memory snapshot": "memsnap_ascend/snapshot_expandable.pkl",
    "flight recorder": "tests/data/hangs/sleep/fr_trace_rank_0",
}
"""Format → the sample that stands for it, in the corpus or in the repository."""


def view_names() -> list[str]:
    """The views of one recording or run, in the order of the pages."""
    return [spec.name for spec in all_views().values() if spec.on_pages and spec.scope != "pair"]


def reasons_of(trace: Trace) -> dict[str, str | None]:
    """View → why it has nothing to show; None where it has."""
    specs = all_views()
    return {name: missing_of(specs[name], trace) for name in view_names()}


def matrix(found: dict[str, dict[str, str | None]]) -> str:
    """The matrix and the reasons below it.

    Args:
        found: Format → view → reason.
    """
    formats = list(found)
    lines = [f"| view | {' | '.join(formats)} |", f"|---|{'---|' * len(formats)}"]
    for name in view_names():
        cells = ["filled" if found[each][name] is None else "–" for each in formats]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append("")
    for each in formats:
        grey: dict[str, list[str]] = {}
        for name, reason in found[each].items():
            if reason is not None:
                grey.setdefault(reason, []).append(name)
        if grey:
            told = " ".join(f"{', '.join(names)}: {reason}" for reason, names in grey.items())
            lines.append(f"- **{each}**: {told}")
    return "\n".join(lines)


def current(text: str, found: dict[str, dict[str, str | None]]) -> str:
    """The page with the matrix as it should be."""
    between = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return between.sub(lambda _: f"{BEGIN}\n\n{matrix(found)}\n\n{END}", text)


def path_of(sample: str) -> Path:
    """Where a sample lies, or would."""
    return ROOT / sample if (ROOT / sample).exists() else CORPUS / sample


def examined() -> dict[str, dict[str, str | None]] | None:
    """Format → view → reason, of the samples; None where some are not at hand."""
    paths = {name: path_of(sample) for name, sample in SAMPLES.items()}
    if not all(path.exists() for path in paths.values()):
        return None
    found = {}
    for name, path in paths.items():
        with open_trace(path, cache=False) as opened:
            found[name] = reasons_of(opened.trace)
    return found


def every_reason(trace: Trace) -> Iterator[str]:
    """One line per reason of a view, a column or a number, and per note."""
    for name, reason in reasons_of(trace).items():
        if reason is not None:
            yield f"{name}: {reason}"
            continue
        spec = all_views()[name]
        yield from (f"{name} {line}" for line in _reasons_inside(_shown(spec, trace)))


def _shown(spec: ViewSpec, trace: Trace) -> View:
    of = {"worker": trace} if spec.scope == "run" else trace
    view: View = spec.function(of, Selection())  # type: ignore[call-arg, arg-type]
    return view


def _reasons_inside(view: View) -> Iterator[str]:
    for table in view.tables.values():
        for key, reason in table.null_reasons.items():
            nulls = table.frame[key].null_count()
            yield f"{table.spec.name}.{key} ({nulls} of {table.frame.height}): {reason}"
    for fact in view.facts:
        if fact.reason is not None:
            yield f"fact {fact.key}: {fact.reason}"
    for note in view.notes:
        yield f"note {note.code}: {note.text}"


def main() -> int:
    """Write, check or print; the exit status."""
    if "--reasons" in sys.argv[1:]:
        for name, path in SAMPLES.items():
            print(f"\n== {name}: {path}")
            with open_trace(path_of(path), cache=False) as opened:
                print("\n".join(every_reason(opened.trace)))
        return 0
    found = examined()
    if found is None:
        print("Not every sample is at hand: the page stays as it is.", file=sys.stderr)
        return 0
    text = PAGE.read_text(encoding="utf-8")
    new = current(text, found)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    if text != new:
        print(f"{PAGE.name}: run tools/format_matrix.py", file=sys.stderr)
    return int(text != new)


if __name__ == "__main__":
    sys.exit(main())
