"""Findings: durations and names in texts, and the threshold that was published."""

import polars as pl
import pytest

from torch_tb_profiler.detectors.tensor_core_candidates import EVIDENCE
from torch_tb_profiler.evidence.finding import MAX_QUOTED, Finding, shorten
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entries
from torch_tb_profiler.views.scales import duration_text


@pytest.mark.parametrize(
    ("duration_us", "text"),
    [(0.0, "0 µs"), (999.94, "1,000 µs"), (59_262.0, "59.3 ms"), (2_500_000.0, "2.50 s")],
)
def test_durations(duration_us: float, text: str) -> None:
    assert duration_text(duration_us) == text


def test_names_are_quoted_on_one_line_and_truncated() -> None:
    assert shorten(3.5) == 3.5
    assert shorten("aten::mm") == "aten::mm"
    assert shorten("{gain}\n<b>  x") == "{gain} <b> x"
    assert shorten("k" * 5000) == "k" * MAX_QUOTED + "…"


@pytest.mark.parametrize(
    ("last", "ends"),
    [
        ("", "these sizes (vocabulary, channels, batch)."),
        ("Nothing waits.", "(vocabulary, channels, batch). Nothing waits."),
    ],
)
def test_an_empty_last_sentence_leaves_no_space(last: str, ends: str) -> None:
    values = {"units": "Tensor Cores", "reason": "sizes", "largest": "", "no_gain_yet": last}
    rows = build_table(EVIDENCE, pl.DataFrame(schema=EVIDENCE.polars_schema()))
    finding = Finding("tensor_core_candidates", 40.0, None, rows, values=values, variant="sizes")
    assert finding.text.endswith(ends)


def test_only_the_threshold_of_utilization_was_published() -> None:
    rows = build_table(EVIDENCE, pl.DataFrame(schema=EVIDENCE.polars_schema()))
    texts = {"gpus": "GPU 0", "causes": "", "waited": "", "options": ""}
    is_rule_of_thumb = {
        code: Finding(code, 40.0, None, rows, values=texts).note().evidence["threshold_is_ours"]
        for code in ("low_gpu_utilization", "dataloader_bound")
    }
    assert is_rule_of_thumb == {"low_gpu_utilization": False, "dataloader_bound": True}
    assert [code for code, known in entries().items() if known.published] == ["low_gpu_utilization"]


@pytest.mark.parametrize(
    ("gain_us", "at_stake_us", "reason"),
    [
        (30.0, 900.0, None),
        (5.0, 12.0, "It concerns 1.2 % of the step."),
        (
            5.0,
            400.0,
            "It concerns 40.0 % of the step, but only this much of it can be saved or overlap with "
            "other work.",
        ),
        (5.0, None, None),
        (
            None,
            213.0,
            "Roughly 21.3 % of the step is at stake. No gain is estimated: the recording does not "
            "show how much shorter the step would become.",
        ),
        (
            None,
            None,
            "No gain is estimated: the recording does not show how much shorter the step would "
            "become.",
        ),
    ],
)
def test_a_small_gain_says_why(
    gain_us: float | None, at_stake_us: float | None, reason: str | None
) -> None:
    rows = build_table(EVIDENCE, pl.DataFrame(schema=EVIDENCE.polars_schema()))
    texts = {"gpus": "GPU 0", "causes": "", "waited": "", "options": ""}
    code = "low_gpu_utilization"
    finding = Finding(code, 40.0, gain_us, rows, values=texts, at_stake_us=at_stake_us)
    assert finding.note(step_ns=1_000_000.0).evidence["gain_reason"] == reason
