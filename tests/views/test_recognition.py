"""Shares of kernel time that nothing recognizes, and notes where communication is not known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.analysis.communication.test_certainty import EIGHT, KNOWN, NCCL, PRIVATE, recording
from torch_tb_profiler.analysis.recording.user_rules import user_rules
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.user_rules import UserRules, parse_user_rules
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.distributed.view import SPEC as DISTRIBUTED
from torch_tb_profiler.views.distributed.view import distributed
from torch_tb_profiler.views.kernels.view import kernels
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.phases.view import phases
from torch_tb_profiler.views.schema import Fact, View

GENERIC = "void at::native::lab_kernel<4>(int)"
"""Of PyTorch's own: it does not communicate, whatever it does."""


def fact(view: View, key: str, scope: str | None = None) -> Fact:
    (one,) = (each for each in view.facts if (each.key, each.scope) == (key, scope))
    return one


def note_codes(view: View) -> set[str]:
    return {note.code for note in view.notes} & {
        "communication_unknown",
        "communication_lower_bound",
        "rules_not_applied",
    }


@pytest.mark.parametrize("view", [kernels, overview])
def test_each_classification_says_what_share_nothing_recognizes(
    view: Callable[[Trace, Selection], View],
) -> None:
    shown = view(recording((PRIVATE, 30), (GENERIC, 20), (KNOWN, 50), job=None), Selection())
    assert fact(shown, "unknown_class_time_pct").value == pytest.approx(50)
    assert fact(shown, "unrecognized_time_pct").value == pytest.approx(30)
    assert fact(shown, "unknown_tensor_core_time_pct").value == pytest.approx(30)
    nothing = view(recording(job=None), Selection())
    assert fact(nothing, "unknown_class_time_pct").value is None
    assert fact(nothing, "unknown_class_time_pct").reason is not None


def overview_of(trace: Trace) -> View:
    return overview(trace, Selection())


def test_what_is_unknown_is_null_with_its_reason_and_not_0() -> None:
    shown = overview_of(recording((PRIVATE, 30), (KNOWN, 70)))
    average = shown.tables["average_step"]
    rows = {row["category"]: row for row in average.frame.to_dicts()}
    assert rows["Communication"]["duration_us"] is None
    assert "is distributed" in average.null_reasons["duration_us"]
    assert rows["Kernel"]["duration_us"] == pytest.approx(100)
    gpus = shown.tables["gpus"]
    assert gpus.frame["compute_utilization_pct"].to_list() == [None]
    assert "is distributed" in gpus.null_reasons["compute_utilization_pct"]
    reason = fact(shown, "gpu_compute_utilization_pct", "GPU 0").reason
    assert reason is not None
    assert "is distributed" in reason
    assert note_codes(shown) == {"communication_unknown"}
    steps = shown.tables["steps"]
    assert steps.frame["communication_us"].null_count() == 1
    missing = DISTRIBUTED.missing
    assert missing is not None
    assert "is distributed" in (missing(recording((PRIVATE, 30), (KNOWN, 70))) or "")


def test_a_lower_bound_says_so_and_a_wide_range_is_no_number() -> None:
    """300 µs may communicate, 50 compute, of a step that ends 390 µs after its start."""
    shown = overview_of(recording((PRIVATE, 300), (KNOWN, 50), (NCCL, 20)))
    (row,) = shown.tables["gpus"].frame.to_dicts()
    assert row["compute_utilization_pct"] is None
    least, most = row["compute_utilization_min_pct"], row["compute_utilization_max_pct"]
    length_us = shown.tables["steps"].frame["total_us"][0]
    assert (least, most) == (
        pytest.approx(50 / length_us * 100),
        pytest.approx(350 / length_us * 100),
    )
    reason = fact(shown, "gpu_compute_utilization_pct", "GPU 0").reason
    assert f"between {least:.1f} % and {most:.1f} %" in (reason or "")
    (note,) = (note for note in shown.notes if note.code == "communication_lower_bound")
    assert note.severity == "warning"
    assert "81.1 % of the kernel time" in note.text
    assert "communication_us" in note.evidence["columns"]  # type: ignore[operator]
    # A narrow one is a number.
    shown = overview_of(recording((PRIVATE, 3), (KNOWN, 50), (NCCL, 20)))
    (row,) = shown.tables["gpus"].frame.to_dicts()
    assert row["compute_utilization_pct"] == row["compute_utilization_max_pct"]


def test_workers_are_named_in_one_note() -> None:
    unsure, sure = recording((PRIVATE, 30), (NCCL, 20)), recording((KNOWN, 30), (NCCL, 20))
    shown = distributed({"a": unsure, "b": sure, "c": unsure}, Selection())
    (note,) = (note for note in shown.notes if note.code == "communication_lower_bound")
    assert note.text.startswith("a, c: 60.0 % of the kernel time")
    none = recording((PRIVATE, 30), (KNOWN, 20))
    shown = distributed({"a": sure, "b": none}, Selection())
    overlap = shown.tables["overlap"]
    known = {row["worker"]: row["communication_us"] for row in overlap.frame.to_dicts()}
    assert known["a"] == pytest.approx(20)
    assert known["b"] is None
    assert "recognized" in overlap.null_reasons["communication_us"]
    assert note_codes(shown) == {"communication_unknown"}


def test_one_process_and_known_kernels_have_no_note() -> None:
    for trace in (
        recording((PRIVATE, 30), (KNOWN, 20), job=None),
        recording((KNOWN, 30), (NCCL, 20), job=EIGHT),
    ):
        assert note_codes(overview_of(trace)) == set()


def test_rules_that_are_not_applied_are_a_note_in_every_view() -> None:
    built = recording((KNOWN, 30))
    user_rules.provide(built, UserRules("r.toml", problem="r.toml, line 3: no."))
    for view in (
        overview_of(built),
        kernels(built, Selection()),
        phases(built, Selection()),
    ):
        assert note_codes(view) >= {"rules_not_applied"}
    several = distributed({"a": built, "b": built}, Selection())
    assert [note.code for note in several.notes].count("rules_not_applied") == 1


def test_the_file_of_rules_is_named_where_it_says_or_could_say_something() -> None:
    built = recording((PRIVATE, 30), (KNOWN, 70))
    user_rules.provide(built, UserRules("~/r.toml"))
    assert (
        fact(kernels(built, Selection()), "kernel_rules").reason
        == "None yet: they are looked for in ~/r.toml."
    )
    known = recording((KNOWN, 70))
    assert not [one for one in kernels(known, Selection()).facts if one.key == "kernel_rules"]
    known = recording((KNOWN, 70))
    rules = parse_user_rules(b'[[kernel]]\nmatch = "volta"\ncategory = "gemm"\n', "~/r.toml")
    user_rules.provide(known, rules)
    for view in (kernels(known, Selection()), overview_of(known)):
        assert fact(view, "kernel_rules").value == "~/r.toml (1 rule)"


def test_whether_an_unrecognized_kernel_communicates_is_null_in_a_distributed_program() -> None:
    for job, expected in ((EIGHT, None), (None, False)):
        table = kernels(recording((PRIVATE, 30), (KNOWN, 20), job=job), Selection()).tables[
            "kernels"
        ]
        by_name = dict(table.frame.select("name", "communication").rows())
        assert by_name == {PRIVATE: expected, KNOWN: False}
        assert ("communication" in table.null_reasons) == (expected is None)


def test_what_is_unknown_of_a_kernel_includes_communication_where_several_ranks_took_part() -> None:
    for job, expected in (
        (EIGHT, "class, communication, Tensor Core use"),
        (None, "class, Tensor Core use"),
    ):
        shown = kernels(recording((PRIVATE, 30), (KNOWN, 20), job=job), Selection())
        assert shown.tables["unrecognized"].frame["unknown"].to_list() == [expected]


def test_communication_of_the_average_step_has_bounds_where_it_is_not_known() -> None:
    """20 µs communicate, 30 may, 50 do not."""
    for collectives, least, most in (([(NCCL, 20)], 20, 50), ([], 0, 30)):
        shown = overview_of(recording((PRIVATE, 30), (KNOWN, 50), *collectives))
        assert fact(shown, "communication_min_us").value == pytest.approx(least)
        assert fact(shown, "communication_max_us").value == pytest.approx(most)
    for known in (recording((KNOWN, 50), (NCCL, 20)), recording((PRIVATE, 50), job=None)):
        assert not [one for one in overview_of(known).facts if one.key.startswith("communication_")]


def test_a_comparison_says_of_which_side_communication_is_not_known() -> None:
    sure, unsure = recording((KNOWN, 30), (NCCL, 20)), recording((PRIVATE, 30), (KNOWN, 20))
    for trace in (sure, unsure):
        user_rules.provide(trace, UserRules("r.toml", problem="r.toml, line 3: no."))
    shown = compare(sure, Selection(), unsure, Selection())
    notes = {note.code: note for note in shown.notes}
    assert notes["communication_unknown"].text.startswith("Candidate: The program is distributed")
    columns = notes["communication_unknown"].evidence["columns"]
    assert isinstance(columns, list)
    assert "candidate_communication_us" in columns
    assert "rules_not_applied" in notes
