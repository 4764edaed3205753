"""A number from the environment, or the default where it is not one."""

from __future__ import annotations

import math

import pytest

from torch_tb_profiler.storage.environment import positive_number


@pytest.mark.parametrize(
    ("value", "expected"),
    [("2.5", 2.5), ("inf", math.inf), ("0", 7), ("-1", 7), ("nan", 7), ("x", 7), ("", 7)],
)
def test_a_number_or_the_default(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: float
) -> None:
    monkeypatch.setenv("SOME_NUMBER", value)
    assert positive_number("SOME_NUMBER", 7) == expected
    monkeypatch.delenv("SOME_NUMBER")
    assert positive_number("SOME_NUMBER", 7) == 7
