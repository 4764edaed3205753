"""Parameters as typed values; what is no value is refused in ``test_bad_input``."""

from __future__ import annotations

import pytest

from torch_tb_profiler.requests.parameters import time_ns


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("0", 0),
        ("-1.5", -1_500),
        ("12.3456", 12_346),
        ("1e3", 1_000_000),
        ("1712195495519689.047", 1_712_195_495_519_689_047),
        ("", None),
    ],
)
def test_times_are_exact_also_since_the_epoch(text: str, expected_ns: int | None) -> None:
    assert time_ns({"start_us": text}, "start_us") == expected_ns
