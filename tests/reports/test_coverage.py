"""The answer of ``doctor`` as text: width, control characters, what is left out."""

from __future__ import annotations

from torch_tb_profiler.reports.coverage import dumps
from torch_tb_profiler.requests.coverage import (
    CoveredQuestion,
    OptionCost,
    RecordingCode,
    RecordingCoverage,
    RecordingProblem,
    SourcePayload,
)
from torch_tb_profiler.requests.views import TraceRef

KERNELS = SourcePayload("kernels", "kernels", "total_us", None, None)
STACKS = SourcePayload("operators", "operators", "call_stack", None, "name+call_stack")


def _coverage(record: RecordingCode | None = None) -> RecordingCoverage:
    return RecordingCoverage(
        trace=TraceRef("run", "rank0\x1b[31m", "1"),
        ranks=2,
        recorder="torch.profiler",
        answer="Answers 1 of 3 questions.",
        questions=(
            CoveredQuestion("kernels", "Which kernels?", "yes", (KERNELS,)),
            CoveredQuestion("stack", "Which line?", "partly", (STACKS,), "Few.", ("stack=True",)),
            CoveredQuestion("memory", "Memory?", "no", (), "None (memory=True).", ("memory=True",)),
            CoveredQuestion("rank", "Which rank?", "not applicable", (), "One process."),
            CoveredQuestion("link", "Slow links?", "not applicable", (), "One process."),
        ),
        problems=(
            RecordingProblem("cut", "warning", "The file ends.", 1),
            RecordingProblem("lost", "warning", "Events were lost.", 1234),
        ),
        record=record,
    )  # fmt: skip


def test_every_part_has_its_lines() -> None:
    record = RecordingCode("python", "a = 1\n\nb = 2", (OptionCost("x", "y"),), "run\nthat")
    assert (
        dumps(_coverage(record), 80)
        == """\
run · rank0\\x1b[31m · 1, one of 2 ranks: recorded with torch.profiler
Answers 1 of 3 questions.

Question        Answer  Where, or why not
Which kernels?  yes     kernels: kernels
Which line?     partly  operators: operators (--group-by name+call_stack) – Few.
                        Record with stack=True.
Memory?         no      None (memory=True).

Not applicable
- Which rank? Slow links? One process.

The recording itself
- The file ends.
- Events were lost. (1,234 times)

Record next time

    a = 1

    b = 2

Cost: x: y.

Without a change of the program:

    run
    that
"""
    )


def test_nothing_to_record_leaves_the_code_out() -> None:
    text = dumps(_coverage(), 60)
    assert "Record next time" not in text
    assert max(map(len, text.split("\n"))) <= 60
