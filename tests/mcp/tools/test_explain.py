"""Cases: columns, tables, views, findings, parameters, causes, terms; nulls of a recording; texts
that mention a word; nothing of that name."""

from __future__ import annotations

import pytest

from tests.helpers.mcp_answers import Ask
from torch_tb_profiler.knowledge.advice import entries
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.views.registry import all_views


@pytest.mark.parametrize(
    ("name", "start"),
    [
        (
            "kernels.total_us",
            "Column kernels.kernels.total_us (Total; number, us): Summed duration.",
        ),
        ("kernels.kernels.calls", "Column kernels.kernels.calls ("),
        ("raw.slices.dur_ns", "Column raw.slices.dur_ns ("),
        ("idle.gaps", "Table idle.gaps ("),
        ("raw.slices", "Table raw.slices ("),
        ("critical_path", "View critical_path ("),
        ("launch_bound", "Finding launch_bound (Launch-bound): threshold 5 pct"),
        ("Launch-bound", "Finding launch_bound ("),
        ("iterations_by", "Parameter iterations_by (text): what splits the recording"),
        ("kernel_to_kernel", "Idle cause kernel_to_kernel (Kernel to kernel): "),
        ("mfu", "MFU: Model FLOPs utilization"),
        ("self time", "self time: Time of a call without the calls inside it."),
    ],
)
def test_names(ask: Ask, name: str, start: str) -> None:
    text = ask("explain", name=name)
    assert start in text
    assert "{" not in text


def test_everything_has_a_meaning(ask: Ask) -> None:
    for name in (*entries(), *all_views()):
        assert ask("explain", name=name)


def test_why_a_value_is_null_in_a_recording(ask: Ask) -> None:
    text = ask("explain", name="kernels.mean_est_achieved_occupancy_pct", trace="h100_bert_small")
    assert "is null in 3 of 11 rows: The profiler did not record this for these kernels." in text
    text = ask("explain", name="distributed.stragglers", trace="h100_bert_small")
    assert "This recording has no view distributed: " in text
    text = ask("explain", name="kernels.total_us", trace="h100_bert_small")
    assert "In this recording kernels.kernels.total_us has a value in all 11 rows." in text


def test_a_word_that_texts_mention(ask: Ask) -> None:
    text = ask("explain", name="registers per thread")
    assert text.startswith("Nothing is called 'registers per thread';")


def test_nothing_of_that_name(ask: Ask) -> None:
    with pytest.raises(LoadingError) as caught:
        ask("explain", name="kernels.total_uss")
    assert "kernels.total_us" in str(caught.value.problem.hint)
    with pytest.raises(LoadingError):
        ask("explain", name="")


def test_a_term_with_a_recording_says_why_its_columns_are_null(ask: Ask) -> None:
    text = ask("explain", name="SM efficiency", trace="cpu_resnet_full")
    assert "In this recording overview.gpus.est_sm_efficiency_pct has no rows" in text


def test_where_it_is_documented(ask: Ask) -> None:
    text = ask("explain", name="kernels.total_us")
    assert "docs/columns.md#kernels.kernels.total_us" in text
    assert "docs/advice.md#launch_bound" in ask("explain", name="launch_bound")
