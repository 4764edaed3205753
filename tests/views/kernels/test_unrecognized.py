"""Kernels that nothing recognizes, and their rules: filled in, a rule recognizes its kernel."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import call, kernel, op, step, trace
from torch_tb_profiler.analysis.recording.user_rules import user_rules
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.user_rules import (
    RulesError,
    kind_by_user,
    parse_user_rules,
    rule_text,
)
from torch_tb_profiler.trace.model import Trace
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
    assert first == "[[kernel]]\nmatch = 'void lab::exchange<8>'\ncategory = \"\"\n"
    assert "match = 'void lab::exchange<9>'" in second
    assert 'category = "gemm"\ntensor-core =' in third
    with pytest.raises(RulesError, match="line 3: the category is empty"):
        parse_user_rules(first.encode(), "r.toml")
    with pytest.raises(RulesError, match="line 4"):
        parse_user_rules(third.encode(), "r.toml")


def test_filled_in_they_leave_nothing_unrecognized() -> None:
    built = recording()
    first, second, third = (row["rule"] for row in rows(built))
    text = first.replace('""', '"communication"') + second.replace('""', '"sort"')
    text += third.replace("tensor-core =  ", "tensor-core = true")
    again = recording()
    user_rules.provide(again, parse_user_rules(text.encode(), "r.toml"))
    view = kernels(again, Selection())
    assert view.tables["unrecognized"].frame.is_empty()
    by_name = {row["name"]: row for row in view.tables["kernels"].frame.to_dicts()}
    assert by_name[KERNELS[0][0]]["communication"] is True
    assert by_name[KERNELS[3][0]]["kernel_class"] == "sort"
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


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_makes_a_rule_that_matches_it(name: str) -> None:
    text = rule_text(name).replace('category = ""', 'category = "sort"')
    rules = parse_user_rules(text.encode(), "r.toml")
    assert rules.rules[0].match == name
    kind = kind_by_user(rules, f"void {name}(int)")
    assert kind is not None
