"""A third side must say what a comparison of it with the same baseline says."""

from __future__ import annotations

from typing import Any

from tests.views.compare.test_renames import SHAPES, trace_of
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.compare.third import third_group_by, with_third
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.schema import View

ALL = Selection()
A = [("aten::mm", SHAPES[0], ["gemm"]), ("aten::relu", SHAPES[0], ["clamp"])]
B = [*A, ("aten::only_b", SHAPES[1], ["b1"])]
C = [("aten::only_c", SHAPES[2], ["c1", "c2"]), *A, ("aten::mm", SHAPES[0], ["gemm"])]


def rows(view: View, table: str, key: str = "name") -> dict[Any, dict[str, Any]]:
    return {row[key]: row for row in view.tables[table].frame.rows(named=True)}


def views() -> tuple[View, View, View]:
    a, b, c = (trace_of(step, steps=3) for step in (A, B, C))
    ab, ac = compare(a, ALL, b, ALL), compare(a, ALL, c, ALL)
    return ab, ac, with_third(ab, ac)


def test_values_and_differences_are_those_of_two_comparisons() -> None:
    ab, ac, merged = views()
    for table, key in (("average_step", "category"), ("operators", "name"), ("steps", "position")):
        own, third = rows(ab, table, key), rows(ac, table, key)
        for name, row in rows(merged, table, key).items():
            for column, value in third.get(name, {}).items():
                if column.startswith("candidate_"):
                    assert row[column.replace("candidate_", "third_")] == value
                if column.startswith("delta_"):
                    assert row[column.replace("delta_", "delta_third_")] == value
                if column.startswith("confidence_"):
                    assert row[column.replace("confidence_", "confidence_third_")] == value
            for column, value in own.get(name, {}).items():
                assert row[column] == value


def test_what_one_side_alone_ran_is_zero_on_the_others() -> None:
    operators = rows(views()[2], "operators")
    calls = {
        name: tuple(row[f"{side}_calls"] for side in ("baseline", "candidate", "third"))
        for name, row in operators.items()
    }
    assert calls == {
        "aten::mm": (3, 3, 6),
        "aten::relu": (3, 3, 3),
        "aten::only_b": (0, 3, 0),
        "aten::only_c": (0, 0, 3),
    }
    assert operators["aten::only_b"]["delta_third_calls"] == 0
    assert operators["aten::only_c"]["delta_calls"] == 0
    assert rows(views()[2], "kernels")["c1"]["candidate_mean_us"] is None


def test_columns_stand_beside_those_of_the_candidate() -> None:
    merged = views()[2]
    keys = [column.key for column in merged.tables["kernels"].spec.columns]
    assert keys.index("third_calls") == keys.index("candidate_calls") + 1
    assert keys.index("delta_third_total_us") == keys.index("delta_total_us") + 1
    assert keys == merged.tables["kernels"].frame.columns
    facts = {fact.key: fact.value for fact in merged.facts}
    assert (
        facts["delta_third_total_us"]
        == {f.key: f.value for f in views()[1].facts}["delta_total_us"]
    )


def test_other_numbers_of_steps_make_every_value_per_step() -> None:
    a, b, c = trace_of(A, steps=3), trace_of(B, steps=3), trace_of(C, steps=2)
    ab, ac = compare(a, ALL, b, ALL), compare(a, ALL, c, ALL)
    assert third_group_by(ab, ab) is None
    assert third_group_by(ab, ac) == third_group_by(ac, ab) == "per_step"
