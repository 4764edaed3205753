"""Kernels that nothing recognizes, and their rules: filled in, a rule recognizes its kernel."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.recording.user_rules import user_rules
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.user_rules import (
    RulesError,
    kind_by_user,
    parse_user_rules,
    rule_text,
)
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.kernels import unrecognized
from torch_tb_profiler.views.kernels.view import kernels

KERNELS = (
    ("void lab::exchange<8>(int*)", 30, "my::op"),
    ("void lab::exchange<8>(int*)", 10, "aten::mul"),
    ("void lab::exchange<8>(int*)", 15, "my::op"),
    ("_ZN3lab8exchangeILi9EEEvPi", 20, "my::op"),
    ("void lab::gemm<4>(int)", 5, "my::op"),
    ("volta_sgemm_128x64_nt", 20, "aten::mm"),
)


def recording() -> Trace:
    events, at = [step(1, 0, 1000)], 10
    for number, (name, dur, around) in enumerate(KERNELS, 1):
        events += [
            op(around, at, 4),
            call("cudaLaunchKernel", at + 1, 2, corr=number),
            kernel(name, at + 5, dur, corr=number),
        ]
        at += dur + 10
    return trace(events)


def rows(trace: Trace) -> list[dict[str, Any]]:
    return kernels(trace, Selection()).tables["unrecognized"].frame.to_dicts()


def test_kernels_with_time_calls_share_and_launcher() -> None:
    first, second, third = rows(recording())
    assert (first["name"], first["calls"], first["total_us"]) == (KERNELS[0][0], 3, 55.0)
    assert first["kernel_time_pct"] == pytest.approx(55)
    assert first["launched_by"] == "my::op"
    assert first["unknown"] == "class, Tensor Core use"
    assert second["name"] == KERNELS[3][0]
    assert (third["name"], third["unknown"]) == (KERNELS[4][0], "Tensor Core use")


def test_the_rule_of_a_row_asks_for_what_is_missing() -> None:
    first, second, third = (row["rule"] for row in rows(recording()))
    assert first == (
        "[[kernel]]\nmatch = 'lab::exchange<'\n"
        'category = ""\n# tensor-core =    # true or false\n'
    )
    assert second == first  # another variant of the same template
    assert 'category = "gemm"\ntensor-core =' in third
    with pytest.raises(RulesError, match="line 3: the category is empty"):
        parse_user_rules(first.encode(), "r.toml")
    with pytest.raises(RulesError, match="line 4"):
        parse_user_rules(third.encode(), "r.toml")


def test_filled_in_they_leave_nothing_unrecognized() -> None:
    built = recording()
    first, _, third = (row["rule"] for row in rows(built))
    text = first.replace('""', '"communication"')
    text += third.replace("tensor-core =  ", "tensor-core = true")
    again = recording()
    user_rules.provide(again, parse_user_rules(text.encode(), "r.toml"))
    view = kernels(again, Selection())
    assert view.tables["unrecognized"].frame.is_empty()
    by_name = {row["name"]: row for row in view.tables["kernels"].frame.to_dicts()}
    assert by_name[KERNELS[0][0]]["communication"] is True
    assert by_name[KERNELS[3][0]]["communication"] is True
    assert by_name[KERNELS[4][0]]["tensor_core_used"] is True
    sources = {name: row["recognized_by"] for name, row in by_name.items()}
    assert sources[KERNELS[0][0]] == "your rule"
    assert sources[KERNELS[5][0]] == "name"


def test_the_source_of_a_classification_is_in_the_table_of_kernels() -> None:
    table = kernels(recording(), Selection()).tables["kernels"]
    sources = dict(table.frame.select("name", "recognized_by").rows())
    assert sources[KERNELS[0][0]] == "operator"  # the strongest of its calls
    assert sources[KERNELS[3][0]] is None
    assert "no rule of yours" in table.null_reasons["recognized_by"]


def test_the_class_of_a_kernel_that_a_collective_launched_is_communication() -> None:
    events = [
        annotation("nccl:all_reduce", 10, 30),
        call("cudaLaunchKernel", 15, 3, corr=1),
        kernel("lab_a", 50, 20, corr=1),
    ]
    view = kernels(trace([step(1, 0, 1000), *events]), Selection())
    (row,) = view.tables["kernels"].frame.to_dicts()
    assert (row["kernel_class"], row["recognized_by"]) == ("communication", "launching range")
    assert view.tables["unrecognized"].frame.is_empty()


def _matches(*names: str) -> list[str]:
    """What the rules of the unrecognized kernels look for, the kernel with most time first."""
    events = [kernel(name, 100 * n, 90 - n) for n, name in enumerate(names)]
    texts = (row["rule"] for row in rows(trace([step(1, 0, 9000), *events])))
    return [text.splitlines()[1].partition(" = ")[2].strip("'") for text in texts]


def test_a_rule_is_no_wider_than_what_is_unknown() -> None:
    plain = "void lab::k<(lab::Mode)1, 8, float>(int)"
    assert _matches(plain, "void lab::k<(lab::Mode)2, 8, half>(int)") == ["lab::k<"] * 2
    # A wrapper says nothing: what it runs stands in its arguments.
    assert _matches("void lab::run<lab::Exchange<4>>(int)") == ["lab::run<lab::Exchange<4>>"]
    # The template of a kernel that is recognized is no text of a rule.
    recognized = "void lab::k<(lab::Mode)1, ncclDevKernel_, nvshmem_put>(int)"
    assert _matches(plain, recognized) == ["lab::k<(lab::Mode)1, 8, float>"]
    assert _matches("lab_fwd", "(anonymous namespace)") == ["lab_fwd", "(anonymous namespace)"]


def test_of_very_many_kernels_rules_have_the_whole_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrecognized, "MAX_COMPARED", 1)
    assert _matches("void lab::k<1>(int)", "lab") == [
        r"^(void )?lab::k<1>(\(.*)?$",
        r"^(void )?lab(\(.*)?$",
    ]


def test_a_rule_of_a_short_name_takes_no_other_kernel() -> None:
    """Triton calls kernels ``kernel``: a text that others contain must be the whole name."""
    offered = _matches("kernel", "flash_fwd_kernel")
    pattern = re.compile(offered[0])
    assert pattern.search("kernel")
    assert not pattern.search("flash_fwd_kernel")


def test_what_else_its_streams_do_is_shown() -> None:
    """Stream 7: 30 µs of a collective, 10 of a product; stream 8: nothing else."""
    events = [
        kernel("lab_a", 0, 50, stream=7),
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 60, 30, stream=7),
        kernel("volta_sgemm_128x64_nt", 100, 10, stream=7),
        kernel("lab_b", 120, 5, stream=8),
    ]
    view = kernels(trace([step(1, 0, 9000), *events]), Selection())
    table = view.tables["unrecognized"]
    shares = dict(table.frame.select("name", "stream_communication_pct").rows())
    assert shares == {"lab_a": pytest.approx(75), "lab_b": None}
    assert table.null_reasons["stream_communication_pct"].startswith("No recognized kernel")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_makes_a_rule_that_matches_it(name: str) -> None:
    text = rule_text(name).replace('category = ""', 'category = "sort"')
    rules = parse_user_rules(text.encode(), "r.toml")
    assert rules.rules[0].match == name
    kind = kind_by_user(rules, f"void {name}(int)")
    assert kind is not None
