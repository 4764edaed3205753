"""What the text of a parameter stands for, and what is refused; declarations of all views."""

from __future__ import annotations

from decimal import Decimal

import pytest

from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.views.parameters import (
    AT_US,
    OPERATOR_ID,
    SELECTION,
    SELECTION_TEXTS,
    Parameter,
    given_values,
)
from torch_tb_profiler.views.registry import all_parameters, all_views, declared_parameters

LEAST = Parameter("least", "at least", "N", "fewest of all", "number")
SIDE = Parameter("side", "side", "SIDE", "host or device", "choice", ("host", "device"))


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        (OPERATOR_ID, " aten::mm-1 ", " aten::mm-1 "),
        (SIDE, "host", "host"),
        (LEAST, "2.5", 2.5),
        (LEAST, " ", None),
        (AT_US, " -3 ", Decimal(-3)),
        (AT_US, "1750000000000000.123", Decimal("1750000000000000.123")),
        (AT_US, " ", None),
    ],
)
def test_values(parameter: Parameter, text: str, value: object) -> None:
    assert given_values([parameter], {parameter.key: text, "other": "x"}) == {parameter.key: value}


def test_what_is_not_given_is_no_argument() -> None:
    assert given_values([AT_US, LEAST], {}) == {}


@pytest.mark.parametrize(
    "text", ["soon", "nan", "-inf", "sNaN", "1e300", "1e999999999", "9e18", "-1e20"]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(SelectionError, match=f"at_us: '{text}' is no time in µs, such as 1250.5"):
        AT_US.value(text)


@pytest.mark.parametrize(
    ("parameter", "text", "message"),
    [
        (LEAST, "nan", "least: 'nan' is no number"),
        (LEAST, "x" * 99, f"least: '{'x' * 40}' is no number"),
        (SIDE, "Host", "side: 'Host' is none of host, device"),
    ],
)
def test_what_is_no_value(parameter: Parameter, text: str, message: str) -> None:
    with pytest.raises(SelectionError, match=f"^{message}$"):
        parameter.value(text)


def test_the_selection_has_a_field_for_each_of_its_texts() -> None:
    names = set(Selection.__struct_fields__)
    assert {each.key for each in SELECTION_TEXTS} | {"start_ns", "end_ns", "group_by"} == names
    times = {each.key for each in SELECTION} - {each.key for each in SELECTION_TEXTS}
    assert times == {"start_us", "end_us"}


@pytest.mark.parametrize("name", all_views())
def test_a_view_lists_what_its_package_declares(name: str) -> None:
    assert all_views()[name].parameters == declared_parameters(name)


def test_a_key_means_the_same_in_every_view() -> None:
    declared = [each for name in all_views() for each in declared_parameters(name)]
    assert len(set(declared)) == len(all_parameters())
    taken = {*(each.key for each in SELECTION), *("run", "worker", "span", "group_by", "table")}
    taken |= {"sort", "filter", "offset", "limit", "only"}
    assert not taken & all_parameters().keys()
